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
        notes_on(chosen, base, base, problems, outputs),
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
            linked = edits.from_link(carried, base_of(chosen, outputs), capped, outputs)
            public = uploads.public(linked, outputs) if whole else checks.without_folders(linked)
            changes = edits.changed(form.values_of(public), before)
    except InvalidConfig as error:
        return found._replace(notes={**found.notes, "restored": {"refused": problems_told(error.problems)}})
    if not changes:
        return found
    restored = {"kept": bool(kept), "count": len(changes), "use": {field: before[field] for field in changes}}
    changed = filled_with(found, changes, outputs, capped)
    return changed._replace(notes={**changed.notes, "restored": restored})


def filled_with(found: Filled, changes: Mapping[str, Any], outputs: Path, capped: Limits = LIMITS["local"]) -> Filled:
    """A filled form with other values in some of its fields; what is no field of it is left out."""
    before = dict(zip(form.FIELDS, found.values, strict=True))
    if found.text == gr.skip():  # there was nothing to fill it from
        return found
    values = tuple({**before, **{field: changes[field] for field in before if field in changes}}.values())
    notes, story, start, text = checked(found.preset, found.notes, values, outputs, capped)
    if not isinstance(text, str):  # not valid yet
        story, text = found.story, found.text
    return Filled(found.preset, story, list(values), notes, start, text)


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
        config = limits.built(meant(yaml_io.parse_yaml(yaml_text), outputs), capped)
        limits.require(config, capped, outputs)
        checks.check(config, outputs)
        base = base_of(chosen, outputs)
    except PlaygroundError as error:
        problems = error.problems if isinstance(error, InvalidConfig) else [Problem("", str(error))]
        notes = {**as_dict(old_notes), "problems": problems_told(problems)}
        skip = [gr.skip() for _ in form.FIELDS]
        return Filled(gr.skip(), gr.skip(), skip, notes, starting.button_with_problems(len(problems)), gr.skip()).flat()
    start = starting.button(config, outputs)
    config, base = uploads.public(config, outputs), uploads.public(base, outputs)
    new_values = form.values_of(config)
    return Filled(
        gr.skip(),
        controls.story_of(config),
        [new_values[field] for field in form.FIELDS],
        notes_on(chosen, config, base, [], outputs),
        start,
        config.to_yaml(),
    ).flat()


def checked(
    chosen: Any, old_notes: Any, values: tuple[Any, ...], outputs: Path, capped: Limits = LIMITS["local"]
) -> tuple[dict[str, Any], Any, Any, Any]:
    """Notes, story, start button and YAML for the form as it is now."""
    try:
        base, config = read(chosen, old_notes, values, outputs, capped)
    except InvalidConfig as error:
        notes = {**as_dict(old_notes), "problems": problems_told(error.problems)}
        with contextlib.suppress(PlaygroundError):  # what is not valid yet is kept over a reload too
            before = form.values_of(uploads.public(base_of(chosen, outputs), outputs))
            notes["edits"] = edits.changed(dict(zip(form.FIELDS, values, strict=True)), before)
        return notes, gr.skip(), starting.button_with_problems(len(error.problems)), gr.skip()
    except PlaygroundError as error:
        notes = {**as_dict(old_notes), "problems": problems_told([Problem("preset", str(error))])}
        return notes, gr.skip(), starting.button_with_problems(1), gr.skip()
    start = starting.button(config, outputs)
    config, base = uploads.public(config, outputs), uploads.public(base, outputs)
    return notes_on(chosen, config, base, [], outputs), controls.story_of(config), start, config.to_yaml()


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


def read(
    chosen: Any, old_notes: Any, values: tuple[Any, ...], outputs: Path, capped: Limits = LIMITS["local"]
) -> tuple[RunConfig, RunConfig]:
    """What the form is compared with, and the form as a configuration.

    Raises:
        InvalidConfig, RunNotFound.
    """
    base = base_of(chosen, outputs)
    about = as_dict(old_notes).get("about")
    told = base
    with contextlib.suppress(ValidationError):  # it comes back from a browser, so it may be anything
        told = base.model_copy(update={"about": type(base.about).model_validate(about)})
    return base, form.config_of(by_field(values, outputs), told, outputs, capped)


def by_field(values: tuple[Any, ...], outputs: Path) -> dict[str, Any]:
    """The form's values by their fields, an uploaded file with its path."""
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
    wanted, now = as_dict(as_dict(told).get("use")), dict(zip(form.FIELDS, values, strict=True))
    undo = {field: now[field] for field in form.FIELDS if field in wanted}
    back = {**as_dict(told), "use": None, "undo": undo, "at": time.time()}
    return [back, *(wanted[field] if field in wanted else gr.skip() for field in form.FIELDS)]


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
        "problems": problems_told(problems),
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


def problems_told(problems: list[Problem]) -> list[dict[str, str]]:
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
