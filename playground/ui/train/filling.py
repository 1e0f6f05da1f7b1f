"""What fills the form of the Train page: a preset, a run's settings, YAML, a link, what the browser has kept, what a
part of the page proposes; and what is said of the form as it is then.

Form values in, form values out; what cannot be taken is said and changes nothing. Starts nothing. `train_page` and
`runs_page` call it; one value of the form is `form`'s, a link `edits`'.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr
from pydantic import ValidationError

from playground.config import RunConfig, methods, yaml_io
from playground.errors import InvalidConfig, PlaygroundError, Problem
from playground.rewards import behaviours as counted
from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog, checks, limits
from playground.setup.limits import LIMITS, Limits
from playground.ui.door import uploads
from playground.ui.door.access import Action, Caller, Role
from playground.ui.train import controls, edits, form, frontier_part, starting

SOURCE = "prompts.source"


SKIP = gr.skip()


class Form(NamedTuple):
    """The form as a browser sends it: the preset or run that it began with, what was last said of it, and its values by
    field. An uploaded file goes by its name on the page."""

    chosen: Any
    notes: Mapping[str, Any]
    values: dict[str, Any]

    @classmethod
    def of(cls, chosen: Any, notes: Any, *values: Any) -> Form:
        """From the components of the page, in their order."""
        return cls(chosen, as_dict(notes), dict(zip(form.FIELDS, values, strict=True)))

    def data(self, outputs: Path) -> dict[str, Any]:
        """The values, with the path of an uploaded file."""
        return {**self.values, SOURCE: uploads.meant(self.values[SOURCE], outputs)}


class Said(NamedTuple):
    """What is said of the form as it is: notes, story, start button, and all of it as YAML."""

    notes: dict[str, Any]
    story: Any
    start: Any
    text: Any


class Filled(NamedTuple):
    """What a handler puts into the form; what it leaves out stays as it is."""

    preset: Any = SKIP
    story: Any = SKIP
    values: Mapping[str, Any] = {}
    notes: Any = SKIP
    start: Any = SKIP
    text: Any = SKIP

    def flat(self) -> list[Any]:
        """In the order of `Train.filled`."""
        values = [self.values.get(field, SKIP) for field in form.FIELDS]
        return [self.preset, self.story, *values, self.notes, self.start, self.text]


def filled_from(chosen: Any, outputs: Path, capped: Limits = LIMITS["local"], whole: bool = True) -> Filled:
    """The form filled from a preset (or from a run, as "run:<id>"); what is unknown is said and changes nothing.

    Args:
        whole: with paths of this machine, for who may know them.
    """
    try:
        base = base_of(chosen, outputs)
        run = named_run(chosen, outputs)
    except PlaygroundError as error:
        problem = {"field": "preset", "label": "Experiment", "message": _only_messages(error)}
        notes = {"problems": [problem], "differences": [], "marks": {}, "about": {}}
        return Filled(notes=notes, start=starting.button_with_problems(1))
    problems = _problems_of(base, outputs, capped) if whole else []
    label = starting.button_with_problems(len(problems)) if problems else starting.button(base, outputs)
    base = uploads.public(base, outputs) if whole else checks.without_folders(base)
    story = controls.story_of(base, run.title(base) if run else "")
    notes = notes_on(chosen, base, base, problems, outputs)
    return Filled(chosen, story, form.values_of(base), notes, label, base.to_yaml())


def filled_at_load(given: Any, caller: Caller, outputs: Path, capped: Limits = LIMITS["local"]) -> Filled:
    """The form as a page begins with it: as the preset of its address has it, with the changes that the browser has
    kept (`given`), or those that the address carries."""
    whole, may = caller.role is Role.HOST, caller.may(Action.FORM)
    kept = edits.kept(given, caller.query) if may else None
    chosen = kept.preset if kept else caller.query.get("preset") or catalog.DEFAULT_PRESET
    found = filled_from(chosen, outputs, capped, whole)
    carried = caller.query.get("set", "") if may and not kept else ""
    before = found.values
    if not before or not (kept or carried):
        return found
    try:
        if kept:
            changes = edits.changed({**before, **kept.values}, before)
        else:
            linked = edits.from_link(carried, base_of(chosen, outputs), capped, outputs)
            public = uploads.public(linked, outputs) if whole else checks.without_folders(linked)
            changes = edits.changed(form.values_of(public), before)
    except InvalidConfig as error:
        return found._replace(notes={**found.notes, "restored": {"refused": problem_data(error.problems)}})
    if not changes:
        return found
    restored = {"kept": bool(kept), "count": len(changes), "use": {field: before[field] for field in changes}}
    changed = filled_with(found, changes, outputs, capped)
    return changed._replace(notes={**changed.notes, "restored": restored})


def filled_with(found: Filled, changes: Mapping[str, Any], outputs: Path, capped: Limits = LIMITS["local"]) -> Filled:
    """A filled form with other values in some of its fields; what is no field of it is left out."""
    if not found.values:  # there was nothing to fill it from
        return found
    values = {field: changes.get(field, value) for field, value in found.values.items()}
    said = checked(Form(found.preset, found.notes, values), outputs, capped)
    if not isinstance(said.text, str):  # not valid yet
        said = said._replace(story=found.story, text=found.text)
    return Filled(found.preset, said.story, values, said.notes, said.start, said.text)


def from_text(yaml_text: str, before: Form, outputs: Path, capped: Limits = LIMITS["local"]) -> Filled:
    """The form filled from YAML; with problems the form stays as it is and they are listed."""
    try:
        config = limits.built(meant(yaml_io.parse_yaml(yaml_text), outputs), capped)
        limits.require(config, capped, outputs)
        checks.check(config, outputs)
        base = base_of(before.chosen, outputs)
    except PlaygroundError as error:
        problems = error.problems if isinstance(error, InvalidConfig) else [Problem("", str(error))]
        notes = {**before.notes, "problems": problem_data(problems)}
        return Filled(notes=notes, start=starting.button_with_problems(len(problems)))
    said = _said(before.chosen, config, base, outputs)
    values = form.values_of(uploads.public(config, outputs))
    return Filled(story=said.story, values=values, notes=said.notes, start=said.start, text=said.text)


def checked(now: Form, outputs: Path, capped: Limits = LIMITS["local"]) -> Said:
    """What is to be said of the form as it is now."""
    try:
        base, config = read(now, outputs, capped)
    except InvalidConfig as error:
        notes = {**now.notes, "problems": problem_data(error.problems)}
        with contextlib.suppress(PlaygroundError):  # what is not valid yet is kept over a reload too
            before = form.values_of(uploads.public(base_of(now.chosen, outputs), outputs))
            notes["edits"] = edits.changed(now.values, before)
        return Said(notes, SKIP, starting.button_with_problems(len(error.problems)), SKIP)
    except PlaygroundError as error:
        notes = {**now.notes, "problems": problem_data([Problem("preset", str(error))])}
        return Said(notes, SKIP, starting.button_with_problems(1), SKIP)
    return _said(now.chosen, config, base, outputs)


def _said(chosen: Any, config: RunConfig, base: RunConfig, outputs: Path) -> Said:
    start = starting.button(config, outputs)
    config, base = uploads.public(config, outputs), uploads.public(base, outputs)
    return Said(notes_on(chosen, config, base, [], outputs), controls.story_of(config), start, config.to_yaml())


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


def read(now: Form, outputs: Path, capped: Limits = LIMITS["local"]) -> tuple[RunConfig, RunConfig]:
    """What the form is compared with, and the form as a configuration.

    Raises:
        InvalidConfig, RunNotFound.
    """
    base = base_of(now.chosen, outputs)
    described = base
    with contextlib.suppress(ValidationError):  # it comes back from a browser, so it may be anything
        about = type(base.about).model_validate(now.notes.get("about"))
        described = base.model_copy(update={"about": about})
    return base, form.config_of(now.data(outputs), described, outputs, capped)


def _problems_of(base: RunConfig, outputs: Path, capped: Limits) -> list[Problem]:
    """What keeps a preset or the settings of a run from being started as they are, such as a model that is not here."""
    try:
        limits.require(base, capped, outputs)
        checks.check(base, outputs)
    except InvalidConfig as error:
        return error.problems
    return []


def used(offered: Any, now: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a part of the page proposes (its `use`: form values by field): what goes back to the part, with what was
    there as `undo`, and what is put into the form.

    Args:
        now: the form's values.
    """
    wanted = as_dict(as_dict(offered).get("use"))
    values = {field: wanted[field] for field in form.FIELDS if field in wanted}
    undo = {field: now[field] for field in values}
    return {**as_dict(offered), "use": None, "undo": undo, "at": time.time()}, values


