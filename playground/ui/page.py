"""The page: header, Lessons, Train, Compare, Rewards, Runs, all in one document; core/header.js shows one of them at a
time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gradio as gr

from playground.lessons import boards
from playground.runs.model_service import ModelService
from playground.runs.standby import StandbyWorker
from playground.ui import components, own_files
from playground.ui.api import endpoints
from playground.ui.auth.access import Access
from playground.ui.demo import Contents, Demo
from playground.ui.rewards import self_test_part, training_part, workbench_part
from playground.ui.runs import compare_page, sweeps_part
from playground.ui.serving import Serving
from playground.ui.train import form_parts, lesson_part, mystery_part, run_actions, train_page

TITLE = "RLHF Playground"
PAGES = ("lessons", "compare", "rewards", "runs")  # whose scripts are loaded when they are opened
EARLY, FIRST = "lessons/early.js", "lessons/first.js"  # what does not wait for Gradio
QUEUE_SECONDS = 0.01  # between two looks at what is asked; docs/upstream.md#an-idle-page-takes-a-part-of-a-core
# Gradio's loader counts seconds, once a frame, in text that is gone as soon as the page is there, and for ever: sixty
# times a second the browser would have looked at the whole page. Its scripts come after this one and get this.
# docs/upstream.md#the-loading-status-asks-for-frames-for-ever
ONCE_A_SECOND = """<script>{
  const frame = window.requestAnimationFrame.bind(window);
  const counts = /performance\\.now\\(\\)[^;]*\\/\\s*1e3/;
  window.requestAnimationFrame = (call) => (counts.test(call) ? setTimeout(call, 1000) : frame(call));
}</script>"""


def build(
    outputs: Path,
    access: Access | None = None,
    service: ModelService | None = None,
    standby: StandbyWorker | None = None,
) -> Demo:
    """The whole page for one outputs folder, on your own machine if nothing else is said."""
    outputs, access = Path(outputs), access or Access(outputs=Path(outputs))
    return of_serving(Serving(outputs, access, service or ModelService(outputs), standby or StandbyWorker()))


def of_serving(serving: Serving) -> Demo:
    """The page for what serves it."""
    return Demo(TITLE, Contents(fill, head, lambda demo: ahead(demo, demo.serving.access)), serving)


def fill(demo: Demo) -> None:
    """Put everything on the page. Every handler is registered through `access`, which says who may."""
    serving = demo.serving
    access, service, standby, outputs = serving.access, serving.service, serving.standby, serving.outputs
    teaching = lesson_part.guarded_functions(outputs, access, serving.hub.lessons, standby)
    solving = mystery_part.guarded_functions(serving.hub.find, outputs, access, standby)
    with demo:
        endpoints.register(serving.hub, access, service, standby)
        components.widget("core/header", None, elem_id="header")
        with gr.Column(elem_id="page-lessons", elem_classes=["page"]):
            asking = compare_page.guarded_functions(service, access)
            functions = [*solving, *asking]
            components.widget("lessons/lessons", None, page="lessons", elem_id="lessons", server_functions=functions)
        with gr.Column(elem_id="page-train", elem_classes=["page"]):
            train = train_page.build(demo, outputs, standby, service, access, [*teaching, *solving])
        with gr.Column(elem_id="page-compare", elem_classes=["page"]):
            compare_page.build(outputs, service, access)
        with gr.Column(elem_id="page-rewards", elem_classes=["page"]):
            components.widget("rewards/tabs", None, page="rewards", elem_id="reward-tabs")
            with gr.Row(elem_id="workbench", equal_height=False):
                workbench_part.build(outputs, service, train, access)
            with gr.Column(elem_id="reward-training"):
                training = training_part.build(outputs, access)
            with gr.Column(elem_id="reward-check"):
                self_test_part.build(outputs, service, train, access, training)
        with gr.Column(elem_id="page-runs", elem_classes=["page"]):
            spawn = standby
            actions = [
                *run_actions.guarded_functions(outputs, access, spawn),
                *sweeps_part.guarded_functions(outputs, access, spawn),
            ]
            offered = sweeps_part.choices(access)
            components.widget(
                "runs/history", None, page="runs", elem_id="runs", server_functions=actions, sweep=offered
            )
    for event in demo.fns.values():
        if (
            event.show_progress == "hidden"
        ):  # else Gradio counts the seconds, in text that no one sees (see ONCE_A_SECOND)
            event.show_progress_on = []
    if access.limits.open_questions is not None:
        demo.queue(max_size=access.limits.open_questions)  # else left alone: the call builds the whole app again
    demo._queue.sleep_when_free = QUEUE_SECONDS


def head() -> str:
    """What Gradio puts behind its own style sheets: ours."""
    return f'<link rel="stylesheet" href="{own_files.address(own_files.SHEET)}">'


def ahead(demo: gr.Blocks, access: Access) -> str:
    """What stands first in the page, before any script of Gradio's: the addresses of what is drawn before Gradio starts
    (they are fetched in this order), of all that Train needs, those of the other pages (core/mount.js) for later, and
    the lists of which several parts choose.
    """
    early = own_files.needed_by(EARLY, FIRST)
    links = [own_files.ICON]
    links += (_preload(own_files.address(name)) for name in (own_files.SHEET, *sorted(early)))
    links.append(f'<script type="module" src="{own_files.address(EARLY)}"></script>')
    now = own_files.needed_by("core/mount.js", *components.modules(demo, None)) | early
    links += (_preload(own_files.address(name), " fetchpriority=low") for name in sorted(now - early))
    for page in PAGES:
        later = own_files.needed_by(*components.modules(demo, page)) - now
        links += (f'<link data-page="{page}" href="{own_files.address(name)}">' for name in sorted(later))
    if access.mode != "classroom":  # there one watches what the host runs
        links.append('<meta name="newcomers" content="lessons">')
    links.append(_data('id="lists"', form_parts.lists(access)))
    links.append(_data('data-answer="live/_leash"', boards.data("leash")))  # nobody has to wait for what is drawn first
    return ONCE_A_SECOND + "".join(links)


def _data(attribute: str, content: Any) -> str:
    text = json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" {attribute}>{text}</script>'


def _preload(address: str, attributes: str = "") -> str:
    kind = 'rel="preload" as="style"'
    if address.endswith(".js"):
        kind = 'rel="modulepreload"'
    return f'<link {kind} href="{address}"{attributes}>'
