"""The form at the left of the Train page: which control a field gets, and where it stands.

A field that the configuration gains shows up by itself, in the group that its name asks for. `train_page` connects it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr

from playground.config import RunConfig, engines
from playground.setup import catalog, describe, expected, limits
from playground.setup.limits import Limits
from playground.ui import components
from playground.ui.door.access import Access
from playground.ui.train import form, needs_part, prompts_part, reward_picker

RUN_PREFIX = "run:"  # a preset choice that means "the settings of that run"
BASIC_NUMBERS = ("kl.coef", "ppo.learning_rate", "ppo.num_updates")
PLACED = ("method", "model.source", *prompts_part.FIELDS, *BASIC_NUMBERS, "seed")  # `lay_out` puts these where they are
GROUP_PREFIXES = {
    "Models and reference": ("device", "ranks", "model.", "reference."),
    "More training settings": ("engine", "ppo.", "dpo.", "steering."),
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
ENGINE_HELP_AFTER = "engine" if "engine" in form.KNOBS else GROUPS["More training settings"][0]


class Controls(NamedTuple):
    """The form: the preset picker, its story, the fields in the order of `form.FIELDS`, what is around the prompts, the
    YAML text and its button."""

    preset: gr.HTML
    story: gr.HTML
    fields: dict[str, Any]
    prompts: prompts_part.PromptsPart
    text: gr.Textbox
    use_text: gr.Button


def lay_out(first: RunConfig, values: dict[str, Any], outputs: Path, access: Access) -> Controls:
    """The form, filled with the values of `first`."""
    made: dict[str, Any] = {}
    preset = components.widget(
        "train/preset", catalog.DEFAULT_PRESET, elem_id="preset", groups=preset_groups(access.limits), steps=steps()
    )
    story = components.widget("train/story", story_of(first), elem_id="story")
    for field in BASIC_NUMBERS:  # what to play with first
        made[field] = control(field, values)
    gr.HTML("<h2>Model, prompts, reward</h2>", elem_classes=["group-title"], apply_default_css=False)
    made["method"] = control("method", values)
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
    with gr.Accordion(form.LABELS[form.BEHAVIOURS], open=False, elem_classes=["group"]):
        made[form.BEHAVIOURS] = reward_picker.behaviours(
            values[form.BEHAVIOURS], outputs, access, elem_id=dom_id(form.BEHAVIOURS)
        )
    gr.HTML("<h2>Advanced</h2>", elem_classes=["group-title"], apply_default_css=False)
    for title, names in GROUPS.items():
        with gr.Accordion(title, open=False, elem_classes=["group"]):
            for field in names:
                made[field] = control(field, values)
                if field == ENGINE_HELP_AFTER:
                    components.widget("train/engine_help", _about_trl(), elem_id="engine-help")
    with gr.Accordion("Name, seed, and all of it as text", open=False, elem_classes=["group"]):
        made["name"] = gr.Textbox(
            values["name"],
            label="Run name",
            info="What the run is called everywhere; its folder is named after it.",
            elem_id=dom_id("name"),
        )
        made["seed"] = control("seed", values)
        text = gr.Textbox(
            first.to_yaml(),
            label="Configuration (YAML)",
            info="What a run would start with now. `python -m playground train FILE` takes the same text.",
            lines=10,
            max_lines=16,
            elem_id="yaml",
        )
        use_text = gr.Button("Put this text into the form", size="sm", elem_id="use-yaml")
    fields = {field: made[field] for field in form.FIELDS}
    return Controls(preset, story, fields, prompts, text, use_text)


def _about_trl() -> dict[str, Any]:
    """What static/train/engine_help.js tells of TRL's engine: how it differs, or why it cannot be chosen here."""
    return {
        "absent": engines.availability(),
        "differences": [{"title": item.title, "sentence": item.sentence} for item in engines.DIFFERENCES],
    }


def control(field: str, values: dict[str, Any]) -> Any:
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
        "core/knob", values[field], elem_id=dom_id(field), knob={"field": field, **form.knob_data(field)}
    )


def dom_id(field: str) -> str:
    """The element id of a field's control; static/train/notes.js finds the control by it."""
    return "field-" + field.replace(".", "-")


def preset_groups(capped: Limits) -> list[tuple[str, list[tuple[str, str]]]]:
    """What may be chosen here, by what it takes: (title, [(name, label)]). Those of the story have a number."""
    numbers = {step["preset"]: f"{step['number']}. " for step in steps()}
    groups = catalog.preset_groups()
    if capped.pocket_only:
        groups = {
            title: [name for name in names if not limits.check(catalog.preset(name), capped)]
            for title, names in groups.items()
        }
    return [
        (title, [(name, numbers.get(name, "") + (catalog.preset(name).about.title or name)) for name in names])
        for title, names in groups.items()
        if names
    ]


@functools.cache
def steps() -> list[dict[str, Any]]:
    """The experiments of the story in their order, for core/experiments.js."""
    return [
        {
            "number": step.number,
            "title": catalog.preset(step.preset).about.title,
            "preset": step.preset,
            "against": step.against,
            "look": step.look,
        }
        for step in catalog.story()
    ]


def story_of(config: RunConfig, settings_of: str = "") -> dict[str, str]:
    """What the form's settings are, let one expect and came to, for static/train/story.js.

    Args:
        settings_of: the run that they have just been taken from, as it is called.
    """
    told = describe.of(config)
    story = told.line(config.about.title)
    measured = expected.line(told.preset)
    return {"preset": told.preset, "story": story, "expect": told.expect, "measured": measured,
            "settings_of": settings_of}  # fmt: skip
