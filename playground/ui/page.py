"""The page: header, Train, Compare, Rewards, Runs, all in one document; core/header.js shows one of them at a time."""

from __future__ import annotations

from pathlib import Path

import gradio as gr

from playground.runs.model_service import ModelService
from playground.runs.standby import StandbyWorker
from playground.ui import components, own_files
from playground.ui.auth.access import Access
from playground.ui.rewards import self_test_part, training_part, workbench_part
from playground.ui.runs import compare_page, sweeps_part
from playground.ui.train import run_actions, train_page

TITLE = "RLHF Playground"
SHEETS = tuple(
    "page controls run first meters tables tryout workbench reward_check reward_training slow_motion inside rollout "
    "sweeps access presentation".split()
)


def build(
    outputs: Path,
    access: Access | None = None,
    service: ModelService | None = None,
    standby: StandbyWorker | None = None,
) -> gr.Blocks:
    """The whole page for one outputs folder. Every handler is registered through `access`, which says who may."""
    access, service, standby = access or Access(), service or ModelService(), standby or StandbyWorker()
    with gr.Blocks(title=TITLE, delete_cache=(3600, 3600), analytics_enabled=False) as demo:
        components.widget("core/header", None, elem_id="header")
        with gr.Column(elem_id="page-train", elem_classes=["page"]):
            train = train_page.build(demo, Path(outputs), standby, service, access)
        with gr.Column(elem_id="page-compare", elem_classes=["page"]):
            compare_page.build(Path(outputs), service, access)
        with gr.Column(elem_id="page-rewards", elem_classes=["page"]):
            components.widget("rewards/tabs", None, elem_id="reward-tabs")
            with gr.Row(elem_id="workbench", equal_height=False):
                workbench_part.build(Path(outputs), service, train, access)
            with gr.Column(elem_id="reward-training"):
                training = training_part.build(Path(outputs), access)
            with gr.Column(elem_id="reward-check"):
                self_test_part.build(Path(outputs), service, train, access, training)
        with gr.Column(elem_id="page-runs", elem_classes=["page"]):
            spawn = standby.worker_for
            actions = [
                *run_actions.guarded_functions(Path(outputs), access, spawn),
                *sweeps_part.guarded_functions(Path(outputs), access, spawn),
            ]
            offered = sweeps_part.choices(access)
            table = components.widget(
                "runs/history", {"run": None}, elem_id="runs", server_functions=actions, sweep=offered
            )
            train.fill_from(table)
    for event in demo.fns.values():
        if event.show_progress == "hidden":  # Gradio counts the seconds all the same, in text that no one sees
            event.show_progress_on = []
    if access.limits.open_questions is not None:
        demo.queue(max_size=access.limits.open_questions)  # else left alone: the call builds the whole app again
    return demo


def head() -> str:
    """What goes into <head>: our style sheets, and our scripts and BokehJS ahead of time."""
    version = own_files.bokeh_version()
    sheets = "".join(f'<link rel="stylesheet" href="{own_files.address(f"css/{name}.css")}">' for name in SHEETS)
    modules = "".join(f'<link rel="modulepreload" href="{own_files.address(name)}">' for name in own_files.modules())
    scripts = "".join(
        f'<link rel="preload" as="script" data-bokeh href="playground/bokeh/{version}/{name}.min.js">'
        for name in ("bokeh", "bokeh-api")
    )
    return f'<meta name="viewport" content="width=device-width, initial-scale=1">{sheets}{modules}{scripts}'
