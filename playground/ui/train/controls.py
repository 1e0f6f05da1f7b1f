"""The form at the left of the Train page: which control a field gets, and where it is. At first it shows the
experiment, the leash and Start; "All settings" the rest. A field that the configuration gains shows up by itself, in
the group that its name asks for."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr

from playground.models import real_model
from playground.setup import catalog, limits
from playground.setup.limits import Limits
from playground.ui import components
from playground.ui.auth import uploads
from playground.ui.auth.access import Access, Action
from playground.ui.payloads.page import StepData
from playground.ui.train import filling, form, form_parts, real_model_part
from playground.ui.train.form import Form, FormUpdate

LEASH = "kl.coef"
BASIC_NUMBERS = ("ppo.learning_rate", "ppo.num_updates")
PLACED = ("method", "model.source", *form_parts.PROMPT_FIELDS, LEASH, *BASIC_NUMBERS, "seed")  # by `lay_out`
GROUP_PREFIXES = {
    "Models and reference": ("device", "ranks", "shard", "model.", "reference."),
    "More training settings": ("engine", "ppo.", "dpo.", "steering."),
    "More leash (KL) settings": ("kl.",),
    "Sampling and score": ("sampling.", "score."),
    "Prompts, evaluation, checkpoints, end": ("prompts.", "evaluation.", "checkpoint.", "stop.", "max_minutes"),
}
OTHER = "Other settings"
TEXT_GROUP = "Name, seed and text (YAML)"
NAME_INFO = "What the run is called everywhere; its folder is named after it."
TEXT_INFO = "What a run would start with now. `python -m playground train FILE` takes the same text."


def groups_of(fields: Iterable[str]) -> dict[str, list[str]]:
    """Accordion title -> its fields, by their names alone, so that a field that config gains shows up by itself."""
    groups: dict[str, list[str]] = {title: [] for title in (*GROUP_PREFIXES, OTHER)}
    for field in fields:
        if field not in PLACED:
            titles = (title for title, prefixes in GROUP_PREFIXES.items() if field.startswith(prefixes))
            groups[next(titles, OTHER)].append(field)
    return {title: names for title, names in groups.items() if names}


GROUPS = groups_of(form.KNOBS)
GROUP_OF = {field: title for title, fields in GROUPS.items() for field in fields} | {
    "name": TEXT_GROUP,
    "seed": TEXT_GROUP,
    "judges": form.LABELS["judges"],
    form.BEHAVIOURS: form.LABELS[form.BEHAVIOURS],
}  # for static/train/notes.js, which opens it


class Controls(NamedTuple):
    """Gradio's components of the form, and the one place where a `Form` is read from them, a `FormUpdate` put there."""

    preset: gr.HTML
    story: gr.HTML
    all_settings: gr.Accordion
    fields: dict[str, Any]
    upload: gr.UploadButton
    uploaded: gr.HTML
    text: gr.Textbox
    use_text: gr.Button
    needs: gr.HTML
    real_model: gr.HTML | None  # what gets it, on one's own page
    notes: gr.HTML
    start: gr.Button

    @property
    def inputs(self) -> list[Any]:
        """What `sent` reads."""
        return [self.preset, self.notes, *self.fields.values()]

    def sent(self, chosen: Any, notes: Any, *values: Any) -> Form:
        """The form as Gradio gives the values of `inputs`."""
        return Form(chosen, form.as_dict(notes), dict(zip(self.fields, values, strict=True)))

    @property
    def said(self) -> list[Any]:
        """What a check of the form changes."""
        return [self.notes, self.story, self.start, self.text]

    @property
    def outputs(self) -> list[Any]:
        """All that an update may change."""
        return [self.preset, self.story, *self.fields.values(), self.notes, self.start, self.text]

    def shown(self, update: FormUpdate) -> dict[Any, Any]:
        """Gradio's values by component."""
        parts = update._asdict().items()
        values = {getattr(self, part): value for part, value in parts if part != "values" and value is not None}
        return values | {self.fields[name]: value for name, value in update.values.items()}


