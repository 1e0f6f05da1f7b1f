"""Rewards as the picker holds them <-> configuration, and rewards in words, as pure functions without gradio."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from playground.config import REWARD_CLASSES, RewardConfig, RewardPart, local_only, yaml_io
from playground.errors import InvalidConfig
from playground.rewards.mixture import term_names
from playground.setup import catalog, checks, describe
from playground.ui.payloads.form import RewardFieldData, RewardKindData

OWN_FIELDS = {
    "target": ("Target length in words", "empty: the longer the better"),
    "words": ("Words", "separated by commas"),
    "phrases": ("Agreeing phrases", "separated by commas; only these are recognised"),
    "pattern": ("Regular expression", r"for example  \bthank you\b"),
    "judge": ("Judge", ""),
    "neutral": ("Where the user claims nothing", "truth: right answers count, as agreement does elsewhere"),
    "measure": ("Measure", ""),
    "check": ("What is compared", "number: the last one; exact: the words; format: only the form"),
    "form": ("Form of the answer", r"... stands for it, for example  \boxed{...}; empty: the whole text"),
    "answer": ("Column with the true answer", "of a file of prompts; the pocket world knows its own"),
    "source": ("Model", "one trained here, a hub id, or a folder"),
    "label": ("Rewarded label", "of a classifier; empty for one output"),
    "output": ("Output", ""),
    "template": ("Prompt format", ""),
    "revision": ("Revision", "empty: the newest"),
    "max_length": ("Longest input in tokens", "empty: what the model has room for"),
    "precision": ("Precision", ""),
    "quantization": ("Quantization", ""),
    "int8_threshold": ("Outlier threshold of int8", "6"),
    "question": ("Question to a judge model", "must contain {completion}, may contain {prompt}; its yes is the value"),
    "expression": ("Expression", "for example  words(completion) / 10 - repeated(completion)"),
    "code": ("Code", "def reward(prompt, completion): ..."),
    "file": ("File", "instead of the code: my_reward.py, my_reward.py:name or package.module:name"),
    "function": ("Function", "its name, where the code has several"),
    "time_limit": ("Time limit per batch, in seconds", "2"),
}  # name -> label, hint
RARE_FIELDS = (
    "function",
    "question",
    "template",
    "revision",
    "max_length",
    "precision",
    "quantization",
    "int8_threshold",
)
LINES = {"expression": 8, "code": 12}  # fields that hold a longer text -> lines of their box
FIRST_TEXTS = {
    "expression": "clip(words(completion) / 10, 0, 2) - repeated(completion)",
    "code": "def reward(prompt, completion):\n    words = completion.split()\n"
    "    return len(set(words)) / (len(words) or 1)",
}  # what stands there at first
# where a reward's process cannot be kept from files, see docs/rewards.md
WEAKER = "" if sys.platform == "linux" else " On this system it could also delete your files."
RUNS_CODE = f"Runs your code on this machine, in a separate process. Use only code that you have read.{WEAKER}"
WARNINGS = {"python": RUNS_CODE}


def term_labels(rewards: Sequence[RewardConfig]) -> dict[str, str]:
    """Name of each term of a score (or of each judge) -> how a person reads it, no two alike."""
    labels: dict[str, str] = {}
    for name, reward in zip(term_names(rewards), rewards, strict=True):
        values = reward.model_dump(mode="json", exclude={"weight", "normalise", "cap"})
        label = describe.reward_label(values)
        if own := "; ".join(describe.reward_details(values)):
            label += f" ({own})"
        if reward.kind == "repetition" and reward.weight < 0:
            label = f"Less {label.lower()}"
        if label in labels.values():
            label += f", {name}"
        labels[name] = label
    return labels


def reward_kinds() -> list[RewardKindData]:
    """What the reward picker offers in this mode: each kind with its label, help, default weight and own fields."""
    return [
        {
            "kind": choice.name,
            "label": choice.label,
            "help": choice.help,
            "weight": REWARD_CLASSES[choice.name].model_fields["weight"].default,
            "warning": WARNINGS.get(choice.name, ""),
            "fields": _own_fields(choice.name),
        }
        for choice in catalog.REWARDS
        if local_only.refusal(choice.name) is None
    ]


def problem_of(values: Any) -> str:
    """What is wrong with one reward as the picker holds it, in a sentence; empty if nothing is."""
    try:
        rewards = yaml_io.from_dict({"rewards": [_reward_data(values)]}).rewards
    except InvalidConfig as error:
        problems = error.problems
    else:
        problems = checks.reward_problems((f"rewards.{index}", spec) for index, spec in enumerate(rewards))
    if problems:
        return problems[0].message
    return ""


def reward_data(value: Any) -> list[Any]:
    """What the reward picker holds as configuration data."""
    return [_reward_data(reward) for reward in value or []]


def behaviour_data(value: Any) -> list[Any] | None:
    """What the part for behaviours holds as configuration data; an empty text: those that suit the prompts."""
    if value in (None, ""):
        return None
    return [_with_measure(part) for part in value]


def _with_measure(part: Any) -> Any:
    if isinstance(part, Mapping) and part.get("measure"):
        return {**part, "measure": _reward_data(part["measure"])}
    return part


def behaviour_values(behaviours: Sequence[Mapping[str, Any]] | None) -> Any:
    """The other way round."""
    if behaviours is None:
        return ""
    return [{**part, "measure": reward_values(part["measure"]) if part["measure"] else None} for part in behaviours]


def _own_fields(kind: str) -> list[RewardFieldData]:
    """The fields that only this kind has, as static/rewards/picker.js draws them; `rare` ones are folded away."""
    fields = REWARD_CLASSES[kind].model_fields.items()
    values = [_own_field(name, field) for name, field in fields if name not in RewardPart.model_fields]
    return sorted(values, key=lambda item: bool(item["rare"]))


def _own_field(name: str, field: Any) -> RewardFieldData:
    label, hint = OWN_FIELDS.get(name, (name, ""))
    types = (field.annotation, *get_args(field.annotation))
    default = field.default
    if field.is_required() or default is None:
        default = ""
    default = FIRST_TEXTS.get(name, default)
    if isinstance(default, tuple):
        default = ", ".join(default)
    return {
        "name": name,
        "label": label,
        "hint": hint,
        "options": describe.options_in(field.annotation),
        "number": int in types or float in types,
        "rare": name in RARE_FIELDS,
        "default": default,
        "lines": LINES.get(name, 0),
    }


def reward_values(reward: Mapping[str, Any]) -> dict[str, Any]:
    """One reward of a configuration as the picker holds it."""
    return {key: _in_field(value) for key, value in reward.items()}


def _in_field(value: Any) -> Any:
    """A value as a field of the picker holds it."""
    if isinstance(value, list):
        return ", ".join(value)
    if value is None:
        return ""
    return value


def _reward_data(values: Any) -> Any:
    """The other way round; a field of another kind that was left over is dropped."""
    if not isinstance(values, Mapping):
        return values
    fields = REWARD_CLASSES.get(str(values.get("kind")))
    if values.get("file"):
        values = {key: value for key, value in values.items() if key != "code"}  # is read from the file
    data: dict[str, Any] = {}
    for key, value in values.items():
        if fields and key not in fields.model_fields:
            continue
        if key in ("words", "phrases") and isinstance(value, str):
            data[key] = [word.strip() for word in re.split(r"[,\n]", value) if word.strip()]
        else:
            optional = fields and type(None) in get_args(fields.model_fields[key].annotation)
            if value == "" and (optional or key == "weight"):
                value = None
            data[key] = value
    return data
