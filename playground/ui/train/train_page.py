"""The Train page: the form at the left, the run in view at the right. Its handlers read the form, check it, or start a
worker; none of them keeps state.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from playground.config import RunConfig, methods
from playground.errors import PlaygroundError, Problem, in_words
from playground.runs import launcher
from playground.runs.model_service import ModelService
from playground.runs.standby import StandbyWorker
from playground.ui import components
from playground.ui.auth.access import Access, Action, Caller, Role
from playground.ui.payloads.check import CheckedPartData
from playground.ui.payloads.form import NotesData
from playground.ui.payloads.server import DoneData
from playground.ui.train import (
    controls,
    edits,
    filling,
    form,
    form_parts,
    frontier_part,
    run_actions,
)
from playground.ui.train.controls import Controls
from playground.ui.train.form import Form, FormUpdate

MODEL = "model.source"
METHOD = "method"
MEANT = list(methods.chosen("ppo"))  # the fields that choosing a method sets
Functions = list[Callable[..., Any]]
QUEUED: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
QUIET: dict[str, Any] = {**QUEUED, "queue": False}
# Gradio drops what is chosen while it still answers the choice before, unless the last one is to be answered too
LATEST: dict[str, Any] = {**QUIET, "trigger_mode": "always_last"}


def build(
    demo: gr.Blocks, outputs: Path, standby: StandbyWorker, service: ModelService, access: Access, starting: Functions
) -> Controls:
    """Lay out the page and connect its handlers; a visitor who opens or edits it may click on Start next. `starting`:
    the server functions of the lessons and mystery runs."""
    with gr.Row(elem_id="train", equal_height=False):
        with gr.Column(elem_id="controls", scale=0, min_width=300):
            components.widget("lessons/panel", None, elem_id="lesson-panel", server_functions=starting)
            page = controls.lay_out(outputs, access)
        with gr.Column(elem_id="view", min_width=320):
            tryout = _tryout(outputs, access)
            view = _run_view(outputs, standby, service, access)
            filler = components.widget("train/filler", {"run": None}, elem_id="filler")
    handlers = Handlers(page, outputs, standby, service, access)
    # a page that only watches asks, and in vain
    checking = access.guard(Action.FORM, handlers.check, lambda _: [gr.skip()] * len(page.said))
    estimating = access.guard(Action.FORM, handlers.estimate, lambda _: gr.skip())

    def estimate(event: Any) -> None:
        event.then(estimating, page.inputs, page.needs, **LATEST)

    # A press has one handler of LATEST, which the others follow: Gradio repeats a press for each handler that was busy
    # when it came, so that two of them, of two fields changed at once, would wake each other for ever.
    fields = [part for field, part in page.fields.items() if field != METHOD]
    # Gradio's Textbox notices pressed keys only: what is pasted or deleted is seen when the field is left
    # (docs/upstream.md#a-textbox-does-not-notice-pasting)
    edited = [*(part.input for part in fields), *(part.blur for part in fields if isinstance(part, gr.Textbox))]
    estimate(gr.on([*edited, view.input, page.notes.input], checking, page.inputs, page.said, **LATEST))
    # looked at once more: a check of the values before may be answered after the new ones
    recheck(page.preset.input(access.guard(Action.FORM, handlers.choose), page.preset, page.outputs, **LATEST))
    taking = access.guard(Action.FORM, handlers.take_method, lambda _: [gr.skip()] * len(MEANT))
    method_fields = [page.fields[field] for field in MEANT]
    recheck(page.fields[METHOD].input(taking, page.fields[METHOD], method_fields, **LATEST))
    pressed = access.guard(Action.START, handlers.starter(view), handlers.not_started)
    page.start.click(pressed, [view, *page.inputs], [view, page.notes, page.start], trigger_mode="once", **QUIET)
    using = access.guard(Action.FORM, handlers.use)
    estimate(page.use_text.click(using, [page.text, *page.inputs], page.outputs, **QUIET))
    opening = access.guard(Action.WATCH, handlers.choose_at_load)
    estimate(demo.load(opening, page.notes, page.outputs, js=edits.KEPT, **QUIET))
    for part in filter(None, (page.needs, tryout, page.notes, page.real_model)):
        parts = [part, *page.fields.values()]
        recheck(part.apply(access.guard(Action.FORM, handlers.putter(part)), parts, parts, **QUIET))
    uploading = access.guard(Action.UPLOAD, handlers.take, lambda message: {page.uploaded: {"problem": message}})
    source, column = page.fields["prompts.source"], page.fields["prompts.column"]
    _follow_source(page)
    recheck(page.upload.upload(uploading, page.upload, [source, column, page.uploaded], **QUIET))
    # the next part is asked for as soon as one is answered, which for Gradio is before that one has ended
    at_once = {**QUEUED, "trigger_mode": "multiple"}
    asking = access.guard(Action.MEASURE, handlers.try_part, lambda message: form.failed(message, "model"))
    trying = access.guard(Action.TRY_UPDATE, handlers.try_update, lambda message: form.failed(message, "update"))
    tryout.input(asking, [tryout, *page.inputs], tryout, concurrency_limit=2, **at_once)
    estimate(tryout.submit(trying, [tryout, *page.inputs], tryout, concurrency_limit=1, **at_once))

    filled = filler.input(access.guard(Action.FORM, handlers.reload), filler, page.outputs, **QUIET)
    filled.success(None, None, None, js=components.calling("train/filler", "filled"), **QUIET)
    estimate(filled)
    return page


def recheck(event: Any) -> None:
    """Look at the form after an event that filled in some of its fields: by the handler that also hears of edits, since
    of two the check of the values before could be answered last."""
    event.then(None, None, None, js=components.calling("train/notes", "recheck"), **QUIET)


def _tryout(outputs: Path, access: Access) -> gr.HTML:
    """The check before a start, whose trial update can be stopped."""

    def stop_trial(_: Any) -> DoneData:
        launcher.end_trial(outputs)
        return {"error": ""}

    stopping = access.guard_all(Action.TRY_UPDATE, [stop_trial])
    return components.widget("train/tryout", None, elem_id="tryout", server_functions=stopping)


def _follow_source(page: Controls) -> None:
    """Show the fields of the chosen kind of prompts, also when they are first drawn."""
    source = page.fields["prompts.source"]
    events = [source.change, page.all_settings.expand]
    gr.on(events, None, source, None, js=components.calling("train/prompts", "show", "source"), **QUIET)


def _run_view(outputs: Path, standby: StandbyWorker, service: ModelService, access: Access) -> gr.HTML:
    """The run in view, with what it may ask of the server."""
    saver = service if access.mode != "space" else None  # a folder on a server is of no use to a visitor
    asking = [
        *run_actions.guarded_functions(outputs, access, standby, saver),
        # How far it is, the page asks every second: that is no question to a model.
        *access.guard_all(
            Action.MEASURE, frontier_part.functions(outputs, service), {"frontier_progress": Action.FORM}
        ),
    ]
    return components.widget(
        "train/run_view",
        {"run": None},
        elem_id="run-view",
        server_functions=asking,
        can_save=saver is not None,
    )


class Handlers:
    """What the page asks of the server. `sent` are Gradio's values of `Controls.inputs`; answers are by component."""

    def __init__(
        self, page: Controls, outputs: Path, standby: StandbyWorker, service: ModelService, access: Access
    ) -> None:
        self._page, self._outputs, self._access = page, outputs, access
        self._standby, self._service = standby, service

    def check(self, *sent: Any, caller: Caller) -> dict[Any, Any]:
        """What is to be said of the form as it is."""
        self._get_ready()
        return self._page.shown(filling.checked(self._page.sent(*sent), self._outputs, self._access.limits_of(caller)))

    def read(self, caller: Caller, *sent: Any, disk: bool = True) -> RunConfig:
        """The run that the form asks for. `disk`: see `filling.read`. Raises: InvalidConfig."""
        return filling.read(self._page.sent(*sent), self._outputs, self._access.limits_of(caller), disk)[1]

    def estimate(self, *sent: Any, caller: Caller) -> Any:
        """What it would need; nothing new while the form has a setting that is not valid, or not allowed here."""
        capped = self._access.limits_of(caller)
        try:
            base, config = filling.read(self._page.sent(*sent), self._outputs, capped, disk=False)
        except PlaygroundError:
            return gr.skip()
        return form_parts.needs(config, base, self._outputs, capped.calls, caller.visitor)

    def starter(self, view: gr.HTML) -> Callable[..., dict[Any, Any]]:
        """What starts a run, for it to come into view: see `started`."""

        def start_run(viewed: Any, *sent: Any, caller: Caller) -> dict[Any, Any]:
            start_name, now = form.entry(viewed, "request"), self._page.sent(*sent)
            answer, update = started(start_name, now, self._outputs, self._standby, self._access, caller)
            return self._page.shown(update) | ({view: answer} if answer else {})

        return start_run

    def not_started(self, message: str) -> dict[Any, Any]:
        """A start that was refused."""
        notes: NotesData = {"problems": form.problem_data([Problem("", message)]), "show": time.time()}
        return self._page.shown(FormUpdate(notes=notes))

    def choose(self, chosen: Any, caller: Caller) -> dict[Any, Any]:
        """Fill the form from a preset, or from the settings of a run."""
        capped, whole = self._access.limits_of(caller), caller.role is Role.HOST  # others need not know where files are
        update = filling.filled_from(chosen, self._outputs, capped, whole)
        return self._page.shown(update._replace(preset=None))  # meanwhile the menu may show the next choice

    def reload(self, payload: Any, caller: Caller) -> dict[Any, Any]:
        """Fill it from {run} or {preset}, with {changes}."""
        run = form.entry(payload, "run")
        chosen = form.entry(payload, "preset") or f"{filling.RUN_PREFIX}{run}"
        changes = form.as_dict(form.entry(payload, "changes"))
        capped = self._access.limits_of(caller)
        update = filling.filled_from(chosen, self._outputs, capped, caller.role is Role.HOST)
        return self._page.shown(filling.filled_with(update, changes, self._outputs, capped))

    def choose_at_load(self, sent: Any, caller: Caller) -> dict[Any, Any]:
        """Fill it as the address and what the browser has kept ask for."""
        may_start, capped = caller.may(Action.START), self._access.limits_of(caller)
        if may_start:
            self._get_ready()
        update = filling.filled_at_load(sent, caller, self._outputs, capped)
        answer = self._page.shown(update)
        choices = form_parts.model_choices(self._outputs, capped)  # a run may have used another model
        answer[self._page.fields[MODEL]] = components.offering(
            self._page.fields[MODEL], choices, value=update.values[MODEL]
        )
        if not may_start:
            answer[self._page.start] = gr.Button("The host starts runs", interactive=False)
        return answer

    def use(self, text: Any, *sent: Any, caller: Caller) -> dict[Any, Any]:
        """Fill the form from settings as text."""
        capped = self._access.limits_of(caller)
        now = self._page.sent(*sent)
        update = filling.from_text(str(text or ""), now, self._outputs, capped)
        return self._page.shown(update._replace(values={**now.values, **update.values}))

    def take_method(self, method: Any) -> list[Any]:
        """Settings that a method means, for the fields MEANT."""
        settings = methods.chosen(method)
        return [settings.get(field, gr.skip()) for field in MEANT]

    def putter(self, part: Any) -> Callable[..., dict[Any, Any]]:
        """What takes over the settings that a part of the page offers."""

        def put_offered(offered: Any, *values: Any) -> dict[Any, Any]:
            now = dict(zip(self._page.fields, values, strict=True))
            use = form.as_dict(form.entry(offered, "use"))
            used = {field: use[field] for field in now if field in use}
            back = {**form.as_dict(offered), "use": None, "undo": {field: now[field] for field in used}}
            # all of them: of a field that is left out, Gradio forgets how to draw it in a group that was never opened
            return self._page.shown(FormUpdate(values=now | used)) | {part: {**back, "at": time.time()}}

        return put_offered

    def take(self, path: str) -> dict[Any, Any]:
        """Keep an uploaded file, and choose it."""
        note, chosen = form_parts.taken(path, self._outputs, self._access.limits)
        parts = {self._page.fields[name]: offered for name, offered in chosen.items()}
        updates = {part: components.offering(part, choices, value=value) for part, (choices, value) in parts.items()}
        return {**updates, self._page.uploaded: note}

    def try_part(self, payload: Any, *sent: Any, caller: Caller) -> Iterator[CheckedPartData]:
        """One of the first three parts of the check before a start."""
        part = form.entry(payload, "ask")
        if part in ("model", "prompts", "answers"):
            disk = part != "prompts"  # which can be read before there is a judge of the answers
            read = functools.partial(self.read, caller, *sent, disk=disk)
            yield from form_parts.checked_part(part, read, self._outputs, self._service)

    def try_update(self, _: Any, *sent: Any, caller: Caller) -> Iterator[CheckedPartData]:
        """Its trial update."""
        yield from form_parts.checked_part("update", lambda: self.read(caller, *sent), self._outputs, self._service)

    def _get_ready(self) -> None:
        if self._standby.pid is None and not launcher.living_runs(self._outputs):
            self._standby.prepare()


def started(
    start_name: Any, now: Form, outputs: Path, standby: StandbyWorker, access: Access, caller: Caller
) -> tuple[dict[str, Any] | None, FormUpdate]:
    """Start a run, or put it into the queue, if form and limits allow it; `start_name` is the page's name for it.
    Returns what the run view shows next ({run, at}), and what is said of the form."""
    capped = access.limits_of(caller)
    try:
        base, config = filling.read(now, outputs, capped)
    except PlaygroundError:
        refused = filling.checked(now, outputs, capped)
        return None, refused._replace(notes={**(refused.notes or {}), "show": time.time()})
    run_id, problems = None, []
    try:
        run_id = run_actions.start(config, start_name, outputs, standby, access, caller).id
    except (PlaygroundError, OSError) as error:
        problems = [Problem("", in_words(error))]
    update = filling.described(now.chosen, config, base, outputs, capped, problems)
    return {"run": run_id, "at": time.time()}, update._replace(story=None, text=None)