def meant(data: Any, outputs: Path) -> Any:
    """Plain data of a configuration, or of a part of it, with the path of an uploaded file in the place of its name."""
    prompts = data.get("prompts") if isinstance(data, dict) else None
    if not isinstance(prompts, dict) or "source" not in prompts:
        return data
    return {**data, "prompts": {**prompts, "source": uploads.meant(prompts["source"], outputs)}}


def notes_on(
    chosen: Any, config: RunConfig, base: RunConfig, problems: list[Problem], outputs: Path | None = None
) -> dict[str, Any]:
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
        "problems": problem_data(problems),
        "differences": [item._asdict() for item in form.differences_in_words(config, base)],
        "marks": {field: value for field, value in form.values_of(base).items() if field not in form.LISTS},
        "regimes": frontier_part.regimes_of(config, str(chosen or ""), outputs),
        "suiting": [one.name for one in counted.of_config(config.model_copy(update={form.BEHAVIOURS: None}))],
        "about": config.about.model_dump(),
        "unused": {
            "by": methods.METHODS[config.method].label,
            "sentence": methods.METHODS[config.method].sentence,
            "fields": [field for field in form.KNOBS if methods.unused(config.method, field)],
        },
    }


def problem_data(problems: list[Problem]) -> list[dict[str, str]]:
    """With the names that the form gives to the fields."""
    return [
        {"field": problem.field, "label": form.label_of(problem.field), "message": form.with_labels(problem.message)}
        for problem in problems
    ]


def as_dict(value: Any) -> Mapping[str, Any]:
    """What came back from a browser, if it is a dictionary; else an empty one."""
    return value if isinstance(value, dict) else {}


def _only_messages(error: PlaygroundError) -> str:
    return " ".join(item.message for item in error.problems) if isinstance(error, InvalidConfig) else str(error)
