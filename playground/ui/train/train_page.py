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
from playground.setup import catalog, estimates, limits
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
MEANT = list(methods.chosen("ppo"))  # the fields that choosing a method sets


class StartAnswer(NamedTuple):
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


class TrainParts(NamedTuple):
    """What stands on the page. `fields`: by the names of form.FIELDS."""

    preset: Any
    story: Any
    fields: dict[str, Any]
    prompts: prompts_part.PromptsPart
    text: Any
    use_text: gr.Button
    needs: Any
    notes: Any
    start: gr.Button
    tryout: Any
    preview: Any
    view: Any


def build(demo: gr.Blocks, outputs: Path, standby: StandbyWorker, service: ModelService, access: Access) -> Train:
    """Lay out the page and connect its handlers; whoever opens or edits it may click on Start next."""
    page, handlers = _lay_out(outputs, standby, service, access), Handlers(outputs, standby, access)
    fields = page.fields
    form_inputs = [page.preset, page.notes, *fields.values()]
    filled = [page.preset, page.story, *fields.values(), page.notes, page.start, page.text]
    told = [page.notes, page.story, page.start, page.text]  # what is said of the form as it is
    quiet: dict[str, Any] = {"show_progress": "hidden", "queue": False, "api_visibility": "private"}
    # Gradio drops what is chosen while it still answers the choice before, unless it is told to answer the last one too
    latest = {**quiet, "trigger_mode": "always_last"}

    # a page that only watches asks, and in vain
    checking = access.guard(Action.FORM, handlers.check, lambda _: [SKIP] * len(told))
    estimating = access.guard(Action.FORM, handlers.estimate, lambda _: SKIP)
    opening = access.guard(Action.WATCH, handlers.choose_at_load)
    taking = access.guard(Action.FORM, _take_method, lambda _: [SKIP] * len(MEANT))
    pressed = access.guard(Action.START, handlers.start_run, _not_started)
    putting = access.guard(Action.FORM, _put)

    def recheck(event: Any) -> None:
        event.then(checking, form_inputs, told, **latest).then(estimating, form_inputs, page.needs, **latest)

    edited = [component.input for component in fields.values()]
    # Gradio's Textbox tells of pressed keys only: what is pasted or deleted is noticed when the field is left
    edited += [component.blur for component in fields.values() if isinstance(component, gr.Textbox)]
    gr.on([*edited, page.view.input], checking, form_inputs, told, **latest)
    gr.on([*edited, page.text.change], estimating, form_inputs, page.needs, **latest)
    read = handlers.read
    uploaded = prompts_part.connect(page.prompts, page.preview, form_inputs, read, outputs, service, access)
    uploaded.then(checking, form_inputs, told, **latest)
    page.preset.input(access.guard(Action.FORM, handlers.choose), page.preset, filled, **latest)
    taken = fields["method"].input(taking, fields["method"], [fields[field] for field in MEANT], **latest)
    taken.then(checking, form_inputs, told, **latest)
    starts = [page.view, page.notes, page.start]
    page.start.click(pressed, [page.view, *form_inputs], starts, trigger_mode="once", **quiet)
    page.use_text.click(access.guard(Action.FORM, handlers.use), [page.text, *form_inputs], filled, **quiet)
    opened = demo.load(opening, page.notes, filled, js=edits.KEPT, **quiet)
    opened.then(estimating, form_inputs, page.needs, **quiet)
    for part in (page.needs, page.tryout, page.notes):
        recheck(part.apply(putting, [part, *fields.values()], [part, *fields.values()], **quiet))
    tried = tryout_part.connect(page.tryout, form_inputs, read, outputs, service, access)
    tried.then(estimating, form_inputs, page.needs, **latest)
    return Train(filled, outputs, fields, recheck)


def _lay_out(outputs: Path, standby: StandbyWorker, service: ModelService, access: Access) -> TrainParts:
    first = catalog.preset(catalog.DEFAULT_PRESET)
    with gr.Row(elem_id="train", equal_height=False):
        with gr.Column(elem_id="controls", scale=0, min_width=320):
            laid_out = controls.lay_out(first, form.values_of(first), outputs, access)
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
    return TrainParts(*laid_out, needs, notes, start, tryout, preview, view)


