"""The form's values <-> RunConfig, and what differs from the preset, as pure functions.

A form value is what a browser can hold: numbers, texts, and for the rewards a list of plain dictionaries. An empty
text stands for "no value". Knows the configuration and the catalog; nothing of gradio. `train_page` calls it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin

from playground.config import RunConfig, differences, engines, flatten, knobs, methods
from playground.errors import InvalidConfig, Problem
from playground.setup import checks, describe, limits
from playground.setup.estimates import disk
from playground.setup.limits import LIMITS, Limits
from playground.ui.train import reward_form


def shown(all_knobs: Mapping[str, dict[str, Any]], choices: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The knobs that the form shows: all of them, but the engine only where there is a choice."""
    return {field: knob for field, knob in all_knobs.items() if field != "engine" or len(choices) > 1}


ENGINES = [name for name in get_args(RunConfig.model_fields["engine"].annotation)
           if name != "trl" or not engines.availability()]  # fmt: skip
KNOBS = shown(knobs(), ENGINES)
OPTION_LABELS = {"trl": "TRL", **{name: method.label for name, method in methods.METHODS.items()}}
REWARD_LISTS = describe.REWARD_LISTS
FIELD = re.compile(r"\b[a-z_]+(?:\.[a-z_]+)+\b|\bmax_minutes\b")
BEHAVIOURS = "behaviours"
LISTS = (*REWARD_LISTS, BEHAVIOURS)
FIELDS = ("name", *LISTS, *KNOBS)
LABELS = {
    "name": "Run name",
    "rewards": "Reward",
    "judges": "Judges that only watch",
    BEHAVIOURS: "Behaviours that are counted",
    **{field: knob["label"] for field, knob in knobs().items()},
}


class ChangedSetting(NamedTuple):
    """One setting that is not as in the preset, in words."""

    field: str
    label: str
    before: str
    after: str


def values_of(config: RunConfig) -> dict[str, Any]:
    """A configuration as form values, one for each of FIELDS."""
    flat = flatten(config)
    values = {field: _as_text(field, flat[field]) for field in FIELDS if field not in LISTS}
    return {
        **values,
        BEHAVIOURS: reward_form.behaviour_values(flat[BEHAVIOURS]),
        **{field: [reward_form.reward_values(reward) for reward in flat[field]] for field in REWARD_LISTS},
    }


def config_of(
    values: Mapping[str, Any], base: RunConfig, outputs: Path | None = None, capped: Limits = LIMITS["local"]
) -> RunConfig:
    """Form values -> a valid configuration. What the form does not show (the story) comes from `base`.

    Args:
        outputs: where the runs are that a reference may name. capped: what the page allows.

    Raises:
        InvalidConfig: with every problem at once, each naming its field.
    """
    data = _data_of(values, base)
    problems: list[Problem] = []
    config = None
    try:
        config = limits.built(data, capped)
    except InvalidConfig as error:
        problems += error.problems
    problems += _missing_sources(data, config, base, {problem.field for problem in problems}, outputs, capped)
    if problems or config is None:
        raise InvalidConfig(problems)
    return config


def without_disk(values: Mapping[str, Any], base: RunConfig, capped: Limits = LIMITS["local"]) -> RunConfig:
    """Like `config_of`, but models and files that are not there are no problem.

    Raises:
        InvalidConfig: with every problem of the values themselves.
    """
    return limits.built(_data_of(values, base), capped)


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Some form values as plain configuration data, for what needs a part of the form only."""
    data: dict[str, Any] = {}
    for field, value in values.items():
        *groups, name = field.split(".")
        part = data
        for group in groups:
            part = part.setdefault(group, {})
        part[name] = _from_text(field, value)
    return data


def differences_in_words(config: RunConfig, base: RunConfig) -> list[ChangedSetting]:
    """What a person changed, as label, value in the preset, value now."""
    return [
        ChangedSetting(
            field, LABELS.get(field, field), describe.in_words(field, before), describe.in_words(field, after)
        )
        for field, (before, after) in differences(config, base).items()
    ]


def change(config: RunConfig, base: RunConfig) -> dict[str, Any] | None:
    """What would have to be set in a form that holds `base` to have `config`, for a part of the page that offers it:
    {differences, values}. None where they are the same."""
    found = [item for item in differences_in_words(config, base) if item.field in FIELDS]
    values = values_of(config)
    told = {
        "differences": [item._asdict() for item in found],
        "values": {item.field: values[item.field] for item in found},
    }
    return told if found else None


def unit_of(field: str) -> str:
    """The unit of a number in the form; empty for all else."""
    return str(KNOBS.get(field, {}).get("unit", ""))


def label_of(field: str) -> str:
    """A field's name for a person; unknown keys keep their own."""
    if field in LABELS:
        return LABELS[field]
    group, *own = field.split(".")
    if group not in LISTS:
        return field
    place = 2 if group == BEHAVIOURS else 1  # behind the number, and there behind `measure`
    name = own[place] if len(own) > place else ""
    return f"{LABELS[group]}, {reward_form.OWN_FIELDS[name][0]}" if name in reward_form.OWN_FIELDS else LABELS[group]


