"""The Train page: the form at the left, the run in view at the right.

Handlers read the form, check it, or start a worker; none of them trains or keeps state. What fills the form is in
`filling`, its values in `form`, its controls in `controls`, the drawing in static/. `page` calls `build`; `runs_page`
uses the returned parts to load a run's settings.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr

from playground.config import RunConfig, methods
from playground.errors import PlaygroundError, Problem, in_words
from playground.runs.model_service import ModelService
from playground.runs.start import launcher
from playground.runs.start.standby import StandbyWorker
from playground.setup import catalog, limits
from playground.setup.estimates import room
from playground.ui import components
from playground.ui.door import quota, uploads
from playground.ui.door.access import Access, Action, Caller, Role
from playground.ui.train import (
    controls,
    edits,
    filling,
    form,
    frontier_part,
    needs_part,
    outcome_part,
    prompts_part,
    run_actions,
    starting,
    tryout_part,
)
from playground.ui.train.filling import SKIP, Form

MODEL = "model.source"


class Started(NamedTuple):
    """What pressing Start answers: the run to view, what is said of the form, and the button."""

    view: Any
    notes: Any
    button: Any


class Train(NamedTuple):
    """Parts of this page that another page needs: everything `filled` fills, in its order."""

    filled: list[gr.components.Component]
    outputs: Path
    fields: dict[str, Any]  # the form's controls, by the names of form.FIELDS
    recheck: Callable[[Any], None]  # after an event that filled in some of them


def build(demo: gr.Blocks, outputs: Path, standby: StandbyWorker, service: ModelService, access: Access) -> Train:
    """Lay out the page and connect its handlers; whoever opens or edits it may click on Start next."""
    first = catalog.preset(catalog.DEFAULT_PRESET)
    first_values = form.values_of(first)
    with gr.Row(elem_id="train", equal_height=False):
        with gr.Column(elem_id="controls", scale=0, min_width=320):
            preset, story, fields, prompts, text, use_text = controls.lay_out(first, first_values, outputs, access)
            with gr.Column(elem_id="start-bar"):
                needs = needs_part.panel()
                notes = components.widget(
                    "train/notes", filling.notes_on(catalog.DEFAULT_PRESET, first, first, [], outputs), elem_id="notes"
                )
                start = gr.Button(starting.START, variant="primary", elem_id="start")
        saver = service if access.mode != "space" else None  # a folder on a server is of no use to a visitor
        asking = [
            *run_actions.guarded_functions(outputs, access, standby.worker_for),
            *access.guard_all(Action.SAVE, outcome_part.functions(outputs, saver)),
            # How far it is, the page asks every second: that is no question to a model.
            *access.guard_all(
                Action.ASK, frontier_part.functions(outputs, service), {"frontier_progress": Action.FORM}
            ),
        ]
        with gr.Column(elem_id="view", min_width=320):
            tryout = tryout_part.panel(outputs, access)
            preview = prompts_part.panel()
            view = components.widget(
                "train/run_view",
                {"run": None},
                elem_id="run-view",
                knobs=run_actions.knobs(),
                server_functions=asking,
                can_save=saver is not None,
            )

    form_inputs = [preset, notes, *fields.values()]
    filled = [preset, story, *fields.values(), notes, start, text]
    told = [notes, story, start, text]  # what is said of the form as it is
    quiet: dict[str, Any] = {"show_progress": "hidden", "queue": False, "api_visibility": "private"}
    # Gradio drops what is chosen while it still answers the choice before, unless it is told to answer the last one too
    latest = {**quiet, "trigger_mode": "always_last"}

    def get_ready() -> None:
        if standby.pid is None and launcher.living_run(outputs) is None:
            standby.prepare()

    def check(*sent: Any, caller: Caller) -> filling.Said:
        get_ready()
        return filling.checked(Form.of(*sent), outputs, access.limits_of(caller))

    def read(caller: Caller, *sent: Any) -> RunConfig:
        return filling.read(Form.of(*sent), outputs, access.limits_of(caller))[1]

    def estimate(*sent: Any, caller: Caller) -> Any:
        def read() -> tuple[RunConfig, RunConfig]:
            now = Form.of(*sent)
            base = filling.base_of(now.chosen, outputs)
            return base, form.without_disk(now.data(outputs), base, capped)

        capped = access.limits_of(caller)
        return needs_part.needs(read, outputs, capped)

    def start_run(viewed: Any, *sent: Any, caller: Caller) -> Started:
        return started(filling.as_dict(viewed).get("request"), Form.of(*sent), outputs, standby, access, caller)

    def choose(chosen: Any, *, caller: Caller) -> list[Any]:
        found = filling.filled_from(chosen, outputs, access.limits_of(caller), caller.role is Role.HOST)
        return found._replace(preset=SKIP).flat()  # meanwhile the menu may show the next choice

    def choose_at_load(given: Any, caller: Caller) -> list[Any]:
        may_start, capped = caller.may(Action.START), access.limits_of(caller)
        if may_start:
            get_ready()
        found = filling.filled_at_load(given, caller, outputs, capped)
        model = needs_part.model_update(found.values.get(MODEL), outputs, capped)  # a run may have used another model
        found = found._replace(values={**found.values, MODEL: model})
        button = found.start if may_start else gr.Button("The host starts runs", interactive=False)
        return found._replace(start=button).flat()

    def use(yaml_text: str, *sent: Any, caller: Caller) -> list[Any]:
        return filling.from_text(yaml_text, Form.of(*sent), outputs, access.limits_of(caller)).flat()

    def put(offered: Any, *values: Any) -> list[Any]:
        back, wanted = filling.used(offered, dict(zip(form.FIELDS, values, strict=True)))
        return [back, *(wanted.get(field, SKIP) for field in form.FIELDS)]

    def take_method(method: Any) -> list[Any]:
        return [methods.chosen(method).get(field, SKIP) for field in meant]

    def not_started(sentence: str) -> Started:
        problems = filling.problems_told([Problem("", sentence)])
        return Started(SKIP, {"problems": problems, "show": time.time()}, SKIP)

    # a page that only watches asks, and in vain
    checking = access.guard(Action.FORM, check, lambda _: [SKIP] * len(told))
    estimating = access.guard(Action.FORM, estimate, lambda _: SKIP)
    opening = access.guard(Action.WATCH, choose_at_load)

    edited = [component.input for component in fields.values()]
    # Gradio's Textbox tells of pressed keys only: what is pasted or deleted is noticed when the field is left
    edited += [component.blur for component in fields.values() if isinstance(component, gr.Textbox)]
    gr.on([*edited, view.input], checking, form_inputs, told, **latest)
    gr.on([*edited, text.change], estimating, form_inputs, needs, **latest)
    uploaded = prompts_part.connect(prompts, preview, form_inputs, read, outputs, service, access)
    uploaded.then(checking, form_inputs, told, **latest)
    preset.input(access.guard(Action.FORM, choose), preset, filled, **latest)
    meant = {field: fields[field] for field in methods.chosen("ppo")}
    taking = access.guard(Action.FORM, take_method, lambda _: [SKIP] * len(meant))
    fields["method"].input(taking, fields["method"], list(meant.values()), **latest).then(
        checking, form_inputs, told, **latest
    )
    pressed = access.guard(Action.START, start_run, not_started)
    start.click(pressed, [view, *form_inputs], [view, notes, start], trigger_mode="once", **quiet)
    use_text.click(access.guard(Action.FORM, use), [text, *form_inputs], filled, **quiet)
    demo.load(opening, notes, filled, js=edits.KEPT, **quiet).then(estimating, form_inputs, needs, **quiet)

    def recheck(event: Any) -> None:
        event.then(checking, form_inputs, told, **latest).then(estimating, form_inputs, needs, **latest)

    putting = access.guard(Action.FORM, put)
    for part in (needs, tryout, notes):
        recheck(part.apply(putting, [part, *fields.values()], [part, *fields.values()], **quiet))
    tried = tryout_part.connect(tryout, form_inputs, read, outputs, service, access)
    tried.then(estimating, form_inputs, needs, **latest)

    return Train(filled, outputs, fields, recheck)


def started(
    asked: Any,
    now: Form,
    outputs: Path,
    standby: StandbyWorker,
    access: Access | None = None,
    caller: Caller | None = None,
) -> Started:
    """Start a run, or put it into the queue, if form and limits allow it.

    `asked` is the page's name for this one intended start, see `starting.request`.
    """
    access, caller = access or Access(), caller or Caller()
    capped = access.limits_of(caller)
    try:
        base, config = filling.read(now, outputs, capped)
        config = limits.capped(config, capped)
    except PlaygroundError:
        said = filling.checked(now, outputs, capped)
        return Started(SKIP, {**said.notes, "show": time.time()}, said.start)
    request = starting.request(asked, config)._replace(visitor=str(caller.visitor), mode=access.mode)
    run_id, problems = None, []
    try:
        room.require(config, capped, outputs)
        with quota.admitted(request, access, caller, outputs):
            run_id = launcher.start(config, outputs, spawn=standby.worker_for, request=request).run.id
    except (PlaygroundError, OSError) as error:
        problems = [Problem("", in_words(error))]
    notes = filling.notes_on(now.chosen, config, uploads.public(base, outputs), problems, outputs)
    button = starting.button_with_problems(1) if problems else starting.button(config, outputs)
    return Started(_view(run_id), notes, button)


def _view(run_id: str | None) -> dict[str, Any]:
    """What the run view shows next, or that this start has been answered: train/run_view.js names the next one."""
    return {"run": run_id, "at": time.time()}
