"""The Train page: the form at the left, the run in view at the right.

Handlers read the form, check it, or start a worker; none of them trains or keeps state. The form's logic is in
`form`, the drawing in static/. `page` calls `build`; `runs_page` uses the returned parts to load a run's settings.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr
from pydantic import ValidationError

from playground import catalog, checks, config_io, engines, limits
from playground.config import RunConfig
from playground.errors import InvalidConfig, PlaygroundError, Problem
from playground.limits import LIMITS, Limits
from playground.runs import history, launcher
from playground.runs.model_service import ModelService
from playground.runs.standby import StandbyWorker
from playground.ui import (
    components,
    form,
    needs_part,
    prompts_part,
    quota,
    reward_picker,
    starting,
    steer,
    taking_out,
)  # fmt: skip
from playground.ui.access import Access, Action, Caller

RUN_PREFIX = "run:"  # a preset choice that means "the settings of that run"
BASIC_NUMBERS = ("kl.coef", "ppo.learning_rate", "ppo.num_updates")
PLACED = ("model.source", *prompts_part.FIELDS, *BASIC_NUMBERS, "seed")  # `_controls` puts these where they are
GROUP_PREFIXES = {
    "Models and reference": ("device", "model.", "reference."),
    "More PPO settings": ("engine", "ppo."),
    "More leash (KL) settings": ("kl.",),
    "Sampling and score": ("sampling.", "score."),
    "Prompts, evaluation, checkpoints": ("prompts.", "evaluation.", "checkpoint.", "max_minutes"),
}
OTHER = "Other settings"


def groups_of(fields: Iterable[str]) -> dict[str, list[str]]:
    """Accordion title -> its fields, by their names alone, so that a field that config gains shows up by itself."""
    groups: dict[str, list[str]] = {title: [] for title in (*GROUP_PREFIXES, OTHER)}
    for field in fields:
        if field not in PLACED:
            found = (title for title, prefixes in GROUP_PREFIXES.items() if field.startswith(prefixes))
            groups[next(found, OTHER)].append(field)
    return {title: names for title, names in groups.items() if names}


GROUPS = groups_of(form.KNOBS)
ENGINE_HELP_AFTER = "engine" if "engine" in form.KNOBS else GROUPS["More PPO settings"][0]


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
            preset, story, fields, prompts, text, use_text = _controls(first, first_values, outputs, access)
            with gr.Column(elem_id="start-bar"):
                needs = needs_part.panel()
                notes = components.widget("notes", _notes(first, first, []), elem_id="notes")
                start = gr.Button(starting.START, variant="primary", elem_id="start")
        saver = service if access.mode != "space" else None  # a folder on a server is of no use to a visitor
        asking = [
            *steer.guarded_functions(outputs, access, standby.worker_for),
            *access.guard_all(Action.SAVE, taking_out.functions(outputs, saver)),
        ]
        with gr.Column(elem_id="view", min_width=320):
            preview = prompts_part.panel()
            view = components.widget(
                "run_view",
                {"run": None},
                elem_id="run-view",
                knobs=steer.knobs(),
                server_functions=asking,
                can_save=saver is not None,
            )

    form_inputs = [preset, notes, *fields.values()]
    filled = [preset, story, *fields.values(), notes, start, text]
    quiet: dict[str, Any] = {"show_progress": "hidden", "queue": False, "api_visibility": "private"}

    def get_ready() -> None:
        if standby.pid is None and launcher.living_run(outputs) is None:
            standby.prepare()

    def check(chosen: Any, old_notes: Any, *values: Any) -> list[Any]:
        get_ready()
        new_notes, label, yaml_text = checked(chosen, old_notes, values, outputs, capped)
        return [new_notes, label, yaml_text]

    def read(chosen: Any, old_notes: Any, *values: Any) -> RunConfig:
        return _read(chosen, old_notes, values, outputs, capped)[1]

    def estimate(chosen: Any, old_notes: Any, *values: Any) -> Any:
        return needs_part.needs(lambda: _read_without_disk(chosen, values, outputs), outputs, capped)

    def start_run(viewed: Any, chosen: Any, old_notes: Any, *values: Any, caller: Caller) -> list[Any]:
        asked = _as_dict(viewed).get("request")
        return list(started(asked, chosen, old_notes, values, outputs, standby, access, caller))

    def choose(chosen: Any) -> list[Any]:
        return filled_from(chosen, outputs, capped).flat()

    def choose_at_load(caller: Caller) -> list[Any]:
        if caller.may(Action.START):
            get_ready()
        found = filled_from(caller.query.get("preset") or catalog.DEFAULT_PRESET, outputs, capped).flat()
        place = filled.index(fields["model.source"])
        found[place] = needs_part.model_update(found[place], outputs, capped)  # a run may have used another model
        if not caller.may(Action.START):
            found[filled.index(start)] = gr.Button("The host starts runs", interactive=False)
        return found

    def use(yaml_text: str, chosen: Any, old_notes: Any, *values: Any) -> list[Any]:
        return from_text(yaml_text, chosen, old_notes, values, outputs, capped)

    def not_started(sentence: str) -> list[Any]:
        return [gr.skip(), {"problems": _problems([Problem("", sentence)]), "show": time.time()}, gr.skip()]

    checking = access.guard(Action.FORM, check, lambda _: [gr.skip()] * 3)  # a page that only watches asks, and in vain
    estimating = access.guard(Action.FORM, estimate, lambda _: gr.skip())
    opening = access.guard(Action.WATCH, choose_at_load)

    edits = [component.input for component in fields.values()]
    # Gradio's Textbox tells of pressed keys only: what is pasted or deleted is noticed when the field is left
    edits += [component.blur for component in fields.values() if isinstance(component, gr.Textbox)]
    gr.on([*edits, view.input], checking, form_inputs, [notes, start, text], trigger_mode="always_last", **quiet)
    gr.on([*edits, text.change], estimating, form_inputs, needs, trigger_mode="always_last", **quiet)
    uploaded = prompts_part.connect(prompts, preview, form_inputs, read, outputs, service, access)
    uploaded.then(checking, form_inputs, [notes, start, text], **quiet)
    preset.input(access.guard(Action.FORM, choose), preset, filled, **quiet)
    pressed = access.guard(Action.START, start_run, not_started)
    start.click(pressed, [view, *form_inputs], [view, notes, start], trigger_mode="once", **quiet)
    use_text.click(access.guard(Action.FORM, use), [text, *form_inputs], filled, **quiet)
    demo.load(opening, None, filled, **quiet).then(estimating, form_inputs, needs, **quiet)

    def recheck(event: Any) -> None:
        event.then(checking, form_inputs, [notes, start, text], **quiet)

    return Train(filled, outputs, fields, recheck)


def _controls(
    first: RunConfig, values: dict[str, Any], outputs: Path, access: Access
) -> tuple[gr.Dropdown, gr.HTML, dict[str, Any], prompts_part.Part, gr.Textbox, gr.Button]:
    """The form. Returns preset picker, story, the fields in the order of form.FIELDS, what is around the prompts, the
    YAML text and its button."""
    made: dict[str, Any] = {}
    preset = gr.Dropdown(
        _preset_choices(access.limits),
        value=catalog.DEFAULT_PRESET,
        label="Experiment",
        elem_id="preset",
        allow_custom_value=True,
    )
    story = components.widget("story", _story(first), elem_id="story")
    gr.HTML("<h2>Basic</h2>", elem_classes=["group-title"], apply_default_css=False)
    made["model.source"] = needs_part.model_picker(
        values["model.source"], outputs, dom_id("model.source"), access.limits
    )
    prompts = prompts_part.controls(values, outputs, dom_id, access.limits)
    made |= prompts.fields
    made["rewards"] = reward_picker.picker(values["rewards"], outputs, access, place="train", elem_id=dom_id("rewards"))
    with gr.Accordion(form.LABELS["judges"], open=False, elem_classes=["group"]):
        made["judges"] = reward_picker.picker(
            values["judges"], outputs, access, place="judges", elem_id=dom_id("judges")
        )
    for field in BASIC_NUMBERS:
        made[field] = _control(field, values)
    gr.HTML("<h2>Advanced</h2>", elem_classes=["group-title"], apply_default_css=False)
    for title, names in GROUPS.items():
        with gr.Accordion(title, open=False, elem_classes=["group"]):
            for field in names:
                made[field] = _control(field, values)
                if field == ENGINE_HELP_AFTER:
                    components.widget("engine_help", _about_trl(), elem_id="engine-help")
    with gr.Accordion("Name, seed, and all of it as text", open=False, elem_classes=["group"]):
        made["name"] = gr.Textbox(
            values["name"], label="Run name", info="The run's folder is named after it.", elem_id=dom_id("name")
        )
        made["seed"] = _control("seed", values)
        text = gr.Textbox(
            first.to_yaml(),
            label="Configuration (YAML)",
            info="What a run would start with now. `python -m playground train FILE` takes the same text.",
            lines=10,
            max_lines=16,
            elem_id="yaml",
        )
        use_text = gr.Button("Put this text into the form", size="sm", elem_id="use-yaml")
    return preset, story, {field: made[field] for field in form.FIELDS}, prompts, text, use_text


def _about_trl() -> dict[str, Any]:
    """What static/engine_help.js tells of TRL's engine: how it differs, or why it cannot be chosen here."""
    return {
        "absent": engines.availability(),
        "differences": [{"title": item.title, "sentence": item.sentence} for item in engines.DIFFERENCES],
    }


