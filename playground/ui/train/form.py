"""The form's values <-> RunConfig, and what differs from the preset, as pure functions; knows nothing of gradio.

A form value is what a browser can hold: numbers, texts, for the rewards a list of plain dictionaries; "" for no value.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

from playground.config import RunConfig, differences, engines, flatten, knobs, methods
from playground.errors import InvalidConfig, PlaygroundError, Problem
from playground.setup import admission, describe, limits
from playground.setup.limits import LIMITS, Limits
from playground.ui.payloads.check import CheckedPartData, Part
from playground.ui.payloads.form import ChangeData, DifferenceData, KnobData, NotesData, ProblemData, StoryData
from playground.ui.train import reward_form

KNOBS = {field: knob for field, knob in knobs().items() if field != "engine" or not engines.availability()}
OPTION_LABELS = {
    "trl": "TRL",
    "sum": "Sum",
    "min": "Min",
    **{name: method.label for name, method in methods.METHODS.items()},
}
REWARD_LISTS = describe.REWARD_LISTS
FIELD = re.compile(r"\b[a-z_]+(?:\.[a-z_]+)+\b|\bmax_minutes\b")
BEHAVIOURS = "behaviours"
TYPED = "prompts.typed"  # a prompt may have several lines, a dialogue always has
LISTS = (*REWARD_LISTS, BEHAVIOURS)
PLAIN = {
    "kl.coef": "The score that each step away from its old self costs.",
    "kl.target": "How far from its old self the model should end up.",
}
FIELDS = ("name", *LISTS, *KNOBS)
LABELS = {
    "preset": "Experiment",
    "name": "Run name",
    "rewards": "Reward",
    "judges": "Monitors (not trained on)",
    BEHAVIOURS: "Behaviours to count",
    **{field: knob["label"] for field, knob in knobs().items()},
}


class Form(NamedTuple):
    """The form as a browser sends it: what it began with, what was last said of it, and its values by field."""

    chosen: Any
    notes: Mapping[str, Any]
    values: dict[str, Any]


class FormUpdate(NamedTuple):
    """What an answer puts into the form; None, or a field that is not among the values, leaves a part as it is."""

    preset: str | None = None
    story: StoryData | None = None
    values: Mapping[str, Any] = {}
    notes: NotesData | None = None
    start: str | None = None  # the words of the button
    text: str | None = None


def values_of(config: RunConfig) -> dict[str, Any]:
    """A configuration as form values, one for each of FIELDS."""
    flat = flatten(config)
    return {field: _to_form(field, flat[field]) for field in FIELDS}


def config_of(
    values: Mapping[str, Any], base: RunConfig, outputs: Path | None = None, capped: Limits = LIMITS["local"]
) -> RunConfig:
    """Form values -> a valid configuration; what the form does not show comes from `base`. Raises: as `valid`."""
    return valid(nested(values, base.model_dump(mode="json")), base, outputs, capped)


def valid(
    data: dict[str, Any], base: RunConfig, outputs: Path | None = None, capped: Limits = LIMITS["local"]
) -> RunConfig:
    """Plain data -> a configuration that may be started here, made from `base`.

    Raises: InvalidConfig, with every problem at once, each naming its field.
    """
    problems: list[Problem] = []
    unchanged = base.model_dump(mode="json")
    try:
        config = limits.built(data, capped, outputs)
    except InvalidConfig as error:
        problems = error.problems
    wrong = {_group(problem) for problem in problems}  # the base's instead, so that the disk is asked about the rest
    try:
        if wrong:
            sound_parts = {
                group: unchanged[group] if group in wrong else data[group] for group in data.keys() & unchanged
            }
            config = limits.built(sound_parts, capped, outputs)
        admission.check(config, outputs, capped)
    except InvalidConfig as error:
        problems = [*problems, *(problem for problem in error.problems if _group(problem) not in wrong)]
    if problems:
        raise InvalidConfig(problems)
    return config


def nested(values: Mapping[str, Any], data: dict[str, Any] | None = None) -> dict[str, Any]:
    """Some form values as plain configuration data, put into `data` if that is given."""
    if data is None:
        data = {}
    for field, value in values.items():
        put(data, field, _from_form(field, value))
    return data


def put(data: dict[str, Any], field: str, value: Any) -> None:
    """Set a dotted field of plain configuration data."""
    *groups, name = field.split(".")
    for group in groups:
        data = data.setdefault(group, {})
    data[name] = value


def differences_in_words(config: RunConfig, base: RunConfig) -> list[DifferenceData]:
    """What a person changed: {field, label, before, after}, the value in the preset and the value now."""
    changed = differences(config, base).items()
    words = ((field, *(describe.in_words(field, value) for value in values)) for field, values in changed)
    return [
        {"field": field, "label": LABELS.get(field, field), "before": before, "after": after}
        for field, before, after in words
    ]


def change(config: RunConfig, base: RunConfig) -> ChangeData | None:
    """What to set in a form that holds `base` to have `config`: {differences, values}; None if they are the same."""
    values = values_of(config)
    changes = [item for item in differences_in_words(config, base) if item["field"] in values]
    if changes:
        return {"differences": changes, "values": {item["field"]: values[item["field"]] for item in changes}}
    return None


def unit_of(field: str, score_unit: str = "sd") -> str:
    """The unit of a number in the form; empty for all else. `score_unit`: of the run's score."""
    unit = str(KNOBS.get(field, {}).get("unit", ""))
    return unit.replace("sd of score", f"{score_unit} of score")


