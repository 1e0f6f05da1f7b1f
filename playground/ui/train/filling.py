"""What fills the form of the Train page, and what is said of the form as it is then.

`Form` in, `FormUpdate` out; what cannot be taken is said and changes nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from playground.config import RunConfig, methods, yaml_io
from playground.errors import InvalidConfig, PlaygroundError, Problem
from playground.models import real_model
from playground.rewards import behaviours as counted
from playground.runs import history, launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.setup import admission, catalog, checks, describe, expected, limits
from playground.setup.estimates import gpu_calls
from playground.setup.limits import LIMITS, Limits
from playground.ui.auth import uploads
from playground.ui.auth.access import Action, Caller, Role
from playground.ui.payloads.form import NotesData, RestoredData, StoryData
from playground.ui.train import edits, form, frontier_part
from playground.ui.train.form import Form, FormUpdate

SOURCE = "prompts.source"
START = "Start training"
GET_FIRST = "Get its model to start"
ENQUEUE = "Add to the queue"
TAUGHT = ("method", "prompts", "rewards")  # what makes a preset's story true
RUN_PREFIX = "run:"  # a choice that means "the settings of that run"


def filled_from(chosen: Any, outputs: Path, capped: Limits = LIMITS["local"], whole: bool = True) -> FormUpdate:
    """The form filled from a preset (or from a run, as "run:<id>"); what is not there is said, beside the default one's
    values. `whole`: with paths, for who may know them."""
    try:
        base, run = base_of(chosen, outputs), named_run(chosen, outputs)
    except PlaygroundError as error:
        nothing: NotesData = {"differences": [], "marks": {}, "about": {}}
        refused = _refused(Form(chosen, nothing, {}), error)
        return refused._replace(values=form.values_of(catalog.preset(catalog.DEFAULT_PRESET)))
    problems: list[Problem] = []
    if whole:
        try:
            admission.check(base, outputs, capped)
        except InvalidConfig as error:  # such as a model that is not here
            problems = error.problems
    update = described(chosen, base, base, outputs, capped, problems, whole)
    story = story_of(base, run.title(base) if run else "")
    return update._replace(preset=chosen, story=story, values=_values(base, outputs, whole))


def filled_at_load(stored: Any, caller: Caller, outputs: Path, capped: Limits = LIMITS["local"]) -> FormUpdate:
    """The form as a page begins with it: the preset of its address, with changes that the browser has kept (`stored`)
    or that are in a link."""
    whole, may = caller.role is Role.HOST, caller.may(Action.FORM)
    kept_changes, link = None, ""
    if may:
        kept_changes, link = edits.kept(stored, caller.query), caller.query.get("set", "")
    chosen, text = kept_changes or (caller.query.get("preset") or catalog.DEFAULT_PRESET, link)
    filled = filled_from(chosen, outputs, capped, whole)
    if not text or filled.story is None:
        return filled
    try:
        config = edits.from_text(text, base_of(chosen, outputs), capped, outputs, from_link=not kept_changes)
    except InvalidConfig as error:
        return _restored(filled, {"refused": form.problem_data(error.problems)})
    changes = {
        field: value for field, value in _values(config, outputs, whole).items() if value != filled.values[field]
    }
    if not changes:
        return filled
    use = {field: filled.values[field] for field in changes}
    restored: RestoredData = {"kept": bool(kept_changes), "count": len(changes), "use": use}
    return _restored(filled_with(filled, changes, outputs, capped), restored)


def _restored(update: FormUpdate, restored: RestoredData) -> FormUpdate:
    return update._replace(notes={**(update.notes or {}), "restored": restored})


def _values(config: RunConfig, outputs: Path, whole: bool) -> dict[str, Any]:
    return form.values_of(_to_show(config, outputs, whole))


def _to_show(config: RunConfig, outputs: Path, whole: bool) -> RunConfig:
    """With paths or without them; see `filled_from`."""
    if whole:
        return uploads.public(config, outputs)
    return checks.without_folders(config)


def filled_with(
    filled: FormUpdate, changes: Mapping[str, Any], outputs: Path, capped: Limits = LIMITS["local"]
) -> FormUpdate:
    """A filled form with other values in some of its fields; what is no field of it is left out."""
    if not changes or filled.story is None:
        return filled
    values = {field: changes.get(field, value) for field, value in filled.values.items()}
    update = checked(Form(filled.preset, filled.notes or {}, values), outputs, capped)
    story, text = update.story or filled.story, update.text or filled.text
    return update._replace(preset=filled.preset, values=values, story=story, text=text)


def from_text(yaml_text: str, before: Form, outputs: Path, capped: Limits = LIMITS["local"]) -> FormUpdate:
    """The form filled from YAML; with problems the form stays as it is and they are listed."""
    try:
        config = limits.built(meant(yaml_io.parse_yaml(yaml_text), outputs), capped, outputs)
        admission.check(config, outputs, capped)
        base = base_of(before.chosen, outputs)
    except PlaygroundError as error:
        return _refused(before, error)
    return described(before.chosen, config, base, outputs, capped)._replace(values=_values(config, outputs, whole=True))


def checked(now: Form, outputs: Path, capped: Limits = LIMITS["local"]) -> FormUpdate:
    """What is to be said of the form as it is now: notes, story, start button, and all of it as YAML."""
    try:
        base, config = read(now, outputs, capped)
    except PlaygroundError as error:
        return _refused(now, error)
    return described(now.chosen, config, base, outputs, capped)


def described(
    chosen: Any,
    config: RunConfig,
    base: RunConfig,
    outputs: Path,
    capped: Limits,
    problems: Sequence[Problem] = (),
    whole: bool = True,
) -> FormUpdate:
    """What is to be said of a form that holds a configuration. `whole`: see `filled_from`."""
    if problems:
        queue, start = "", to_fix(problems)
    else:
        queue = why_it_waits(config, outputs, capped)
        start = ENQUEUE if queue else START
    config, base = _to_show(config, outputs, whole), _to_show(base, outputs, whole)
    notes = notes_on(chosen, config, base, problems, queue)
    return FormUpdate(story=story_of(config), notes=notes, start=start, text=config.to_yaml())


def _refused(before: Form, error: PlaygroundError) -> FormUpdate:
    problems = [Problem("preset", str(error))]
    if isinstance(error, InvalidConfig):
        problems = error.problems
    notes: Any = {**before.notes, "problems": form.problem_data(problems), "queue": "", "coming": False}
    return FormUpdate(notes=notes, start=to_fix(problems))


def why_it_waits(config: RunConfig, outputs: Path, capped: Limits) -> str:
    """Why a press on Start would put the run into the queue; empty where it would not, as where a GPU is called."""
    called = gpu_calls.asked(config, capped.calls, outputs)
    first = None
    if not called:
        first = launcher.in_the_way(outputs, queue.slot_of(config))
    if first is None:
        return ""
    try:
        title = first.title(first.config())
    except PlaygroundError:  # its folder goes at this moment
        title = first.id
    doing = "is training" if first.is_alive() else "waits for this device"
    return f"\u201c{title}\u201d {doing}; one run at a time on this device."


def to_fix(problems: Sequence[Problem]) -> str:
    """Nothing starts before these are mended."""
    if lacks_real_model_only(problems):
        return GET_FIRST
    return f"Fix {describe.count_of(len(problems), 'setting')} to start"


def lacks_real_model_only(problems: Sequence[Problem]) -> bool:
    """Whether all that is missing is the model that the page offers to get."""
    return {problem.message for problem in problems} == {str(real_model.absent())}


def named_run(chosen: Any, outputs: Path) -> RunDirectory | None:
    """The run whose settings are chosen; None for a preset. Raises: RunNotFound."""
    name = str(chosen or "")
    if not name.startswith(RUN_PREFIX):
        return None
    return history.find_run(outputs, name.removeprefix(RUN_PREFIX))


def base_of(chosen: Any, outputs: Path) -> RunConfig:
    """The configuration that the form is compared with. Raises: InvalidConfig, RunNotFound."""
    name = str(chosen or "")
    if run := named_run(chosen, outputs):
        config = run.config()
        if config.not_started:
            raise InvalidConfig([Problem("preset", config.not_started)])
        return config
    names = catalog.every_preset_name()
    if name not in names:  # the form takes names only, never the path of a file
        raise InvalidConfig([Problem("preset", catalog.unknown("preset", name, names))])
    return catalog.preset(name)


def read(now: Form, outputs: Path, capped: Limits = LIMITS["local"], disk: bool = True) -> tuple[RunConfig, RunConfig]:
    """What the form is compared with, and the form as a configuration. `disk`: what is not there is a problem.

    Raises: InvalidConfig, RunNotFound.
    """
    base = base_of(now.chosen, outputs)
    values = {**now.values, SOURCE: uploads.meant(now.values[SOURCE], outputs)}
    if not disk:
        return base, limits.built(form.nested(values, base.model_dump(mode="json")), capped, outputs)
    described = base
    with contextlib.suppress(ValidationError):  # it comes back from a browser, so it may be anything
        about = type(base.about).model_validate(now.notes.get("about"))
        preset = base.preset if about == base.about else ""  # of settings from a text, the one of its title
        described = base.model_copy(update={"about": about, "preset": preset})
    return base, form.config_of(values, described, outputs, capped)


def meant(data: Any, outputs: Path) -> Any:
    """Plain data of a configuration, or of a part of it, with the path of an uploaded file in the place of its name."""
    prompts = None
    if isinstance(data, dict):
        prompts = data.get("prompts")
    if not isinstance(prompts, dict) or "source" not in prompts:
        return data
    return {**data, "prompts": {**prompts, "source": uploads.meant(prompts["source"], outputs)}}


def notes_on(
    chosen: Any, config: RunConfig, base: RunConfig, problems: Sequence[Problem], queue: str = ""
) -> NotesData:
    """What static/train/notes.js shows of a valid form: problems, differences, a link, what marks the controls, and why
    the run would wait in the `queue`."""
    text, marks, method = edits.written(config, base), form.values_of(base), methods.METHODS[config.method]
    no_link = edits.why_no_link(config, text)
    return {
        "preset": str(chosen or ""),
        "kept": text,
        "link": "" if no_link else text,
        "no_link": no_link,
        "problems": form.problem_data(problems),
        "queue": queue,
        "differences": form.differences_in_words(config, base),
        "marks": {field: value for field, value in marks.items() if field not in form.LISTS},
        "regimes": frontier_part.regimes_of(config),
        "rewards": form.values_of(config)["rewards"],
        "suiting": [
            behaviour.name for behaviour in counted.of_config(config.model_copy(update={form.BEHAVIOURS: None}))
        ],
        "about": config.about.model_dump(),
        "unused": {
            "by": method.label,
            "sentence": method.sentence,
            "fields": [field for field in form.KNOBS if methods.unused(config.method, field)],
        },
    }


def _is_taught(config: RunConfig, preset: RunConfig) -> bool:
    """Whether a preset's story is true of a run: a story may speak of the leash, so there is one, or there is none."""
    is_same = all(getattr(config, part) == getattr(preset, part) for part in TAUGHT)
    return is_same and bool(config.kl.coef) == bool(preset.kl.coef)


def story_of(config: RunConfig, settings_of: str = "") -> StoryData:
    """For static/train/story.js; `settings_of`: the run that the settings have just been taken from. Where something
    else than the preset's is taught, `what` says it; else `changed` says what differs from the preset."""
    description, preset = describe.of(config), catalog.preset_of(config)
    taught, changed = description.story, ""
    if preset and not taught and _is_taught(config, preset):
        taught, changed = config.about.story, describe.listed(describe.differences_in_words(config, preset))
    return {
        "preset": description.preset,
        "title": config.about.title,
        "model": f"{describe.in_words('model.source', config.model.source)}. Method: {config.method_label}.",
        "reward": describe.in_words("rewards", [reward.model_dump(mode="json") for reward in config.rewards]),
        "taught": taught,
        "changed": changed and f"{changed}.",
        "what": "" if taught else description.line(config.about.title),
        "expect": description.expect,
        "measured": expected.line(description.preset) or expected.settings_line(description.preset),
        "settings_of": settings_of,
    }