def _control(field: str, values: dict[str, Any]) -> Any:
    """The control that a field's metadata asks for: a knob for numbers, radio buttons for choices, else a text."""
    knob = form.KNOBS[field]
    if field == "device":
        return needs_part.device_picker(values[field], dom_id(field))
    options = form.options_of(field)
    if options:
        choices = [(form.option_label(option), option) for option in options]
        return gr.Radio(choices, value=values[field], label=knob["label"], info=knob["help"], elem_id=dom_id(field))
    if form.is_switch(field):
        return gr.Checkbox(values[field], label=knob["label"], info=knob["help"], elem_id=dom_id(field))
    if form.is_list(field):
        return gr.Textbox(
            values[field], label=knob["label"], info=knob["help"], placeholder="one a line", lines=2, max_lines=12,
            elem_id=dom_id(field),
        )  # fmt: skip
    if form.is_text(field):
        return gr.Textbox(values[field], label=knob["label"], info=knob["help"], elem_id=dom_id(field))
    return components.widget(
        "knob", values[field], elem_id=dom_id(field), knob={"field": field, **form.knob_data(field)}
    )


def dom_id(field: str) -> str:
    """The element id of a field's control; static/notes.js finds the control by it."""
    return "field-" + field.replace(".", "-")


def filled_from(chosen: Any, outputs: Path, capped: Limits = LIMITS["local"]) -> Filled:
    """The form filled from a preset (or from a run, as "run:<id>"); what is unknown is said and changes nothing."""
    try:
        base = base_of(chosen, outputs)
    except PlaygroundError as error:
        skip = [gr.skip() for _ in form.FIELDS]
        notes = {"problems": [{"field": "preset", "label": "Experiment", "message": _only_messages(error)}],
                 "differences": [], "marks": {}, "about": {}}  # fmt: skip
        return Filled(gr.skip(), gr.skip(), skip, notes, starting.button_with_problems(1), gr.skip())
    values = form.values_of(base)
    label = starting.button(base, outputs)
    return Filled(
        gr.Dropdown(choices=_preset_choices(capped, chosen), value=chosen),
        _story(base),
        [values[field] for field in form.FIELDS],
        _notes(base, base, []),
        label,
        base.to_yaml(),
    )


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
        config = config_io.from_dict(config_io.parse_yaml(yaml_text))
        limits.require(config, capped, outputs)
        checks.check(config, outputs)
        base = base_of(chosen, outputs)
    except PlaygroundError as error:
        problems = error.problems if isinstance(error, InvalidConfig) else [Problem("", str(error))]
        notes = {**_as_dict(old_notes), "problems": _problems(problems)}
        skip = [gr.skip() for _ in form.FIELDS]
        return Filled(gr.skip(), gr.skip(), skip, notes, starting.button_with_problems(len(problems)), gr.skip()).flat()
    new_values = form.values_of(config)
    return Filled(
        gr.skip(),
        _story(config),
        [new_values[field] for field in form.FIELDS],
        _notes(config, base, []),
        starting.button(config, outputs),
        config.to_yaml(),
    ).flat()