def lay_out(outputs: Path, access: Access) -> Controls:
    """The form, filled with the default preset."""
    first = filling.filled_from(catalog.DEFAULT_PRESET, outputs)
    controls: dict[str, Any] = {}

    def add(*names: str) -> None:
        for name in names:
            controls[name] = control(name, first.values[name])

    def add_list(name: str, make: Any, **options: Any) -> None:
        controls[name] = make(first.values[name], outputs, access, elem_id=dom_id(name), **options)

    groups = preset_groups(access.limits)
    offered = {name for _, choices in groups for name, _ in choices}
    stories = [step for step in steps() if step["preset"] in offered]
    preset = components.widget("train/preset", first.preset, elem_id="preset", groups=groups, steps=stories)
    story = components.widget("train/story", first.story, elem_id="story")
    add(LEASH)  # what to play with first
    # train/all_settings.js opens it
    with gr.Accordion("All settings", open=False, elem_id="more-settings") as all_settings:
        add(*BASIC_NUMBERS)
        gr.HTML("<h2>Model, prompts, reward</h2>", elem_classes=["group-title"], apply_default_css=False)
        add("method")
        source = "model.source"
        models = form_parts.model_choices(outputs, access.limits)
        other = "" if access.limits.pocket_only else form_parts.OTHER_MODEL
        controls[source] = choice(source, first.values[source], models, other, help="")
        _real_model("list", access)
        prompts, upload, uploaded = _prompts(first.values, outputs, access.limits)
        controls |= prompts
        add_list("rewards", form_parts.reward_picker, place="train")
        with _group(form.LABELS["judges"]):
            add_list("judges", form_parts.reward_picker, place="judges")
        with _group(form.LABELS[form.BEHAVIOURS]):
            add_list(form.BEHAVIOURS, form_parts.behaviours_picker)
        gr.HTML("<h2>Advanced</h2>", elem_classes=["group-title"], apply_default_css=False)
        for title, names in GROUPS.items():
            with _group(title):
                add(*names)
        with _group(TEXT_GROUP):
            controls["name"] = gr.Textbox(first.values["name"], **_words("name"))
            add("seed")
            text = gr.Textbox(
                first.text, label="Configuration (YAML)", info=TEXT_INFO, lines=10, max_lines=16, elem_id="yaml"
            )
            use_text = gr.Button("Put this text into the form", size="sm", elem_id="use-yaml")
    with gr.Column(elem_id="start-bar"):
        notes = components.widget(
            "train/notes", {**(first.notes or {}), "coming": True}, elem_id="notes", groups=GROUP_OF
        )
        real = _real_model("start", access)
        start = gr.Button(filling.START, variant="primary", elem_id="start")
        needs = components.widget("train/needs", None, elem_id="needs")
        components.widget("train/all_settings", None, elem_id="all-settings")
    fields = {field: controls[field] for field in form.FIELDS}
    return Controls(preset, story, all_settings, fields, upload, uploaded, text, use_text, needs, real, notes, start)


def _prompts(values: Mapping[str, Any], outputs: Path, capped: Limits) -> tuple[Any, ...]:
    """The picker and what belongs to the chosen kind of source, by field; the button to upload; what is said of that.
    Everybody gets the same, so on a page for others it does not list what has been uploaded before."""
    source, typed, subset, split, column = form_parts.PROMPT_FIELDS
    controls: dict[str, Any] = {}
    with gr.Column(elem_id="prompts-part"):
        offered = form_parts.prompt_choices(outputs if capped.mode == "local" else None)
        other = "" if capped.pocket_only else form_parts.OTHER_PROMPTS
        controls[source] = choice(source, values[source], offered, other, help="")
        with gr.Column(elem_classes=["for-typed"]):
            words = _words(typed, info="One a line; \\n stands for a line break inside a prompt.")
            example = "A prompt\nAnother prompt"
            controls[typed] = gr.Textbox(values[typed], placeholder=example, lines=4, max_lines=14, **words)
        with gr.Column(elem_classes=["for-dataset"]):
            controls |= {field: gr.Textbox(values[field], **_words(field)) for field in (subset, split)}
        with gr.Column(elem_classes=["for-columns"]):
            controls[column] = choice(column, values[column], [], "its name")
        upload = gr.UploadButton("Upload a file", file_types=uploads.FILE_TYPES, size="sm", min_width=120)
        note = components.widget("train/prompts", {}, elem_id="prompts-note", limit=capped.upload_bytes)
    return controls, upload, note