class Handlers:
    """What the page asks of the server, from the form as it was `sent`: see `filling.Form`."""

    def __init__(self, outputs: Path, standby: StandbyWorker, access: Access) -> None:
        self._outputs, self._standby, self._access = outputs, standby, access

    def check(self, *sent: Any, caller: Caller) -> filling.Said:
        """What is to be said of the form as it is."""
        self._get_ready()
        return filling.checked(Form.of(*sent), self._outputs, self._access.limits_of(caller))

    def read(self, caller: Caller, *sent: Any) -> RunConfig:
        """The run that the form asks for. Raises: InvalidConfig."""
        return filling.read(Form.of(*sent), self._outputs, self._access.limits_of(caller))[1]

    def estimate(self, *sent: Any, caller: Caller) -> Any:
        """What it would need."""
        capped = self._access.limits_of(caller)

        def read() -> tuple[RunConfig, RunConfig]:
            now = Form.of(*sent)
            base = filling.base_of(now.chosen, self._outputs)
            return base, form.without_disk(now.data(self._outputs), base, capped)

        return needs_part.needs(read, self._outputs, capped)

    def start_run(self, viewed: Any, *sent: Any, caller: Caller) -> StartAnswer:
        """See `started`."""
        request = filling.as_dict(viewed).get("request")
        return started(request, Form.of(*sent), self._outputs, self._standby, self._access, caller)

    def choose(self, chosen: Any, *, caller: Caller) -> list[Any]:
        """Fill the form from a preset, or from the settings of a run."""
        is_host = caller.role is Role.HOST
        found = filling.filled_from(chosen, self._outputs, self._access.limits_of(caller), is_host)
        return found._replace(preset=SKIP).flat()  # meanwhile the menu may show the next choice

    def choose_at_load(self, given: Any, caller: Caller) -> list[Any]:
        """Fill it as the address and what the browser has kept ask for."""
        may_start, capped = caller.may(Action.START), self._access.limits_of(caller)
        if may_start:
            self._get_ready()
        found = filling.filled_at_load(given, caller, self._outputs, capped)
        # a run may have used another model
        model = needs_part.model_update(found.values.get(MODEL), self._outputs, capped)
        found = found._replace(values={**found.values, MODEL: model})
        button = found.start if may_start else gr.Button("The host starts runs", interactive=False)
        return found._replace(start=button).flat()

    def use(self, yaml_text: str, *sent: Any, caller: Caller) -> list[Any]:
        """Fill the form from settings as text."""
        return filling.from_text(yaml_text, Form.of(*sent), self._outputs, self._access.limits_of(caller)).flat()

    def _get_ready(self) -> None:
        if self._standby.pid is None and launcher.living_run(self._outputs) is None:
            self._standby.prepare()


def _put(offered: Any, *values: Any) -> list[Any]:
    """Take over what a part of the page offers."""
    back, wanted = filling.used(offered, dict(zip(form.FIELDS, values, strict=True)))
    return [back, *(wanted.get(field, SKIP) for field in form.FIELDS)]


def _take_method(method: Any) -> list[Any]:
    """Settings that a method means."""
    return [methods.chosen(method).get(field, SKIP) for field in MEANT]


def _not_started(sentence: str) -> StartAnswer:
    problems = filling.problem_data([Problem("", sentence)])
    return StartAnswer(SKIP, {"problems": problems, "show": time.time()}, SKIP)


def started(
    asked: Any,
    now: Form,
    outputs: Path,
    standby: StandbyWorker,
    access: Access | None = None,
    caller: Caller | None = None,
) -> StartAnswer:
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
        return StartAnswer(SKIP, {**said.notes, "show": time.time()}, said.start)
    request = starting.request(asked, config)._replace(visitor=str(caller.visitor), mode=access.mode)
    run_id, problems = None, []
    try:
        estimates.require_fit(config, capped, outputs)
        with quota.admitted(request, access, caller, outputs):
            run_id = launcher.start(config, outputs, spawn=standby.worker_for, request=request).run.id
    except (PlaygroundError, OSError) as error:
        problems = [Problem("", in_words(error))]
    notes = filling.notes_on(now.chosen, config, uploads.public(base, outputs), problems, outputs)
    button = starting.button_with_problems(1) if problems else starting.button(config, outputs)
    return StartAnswer(_view(run_id), notes, button)


def _view(run_id: str | None) -> dict[str, Any]:
    """What the run view shows next, or that this start has been answered: train/run_view.js names the next one."""
    return {"run": run_id, "at": time.time()}