def checked(
    chosen: Any, old_notes: Any, values: tuple[Any, ...], outputs: Path, capped: Limits = LIMITS["local"]
) -> tuple[dict[str, Any], Any, Any]:
    """Notes, start button and YAML for the form as it is now."""
    try:
        base, config = _read(chosen, old_notes, values, outputs, capped)
    except InvalidConfig as error:
        notes = {**_as_dict(old_notes), "problems": _problems(error.problems)}
        return notes, starting.button_with_problems(len(error.problems)), gr.skip()
    except PlaygroundError as error:
        notes = {**_as_dict(old_notes), "problems": _problems([Problem("preset", str(error))])}
        return notes, starting.button_with_problems(1), gr.skip()
    return _notes(config, base, []), starting.button(config, outputs), config.to_yaml()


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
        notes, button, _ = checked(chosen, old_notes, values, outputs, access.limits)
        return gr.skip(), {**notes, "show": time.time()}, button
    request = starting.request(asked, config)._replace(visitor=str(caller.visitor), mode=access.mode)
    try:
        with quota.admitted(request, access, caller, outputs):
            run, _ = launcher.start(config, outputs, spawn=standby.worker_for, request=request)
    except PlaygroundError as error:
        return _view(None), _notes(config, base, [Problem("", str(error))]), starting.button_with_problems(1)
    return _view(run.id), _notes(config, base, []), starting.button(config, outputs)