def label_of(field: str) -> str:
    """A field's name for a person; unknown keys keep their own."""
    if field in LABELS:
        return LABELS[field]
    group, *own = field.split(".")
    if group not in LISTS:
        return field
    index = 2 if group == BEHAVIOURS else 1  # behind the number, and there behind `measure`
    name = own[index] if len(own) > index else ""
    if name in reward_form.OWN_FIELDS:
        return f"{LABELS[group]}, {reward_form.OWN_FIELDS[name][0]}"
    return LABELS[group]


def with_labels(sentence: str) -> str:
    """A sentence that names settings by their dotted fields, as the page tells it: by the names in the form."""

    def called(match: re.Match[str]) -> str:
        label, after = LABELS.get(match[0]), sentence[match.end() :]
        begins = sentence[: match.start()][-1:] in ("", "\n") and after[:1] == ":"
        if label is None or re.match(r":\S", after):  # as it is written in an address
            return match[0]
        if begins:
            return label
        return f"\u201c{label}\u201d"

    return FIELD.sub(called, sentence)


def message_of(error: PlaygroundError) -> str:
    """An error in the words of the form; of an invalid configuration its first problem."""
    if not isinstance(error, InvalidConfig):
        return with_labels(str(error))
    first = error.problems[0]
    message = with_labels(first.message)
    if first.field:
        return f"{label_of(first.field)}: {message}"
    return message


def as_dict(value: Any) -> Mapping[str, Any]:
    """What came back from a browser, if it is a dictionary; else an empty one."""
    if isinstance(value, dict):
        return value
    return {}


def entry(value: Any, name: str) -> Any:
    """An entry of what came from a browser; None where there is none."""
    return as_dict(value).get(name)


def failed(message: str, part: Part) -> CheckedPartData:
    """What a part of the check shows where it got no answer; each time another one, so that it is shown again."""
    return {"part": part, "state": "error", "message": message, "at": time.time()}


def problem_data(problems: Iterable[Problem]) -> list[ProblemData]:
    """Problems for the page to show, each beside its field."""
    return [
        {"field": problem.field, "label": label_of(problem.field), "message": with_labels(problem.message)}
        for problem in problems
    ]


def types_of(field: str) -> tuple[Any, ...]:
    """The annotation of a field, and what it is made of."""
    part: Any = RunConfig
    for name in field.split("."):
        part = part.model_fields[name].annotation
    return (part, *get_args(part))


def options_of(field: str) -> list[str]:
    """The values of a field that has a closed list of them."""
    return [item for part in types_of(field) for item in get_args(part) if isinstance(item, str)]


def option_label(option: str) -> str:
    """An option for reading: words get a capital letter; short names such as `k1` and `bf16` stay as they are."""
    if option in OPTION_LABELS:
        return OPTION_LABELS[option]
    words = option.replace("_", " ")
    if len(option) > 3 and words.replace(" ", "").isalpha():
        return words.capitalize()
    return option


def kind_of(field: str) -> Literal["choice", "switch", "list", "text", "number"]:
    """What a field holds; a list is one text a line in the form."""
    types = types_of(field)
    if options_of(field):
        return "choice"
    if bool in types:
        return "switch"
    if any(get_origin(part) is tuple for part in types):
        return "list"
    if str in types:
        return "text"
    return "number"


def knob_data(field: str) -> KnobData:
    """What static/core/knob.js needs to draw a number. `plain`: simpler words, where the help is exact."""
    types = types_of(field)
    return {
        **drawn(field, KNOBS[field], optional=type(None) in types),
        "live": KNOBS[field]["live"],
        "plain": PLAIN.get(field, ""),
        "whole": int in types,
    }


def drawn(field: str, knob: Mapping[str, Any], *, optional: bool) -> KnobData:
    """What a number is drawn with, of the form or of another configuration."""
    return {
        "field": field,
        "label": knob["label"],
        "help": knob["help"],
        "low": knob["low"],
        "high": knob["high"],
        "unit": knob["unit"],
        "slider": knob["slider"],
        "log": knob["log"],
        "optional": optional,
    }


def _group(problem: Problem) -> str:
    return problem.field.partition(".")[0]


def _to_form(field: str, value: Any) -> Any:
    if field in REWARD_LISTS:
        return [reward_form.reward_values(reward) for reward in value]
    if field == BEHAVIOURS:
        return reward_form.behaviour_values(value)
    if field == TYPED:
        return "\n".join(text.replace("\\", "\\\\").replace("\n", "\\n") for text in value or ())
    if kind_of(field) == "list":
        return "\n".join(value or ())
    if isinstance(value, dict) and value:
        return describe.in_words(field, value)
    if value is None or isinstance(value, dict):
        return ""
    return value


def _from_form(field: str, value: Any) -> Any:
    if field in REWARD_LISTS:
        return reward_form.reward_data(value)
    if field == BEHAVIOURS:
        return reward_form.behaviour_data(value)
    if kind_of(field) == "list" and isinstance(value, str):
        lines = [line.strip() for line in value.splitlines() if line.strip()]
        if field == TYPED:
            lines = [re.sub(r"\\(n|\\)", lambda match: "\n" if match[1] == "n" else "\\", line) for line in lines]
        if not lines and type(None) in types_of(field):
            return None
        return lines
    if isinstance(value, str) and not value.strip():
        return None
    return value
