"""The Train page: the form at the left, the run in view at the right.

Handlers read the form, check it, or start a worker; none of them trains or keeps state. The form's logic is in
`form`, its controls in `controls`, the drawing in static/. `page` calls `build`; `runs_page` uses the returned parts to
load a run's settings.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr
from pydantic import ValidationError

from playground.config import RunConfig, methods, yaml_io
from playground.errors import InvalidConfig, PlaygroundError, Problem, in_words
from playground.runs import history, trial
from playground.runs.folder.directory import RunDirectory
from playground.runs.model_service import ModelService
from playground.runs.start import launcher
from playground.runs.start.standby import StandbyWorker
from playground.setup import catalog, checks, limits
from playground.setup.limits import LIMITS, Limits
from playground.ui import components
from playground.ui.door import quota, uploads
from playground.ui.door.access import Access, Action, Caller, Role
from playground.ui.train import (
    controls,
    edits,
    form,
    needs_part,
    outcome_part,
    prompts_part,
    run_actions,
    starting,
    tryout_part,
)

SOURCE = "prompts.source"


class Train(NamedTuple):
    """Parts of this page that another page needs: everything `filled` fills, in its order."""

    filled: list[gr.components.Component]
    outputs: Path
    fields: dict[str, Any]  # the form's controls, by the names of form.FIELDS
    recheck: Callable[[Any], None]  # after an event that filled in some of them


class Filled(NamedTuple):
    """What a handler gives back when it puts a configuration into the form."""

    preset: Any
    story: dict[str, str]
    values: list[Any]
    notes: dict[str, Any]
    start: Any
    text: str

    def flat(self) -> list[Any]:
        """In the order of `Train.filled`."""
        return [self.preset, self.story, *self.values, self.notes, self.start, self.text]


def build(demo: gr.Blocks, outputs: Path, standby: StandbyWorker, service: ModelService, access: Access) -> Train:
    """Lay out the page and connect its handlers; whoever opens or edits it may click on Start next."""
    capped = access.limits
    first = catalog.preset(catalog.DEFAULT_PRESET)
    first_values = form.values_of(first)
    with gr.Row(elem_id="train", equal_height=False):
        with gr.Column(elem_id="controls", scale=0, min_width=320):
            preset, story, fields, prompts, text, use_text = controls.lay_out(first, first_values, outputs, access)
            with gr.Column(elem_id="start-bar"):
                needs = needs_part.panel()
                notes = components.widget(
                    "train/notes", _notes(catalog.DEFAULT_PRESET, first, first, []), elem_id="notes"
                )
                start = gr.Button(starting.START, variant="primary", elem_id="start")
        saver = service if access.mode != "space" else None  # a folder on a server is of no use to a visitor
        asking = [
            *run_actions.guarded_functions(outputs, access, standby.worker_for),
            *access.guard_all(Action.SAVE, outcome_part.functions(outputs, saver)),
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

    def check(chosen: Any, old_notes: Any, *values: Any) -> list[Any]:
        get_ready()
        return list(checked(chosen, old_notes, values, outputs, capped))

    def read(chosen: Any, old_notes: Any, *values: Any) -> RunConfig:
        return _read(chosen, old_notes, values, outputs, capped)[1]

    def estimate(chosen: Any, old_notes: Any, *values: Any) -> Any:
        def read() -> tuple[RunConfig, RunConfig]:
            base = base_of(chosen, outputs)
            return base, form.without_disk(_by_field(values, outputs), base)

        return needs_part.needs(read, outputs, capped)

    def start_run(viewed: Any, chosen: Any, old_notes: Any, *values: Any, caller: Caller) -> list[Any]:
        asked = _as_dict(viewed).get("request")
        return list(started(asked, chosen, old_notes, values, outputs, standby, access, caller))

    def choose(chosen: Any, *, caller: Caller) -> list[Any]:
        return filled_from(chosen, outputs, capped, caller.role is Role.HOST).flat()[1:]

    def choose_at_load(given: Any, caller: Caller) -> list[Any]:
        if caller.may(Action.START):
            get_ready()
        found = filled_at_load(given, caller, outputs, capped).flat()
        place = filled.index(fields["model.source"])
        found[place] = needs_part.model_update(found[place], outputs, capped)  # a run may have used another model
        if not caller.may(Action.START):
            found[filled.index(start)] = gr.Button("The host starts runs", interactive=False)
        return found

    def use(yaml_text: str, chosen: Any, old_notes: Any, *values: Any) -> list[Any]:
        return from_text(yaml_text, chosen, old_notes, values, outputs, capped)

    def not_started(sentence: str) -> list[Any]:
        return [gr.skip(), {"problems": _problems([Problem("", sentence)]), "show": time.time()}, gr.skip()]

    # a page that only watches asks, and in vain
    checking = access.guard(Action.FORM, check, lambda _: [gr.skip()] * len(told))
    estimating = access.guard(Action.FORM, estimate, lambda _: gr.skip())
    opening = access.guard(Action.WATCH, choose_at_load)

    edited = [component.input for component in fields.values()]
    # Gradio's Textbox tells of pressed keys only: what is pasted or deleted is noticed when the field is left
    edited += [component.blur for component in fields.values() if isinstance(component, gr.Textbox)]
    gr.on([*edited, view.input], checking, form_inputs, told, **latest)
    gr.on([*edited, text.change], estimating, form_inputs, needs, **latest)
    uploaded = prompts_part.connect(prompts, preview, form_inputs, read, outputs, service, access)
    uploaded.then(checking, form_inputs, told, **latest)
    # not the menu itself: meanwhile it may show the next choice
    preset.input(access.guard(Action.FORM, choose), preset, filled[1:], **latest)
    meant = {field: fields[field] for field in methods.chosen("ppo")}
    taking = access.guard(Action.FORM, lambda method: taken(method, meant), lambda _: [gr.skip()] * len(meant))
    fields["method"].input(taking, fields["method"], list(meant.values()), **latest).then(
        checking, form_inputs, told, **latest
    )
    pressed = access.guard(Action.START, start_run, not_started)
    start.click(pressed, [view, *form_inputs], [view, notes, start], trigger_mode="once", **quiet)
    use_text.click(access.guard(Action.FORM, use), [text, *form_inputs], filled, **quiet)
    demo.load(opening, notes, filled, js=edits.KEPT, **quiet).then(estimating, form_inputs, needs, **quiet)

    def recheck(event: Any) -> None:
        event.then(checking, form_inputs, told, **latest).then(estimating, form_inputs, needs, **latest)

    def put(offered: Any, *values: Any) -> list[Any]:
        return used(offered, values)

    putting = access.guard(Action.FORM, put)
    for part in (needs, tryout, notes):
        recheck(part.apply(putting, [part, *fields.values()], [part, *fields.values()], **quiet))
    tried = tryout_part.connect(tryout, form_inputs, read, outputs, service, access)
    tried.then(estimating, form_inputs, needs, **latest)

    return Train(filled, outputs, fields, recheck)


def taken(method: Any, fields: Mapping[str, Any]) -> list[Any]:
    """What the chosen method sets in the form, one value for each of `fields`."""
    values = methods.chosen(method)
    return [values.get(field, gr.skip()) for field in fields]


def filled_from(chosen: Any, outputs: Path, capped: Limits = LIMITS["local"], whole: bool = True) -> Filled:
    """The form filled from a preset (or from a run, as "run:<id>"); what is unknown is said and changes nothing.

    Args:
        whole: with paths of this machine, for who may know them.
    """
    try:
        base = base_of(chosen, outputs)
        run = named_run(chosen, outputs)
    except PlaygroundError as error:
        skip = [gr.skip() for _ in form.FIELDS]
        notes = {"problems": [{"field": "preset", "label": "Experiment", "message": _only_messages(error)}],
                 "differences": [], "marks": {}, "about": {}}  # fmt: skip
        return Filled(gr.skip(), gr.skip(), skip, notes, starting.button_with_problems(1), gr.skip())
    problems = _problems_of(base, outputs, capped) if whole else []
    label = starting.button_with_problems(len(problems)) if problems else starting.button(base, outputs)
    base = uploads.public(base, outputs) if whole else checks.without_folders(base)
    values = form.values_of(base)
    return Filled(
        chosen,
        controls.story_of(base, run.title(base) if run else ""),
        [values[field] for field in form.FIELDS],
        _notes(chosen, base, base, problems),
        label,
        base.to_yaml(),
    )


def filled_at_load(given: Any, caller: Caller, outputs: Path, capped: Limits = LIMITS["local"]) -> Filled:
    """The form as a page begins with it: as the preset of its address has it, with the changes that the browser has
    kept (`given`), or those that the address carries."""
    whole, may = caller.role is Role.HOST, caller.may(Action.FORM)
    kept = edits.kept(given, caller.query) if may else None
    chosen = kept.preset if kept else caller.query.get("preset") or catalog.DEFAULT_PRESET
    found = filled_from(chosen, outputs, capped, whole)
    carried = caller.query.get("set", "") if may and not kept else ""
    if found.text == gr.skip() or not (kept or carried):
        return found
    before = dict(zip(form.FIELDS, found.values, strict=True))
    try:
        if kept:
            changes = edits.changed({**before, **kept.values}, before)
        else:
            meant = edits.from_link(carried, base_of(chosen, outputs), capped, outputs)
            public = uploads.public(meant, outputs) if whole else checks.without_folders(meant)
            changes = edits.changed(form.values_of(public), before)
    except InvalidConfig as error:
        return found._replace(notes={**found.notes, "restored": {"refused": _problems(error.problems)}})
    if not changes:
        return found
    values = tuple({**before, **changes}.values())
    notes, story, start, text = checked(chosen, found.notes, values, outputs, capped)
    restored = {"kept": bool(kept), "count": len(changes), "use": {field: before[field] for field in changes}}
    if not isinstance(text, str):  # not valid yet
        story, text = found.story, found.text
    return Filled(found.preset, story, list(values), {**notes, "restored": restored}, start, text)


def from_text(
    yaml_text: str,
    chosen: Any,
    old_notes: Any,
    values: tuple[Any, ...],
    outputs: Path,
    capped: Limits = LIMITS["local"],
) -> list[Any]:
    """The form filled from YAML; with problems the form stays as it is and they are listed."""
    try:
        config = yaml_io.from_dict(_meant(yaml_io.parse_yaml(yaml_text), outputs))
        limits.require(config, capped, outputs)
        checks.check(config, outputs)
        base = base_of(chosen, outputs)
    except PlaygroundError as error:
        problems = error.problems if isinstance(error, InvalidConfig) else [Problem("", str(error))]
        notes = {**_as_dict(old_notes), "problems": _problems(problems)}
        skip = [gr.skip() for _ in form.FIELDS]
        return Filled(gr.skip(), gr.skip(), skip, notes, starting.button_with_problems(len(problems)), gr.skip()).flat()
    start = starting.button(config, outputs)
    config, base = uploads.public(config, outputs), uploads.public(base, outputs)
    new_values = form.values_of(config)
    return Filled(
        gr.skip(),
        controls.story_of(config),
        [new_values[field] for field in form.FIELDS],
        _notes(chosen, config, base, []),
        start,
        config.to_yaml(),
    ).flat()


def checked(
    chosen: Any, old_notes: Any, values: tuple[Any, ...], outputs: Path, capped: Limits = LIMITS["local"]
) -> tuple[dict[str, Any], Any, Any, Any]:
    """Notes, story, start button and YAML for the form as it is now."""
    try:
        base, config = _read(chosen, old_notes, values, outputs, capped)
    except InvalidConfig as error:
        notes = {**_as_dict(old_notes), "problems": _problems(error.problems)}
        with contextlib.suppress(PlaygroundError):  # what is not valid yet is kept over a reload too
            before = form.values_of(uploads.public(base_of(chosen, outputs), outputs))
            notes["edits"] = edits.changed(dict(zip(form.FIELDS, values, strict=True)), before)
        return notes, gr.skip(), starting.button_with_problems(len(error.problems)), gr.skip()
    except PlaygroundError as error:
        notes = {**_as_dict(old_notes), "problems": _problems([Problem("preset", str(error))])}
        return notes, gr.skip(), starting.button_with_problems(1), gr.skip()
    start = starting.button(config, outputs)
    config, base = uploads.public(config, outputs), uploads.public(base, outputs)
    return _notes(chosen, config, base, []), controls.story_of(config), start, config.to_yaml()


def started(
    asked: Any,
    chosen: Any,
    old_notes: Any,
    values: tuple[Any, ...],
    outputs: Path,
    standby: StandbyWorker,
    access: Access | None = None,
    caller: Caller | None = None,
) -> tuple[Any, Any, Any]:
    """Start a run, or put it into the queue, if form and limits allow it: what to view, notes, start button.

    `asked` is the page's name for this one intended start, see `starting.request`.
    """
    access, caller = access or Access(), caller or Caller()
    try:
        base, config = _read(chosen, old_notes, values, outputs, access.limits)
        config = limits.capped(config, access.limits)
    except PlaygroundError:
        notes, _, button, _ = checked(chosen, old_notes, values, outputs, access.limits)
        return gr.skip(), {**notes, "show": time.time()}, button
    request = starting.request(asked, config)._replace(visitor=str(caller.visitor), mode=access.mode)
    try:
        with quota.admitted(request, access, caller, outputs):
            trial.end(outputs)  # whoever starts is done with trying
            run, _ = launcher.start(config, outputs, spawn=standby.worker_for, request=request)
    except (PlaygroundError, OSError) as error:
        problem = Problem("", in_words(error))
        notes = _notes(chosen, config, uploads.public(base, outputs), [problem])
        return _view(None), notes, starting.button_with_problems(1)
    return _view(run.id), _notes(chosen, config, uploads.public(base, outputs), []), starting.button(config, outputs)


def named_run(chosen: Any, outputs: Path) -> RunDirectory | None:
    """The run whose settings are chosen; None for a preset. Raises: RunNotFound."""
    name = str(chosen or "")
    if not name.startswith(controls.RUN_PREFIX):
        return None
    return history.find_run(outputs, name.removeprefix(controls.RUN_PREFIX))


def base_of(chosen: Any, outputs: Path) -> RunConfig:
    """The configuration that the form is compared with.

    Raises:
        InvalidConfig, RunNotFound: for a preset or run that is not there.
    """
    name = str(chosen or "")
    run = named_run(chosen, outputs)
    if run is not None:
        return run.config()
    names = [*catalog.preset_names(), *catalog.model_preset_names()]
    if name not in names:  # the form takes names only, never the path of a file
        raise InvalidConfig([Problem("preset", catalog.unknown("preset", name, names))])
    return catalog.preset(name)


def _read(
    chosen: Any, old_notes: Any, values: tuple[Any, ...], outputs: Path, capped: Limits = LIMITS["local"]
) -> tuple[RunConfig, RunConfig]:
    base = base_of(chosen, outputs)
    about = _as_dict(old_notes).get("about")
    told = base
    with contextlib.suppress(ValidationError):  # it comes back from a browser, so it may be anything
        told = base.model_copy(update={"about": type(base.about).model_validate(about)})
    return base, form.config_of(_by_field(values, outputs), told, outputs, capped)


def _by_field(values: tuple[Any, ...], outputs: Path) -> dict[str, Any]:
    found = dict(zip(form.FIELDS, values, strict=True))
    return {**found, SOURCE: uploads.meant(found[SOURCE], outputs)}


def _problems_of(base: RunConfig, outputs: Path, capped: Limits) -> list[Problem]:
    """What keeps a preset or the settings of a run from being started as they are, such as a model that is not here."""
    try:
        limits.require(base, capped, outputs)
        checks.check(base, outputs)
    except InvalidConfig as error:
        return error.problems
    return []


def used(told: Any, values: tuple[Any, ...]) -> list[Any]:
    """What a part of the page proposes (its `use`: form values by field), put into the form; with it goes back what was
    there, as `undo`."""
    wanted, now = _as_dict(_as_dict(told).get("use")), dict(zip(form.FIELDS, values, strict=True))
    undo = {field: now[field] for field in form.FIELDS if field in wanted}
    back = {**_as_dict(told), "use": None, "undo": undo, "at": time.time()}
    return [back, *(wanted[field] if field in wanted else gr.skip() for field in form.FIELDS)]


def _meant(data: Any, outputs: Path) -> Any:
    """Plain data of a configuration with the path of an uploaded file in the place of its name."""
    prompts = data.get("prompts") if isinstance(data, dict) else None
    if not isinstance(prompts, dict) or "source" not in prompts:
        return data
    return {**data, "prompts": {**prompts, "source": uploads.meant(prompts["source"], outputs)}}


def _notes(chosen: Any, config: RunConfig, base: RunConfig, problems: list[Problem]) -> dict[str, Any]:
    link, no_link = "", ""
    try:
        link = edits.link(config, base)
    except InvalidConfig as error:
        no_link = _only_messages(error)
    return {
        "preset": str(chosen or ""),
        "edits": edits.changed(form.values_of(config), form.values_of(base)),
        "link": link,
        "no_link": no_link,
        "problems": _problems(problems),
        "differences": [item._asdict() for item in form.differences_in_words(config, base)],
        "marks": {field: value for field, value in form.values_of(base).items() if field not in form.REWARD_LISTS},
        "about": config.about.model_dump(),
        "unused": {
            "by": methods.METHODS[config.method].label,
            "sentence": methods.METHODS[config.method].sentence,
            "fields": [field for field in form.KNOBS if methods.unused(config.method, field)],
        },
    }


def _problems(problems: list[Problem]) -> list[dict[str, str]]:
    return [
        {"field": problem.field, "label": form.label_of(problem.field), "message": form.with_labels(problem.message)}
        for problem in problems
    ]


def _view(run_id: str | None) -> dict[str, Any]:
    """What the run view shows next, or that this start has been answered: train/run_view.js names the next one."""
    return {"run": run_id, "at": time.time()}


def _as_dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _only_messages(error: PlaygroundError) -> str:
    return " ".join(item.message for item in error.problems) if isinstance(error, InvalidConfig) else str(error)