def base_of(chosen: Any, outputs: Path) -> RunConfig:
    """The configuration that the form is compared with.

    Raises:
        InvalidConfig, RunNotFound: for a preset or run that is not there.
    """
    name = str(chosen or "")
    if name.startswith(RUN_PREFIX):
        return history.find_run(outputs, name.removeprefix(RUN_PREFIX)).config()
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
    return base, form.config_of(dict(zip(form.FIELDS, values, strict=True)), told, outputs, capped)


def _read_without_disk(chosen: Any, values: tuple[Any, ...], outputs: Path) -> RunConfig:
    return form.without_disk(dict(zip(form.FIELDS, values, strict=True)), base_of(chosen, outputs))


def _notes(config: RunConfig, base: RunConfig, problems: list[Problem]) -> dict[str, Any]:
    return {
        "problems": _problems(problems),
        "differences": [item._asdict() for item in form.differences_in_words(config, base)],
        "marks": {field: value for field, value in form.values_of(base).items() if field not in form.REWARD_LISTS},
        "about": config.about.model_dump(),
    }


def _problems(problems: list[Problem]) -> list[dict[str, str]]:
    return [
        {"field": problem.field, "label": form.label_of(problem.field), "message": problem.message}
        for problem in problems
    ]


def _story(config: RunConfig) -> dict[str, str]:
    return {"story": config.about.story, "expect": config.about.expect}


def _view(run_id: str | None) -> dict[str, Any]:
    """What the run view shows next, or that this start has been answered: static/run_view.js names the next one."""
    return {"run": run_id, "at": time.time()}


def _preset_choices(capped: Limits, chosen: Any = None) -> list[tuple[str, str]]:
    names = [*catalog.preset_names(), *catalog.model_preset_names()]
    if capped.pocket_only:
        names = [name for name in names if not limits.check(catalog.preset(name), capped)]
    choices = [(catalog.preset(name).about.title or name, name) for name in names]
    if isinstance(chosen, str) and chosen.startswith(RUN_PREFIX):
        choices.append((f"Settings of {chosen.removeprefix(RUN_PREFIX)}", chosen))
    return choices


def _as_dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _only_messages(error: PlaygroundError) -> str:
    return " ".join(item.message for item in error.problems) if isinstance(error, InvalidConfig) else str(error)