def with_labels(sentence: str) -> str:
    """A sentence that names settings by their dotted fields, as the page tells it: by the names in the form."""

    def called(found: re.Match[str]) -> str:
        label = LABELS.get(found[0])
        begins = sentence[: found.start()][-1:] in ("", "\n") and sentence[found.end() :][:1] == ":"
        return found[0] if label is None else label if begins else f"\u201c{label}\u201d"

    return FIELD.sub(called, sentence)


def options_of(field: str) -> list[str]:
    """The values of a field that has a closed list of them."""
    annotation = _annotation(field)
    found = [item for part in (annotation, *get_args(annotation)) for item in get_args(part)]
    return [item for item in found if isinstance(item, str)]


def option_label(option: str) -> str:
    """An option for reading: words get a capital letter; short names such as `k1` and `bf16` stay as they are."""
    if option in OPTION_LABELS:
        return OPTION_LABELS[option]
    words = option.replace("_", " ")
    return words.capitalize() if len(option) > 3 and words.replace(" ", "").isalpha() else option


def is_text(field: str) -> bool:
    """True for fields that hold a text of the person's own."""
    return str in (annotation := _annotation(field), *get_args(annotation))


def is_switch(field: str) -> bool:
    """True for fields that are on or off."""
    return bool in (annotation := _annotation(field), *get_args(annotation))


def knob_data(field: str) -> dict[str, Any]:
    """What static/core/knob.js needs to draw a number."""
    annotation = _annotation(field)
    return {
        **{key: KNOBS[field][key] for key in ("label", "help", "low", "high", "unit", "slider", "log")},
        "optional": type(None) in get_args(annotation),
        "whole": annotation is int or int in get_args(annotation),
    }


def _data_of(values: Mapping[str, Any], base: RunConfig) -> dict[str, Any]:
    """Form values as the data of a configuration; what the form does not show comes from `base`."""
    data = base.model_dump(mode="json")
    for field, value in values.items():
        if field in REWARD_LISTS:
            data[field] = reward_form.reward_data(value)
        elif field == BEHAVIOURS:
            data[field] = reward_form.behaviour_data(value)
        else:
            _set(data, field, _from_text(field, value))
    return data


def _annotation(field: str) -> Any:
    part: Any = RunConfig
    for name in field.split("."):
        part = part.model_fields[name].annotation
    return part


def is_list(field: str) -> bool:
    """True for fields that hold several texts: one a line in the form."""
    annotation = _annotation(field)
    return any(get_origin(part) is tuple for part in (annotation, *get_args(annotation)))


def _as_text(field: str, value: Any) -> Any:
    if field == "prompts.typed":  # a prompt may have several lines, a dialogue always has
        return "\n".join(text.replace("\\", "\\\\").replace("\n", "\\n") for text in value or ())
    if is_list(field):
        return "\n".join(value or ())
    return "" if value is None else value


def _from_text(field: str, value: Any) -> Any:
    if is_list(field) and isinstance(value, str):
        lines = [line.strip() for line in value.splitlines() if line.strip()]
        if field == "prompts.typed":
            lines = [re.sub(r"\\(n|\\)", lambda found: "\n" if found[1] == "n" else "\\", line) for line in lines]
        return lines or ([] if type(None) not in get_args(_annotation(field)) else None)
    return None if isinstance(value, str) and not value.strip() else value


def _set(data: dict[str, Any], field: str, value: Any) -> None:
    *groups, name = field.split(".")
    for group in groups:
        data = data[group]
    data[name] = value


def _missing_sources(
    data: dict[str, Any],
    config: RunConfig | None,
    base: RunConfig,
    known: set[str],
    outputs: Path | None,
    capped: Limits,
) -> list[Problem]:
    """What only the catalog and the limits can tell, also when other fields are wrong; so that all problems show at
    once. What the page does not allow to be named is not looked for either: the answer would tell what is there."""
    try:
        sources = config
        if sources is None:
            named = {part: {"source": str(data[part]["source"] or "")} for part in ("model", "reference", "prompts")}
            typed = {"typed": tuple(map(str, data["prompts"]["typed"] or ()))}
            parts = {**named, "prompts": {**named["prompts"], **typed}}
            changed = {part: getattr(base, part).model_copy(update=fields) for part, fields in parts.items()}
            sources = base.model_copy(update=changed)
        limits.require(sources, capped, outputs)
        checks.check(sources, outputs)
        if config is not None and outputs is not None:
            disk.check([config], outputs)
    except InvalidConfig as error:
        return [problem for problem in error.problems if problem.field not in known]
    return []