def _real_model(place: str, access: Access) -> gr.HTML | None:
    """What gets the real model: in the place of Start where a run needs it, and beside the list of models."""
    if access.mode != "local":
        return None
    groups = dict(preset_groups(access.limits))
    first = [{"preset": name, "title": title} for name, title in groups.get(catalog.REAL_GROUP, [])]
    functions: list[Any] = []
    if place == "start":
        functions = real_model_part.Getting().functions()
    return components.widget(
        "train/real_model",
        None,
        elem_id=f"real-model-{place}",
        place=place,
        name=real_model.NAME,
        first=next(iter(first), None),
        server_functions=access.guard_all(Action.GET_MODEL, functions),
    )


def _group(title: str) -> gr.Accordion:
    return gr.Accordion(title, open=False, elem_classes=["group"])


def _words(field: str, **options: Any) -> dict[str, Any]:
    """Label, help and id of a field's control."""
    info = NAME_INFO if field == "name" else form.KNOBS[field]["help"]
    return {"label": form.LABELS[field], "info": info, "elem_id": dom_id(field), **options}


def control(field: str, value: Any) -> Any:
    """The control that a field's metadata asks for: a knob for numbers, radio buttons for choices, else a text."""
    if field == "device":
        return choice(field, value, form_parts.device_choices(), "such as cuda:0,1")
    match form.kind_of(field):
        case "choice":
            options = [(form.option_label(option), option) for option in form.options_of(field)]
            return gr.Radio(options, value=value, **_words(field))
        case "switch":
            return gr.Checkbox(value, **_words(field))
        case "list":
            return gr.Textbox(value, placeholder="one a line", lines=2, max_lines=12, **_words(field))
        case "text":
            return gr.Textbox(value, **_words(field))
    return components.widget("train/form_knob", value, elem_id=dom_id(field), knob=form.knob_data(field))


def choice(field: str, value: Any, choices: list[tuple[str, str]], other: str, help: str | None = None) -> gr.HTML:
    """A menu of (label, value) that takes other texts too; `help`: in the place of the setting's own."""
    if help is None:
        help = form.KNOBS[field]["help"]
    return components.choice(value, choices, form.LABELS[field], dom_id(field), help=help, other=other)


def dom_id(field: str) -> str:
    """The element id of a field's control; static/train/notes.js finds the control by it."""
    return "field-" + field.replace(".", "-")


def preset_groups(capped: Limits) -> list[tuple[str, list[tuple[str, str]]]]:
    """What may be chosen here, by what it takes: (title, [(name, label)]). Those of the story have a number."""
    numbers = {step["preset"]: f"{step['number']}. " for step in steps()}
    groups = []
    for title, names in catalog.preset_groups().items():
        if capped.pocket_only:
            names = [name for name in names if not limits.check(catalog.preset(name), capped)]
        labels = [(name, numbers.get(name, "") + (catalog.preset(name).about.title or name)) for name in names]
        if labels:
            groups.append((title, labels))
    return groups


@functools.cache
def steps() -> list[StepData]:
    """The experiments of the story in their order, for core/experiments.js."""
    return [
        {
            "title": catalog.preset(step.preset).about.title,
            "number": step.number,
            "preset": step.preset,
            "against": step.against,
            "look": step.look,
        }
        for step in catalog.in_story()
    ]
