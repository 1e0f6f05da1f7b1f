"""The page: header, Train, Compare, Rewards, Runs, all in one document; static/header.js shows one of them at a time.

Knows gradio and the page modules. `server` calls `build`.
"""

from __future__ import annotations

from pathlib import Path

import gradio as gr

from playground.runs.model_service import ModelService
from playground.runs.standby import StandbyWorker
from playground.ui import compare_page, components, rewards_page, routes, runs_page, train_page

TITLE = "RLHF Playground"
SHEETS = ("page", "controls", "run", "tables", "workbench", "reward_check", "reward_training")


def build(
    outputs: Path, mode: str = "local", service: ModelService | None = None, standby: StandbyWorker | None = None
) -> gr.Blocks:
    """The whole page for one outputs folder."""
    service, standby = service or ModelService(), standby or StandbyWorker()
    with gr.Blocks(title=TITLE, delete_cache=(3600, 3600), analytics_enabled=False) as demo:
        components.widget("header", None, elem_id="header")
        with gr.Column(elem_id="page-train", elem_classes=["page"]):
            keeps_files = mode == "local"  # a folder on a server is of no use to a visitor
            train = train_page.build(demo, Path(outputs), standby, service, keeps_files)
        with gr.Column(elem_id="page-compare", elem_classes=["page"]):
            compare_page.build(Path(outputs), service)
        with gr.Column(elem_id="page-rewards", elem_classes=["page"]):
            rewards_page.build(Path(outputs), service, train)
        with gr.Column(elem_id="page-runs", elem_classes=["page"]):
            runs_page.build(Path(outputs), train, standby)
    return demo  # no demo.queue(): only one handler is queued, it names its own limit, and the call builds the app anew


def head() -> str:
    """What goes into <head>: our style sheets, and BokehJS ahead of time. Relative, so that a sub-path works."""
    version = routes.bokeh_version()
    sheets = "".join(f'<link rel="stylesheet" href="playground/static/{name}.css">' for name in SHEETS)
    scripts = "".join(
        f'<script defer src="playground/bokeh/{version}/{name}.min.js"></script>' for name in ("bokeh", "bokeh-api")
    )
    return f'<meta name="viewport" content="width=device-width, initial-scale=1">{sheets}{scripts}'
