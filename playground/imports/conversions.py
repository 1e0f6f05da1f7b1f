"""How the value of a setting from elsewhere becomes ours: by a table in settings.toml, or by a function here, which
raises ValueError with why it cannot."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from playground.imports.tables import FILE

NO_VALUE_CLIP = 1e6  # from here on a clip of the value is none
VALUES: dict[str, dict[str, str]] = FILE["values"]


def converted(ours: str, name: str, value: Any) -> Any:
    """The value of a setting of this name as our field's; a text that says none is none. Raises: ValueError."""
    if ours in VALUES:
        key = str(name if value is True and name.startswith("load_in") else value)
        return _of_table(VALUES[ours], key.rpartition(".")[2].lower())
    if value in ("none", "None"):
        value = None
    if ours not in HOW:
        return value
    try:
        return HOW[ours](name, value)
    except TypeError:
        raise ValueError("it is a list or a mapping, where one value is meant") from None


def is_converted(ours: str) -> bool:
    """Whether the value of this field of ours is another one elsewhere."""
    return ours in HOW or ours in VALUES


def number(value: Any) -> float | None:
    """Also of text: YAML takes 1e-5 for a word. Raises: ValueError."""
    try:
        if value in (None, "none", "None"):
            return None
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("it is not a number") from None


def whole(value: float) -> int:
    """Rounded up; of what is infinite more than any run has."""
    return math.ceil(min(value, 1e12))


def count(value: Any) -> int | None:
    """Raises: ValueError."""
    amount = number(value)
    if amount is None:
        return None
    if not amount.is_integer():
        raise ValueError("it is not a whole number")
    return int(amount)


def _of_table(table: dict[str, str], key: str) -> str:
    for value, theirs in table.items():
        if value != "otherwise" and key in theirs.split():
            return value
    raise ValueError(table["otherwise"])


def _switch(name: str, value: Any) -> bool:
    return bool(value)


def _title(name: str, value: Any) -> str:
    return re.sub(r"[^\w .-]", " ", str(value or ""))[:80].strip() or "imported"


def _trackers(name: str, value: Any) -> list[str]:
    if isinstance(value, list):
        return value
    if value:
        return [value]
    return []


def _modules(name: str, value: Any) -> list[str] | None:
    names = value.split(",") if isinstance(value, str) else value
    if names is None or names in (["all"], ["all-linear"]):
        return None
    if not isinstance(names, list):
        raise ValueError("it is no list of layer names")
    return [str(name).strip() for name in names]


def _score_clip(name: str, value: Any) -> float | None:
    """One number, or (low, high)."""
    if not isinstance(value, list):
        return number(value)
    low, high = (number(side) for side in value)
    if low is None or high is None or low != -high:
        raise ValueError("the score is cut off at plus and minus the same number here")
    return high


def _source(name: str, value: Any) -> str:
    """A model or a dataset, by its name on the hub, which had no owners in the days of old examples."""
    if not isinstance(value, str) or not value:
        raise ValueError("it is no name of a model or of data")
    if "://" in value:
        raise ValueError("nothing is asked over the network here: name a model, a dataset or a folder")
    if name == "path" and value in ("json", "csv", "text"):
        raise ValueError("its `data_files` say which file")
    if name == "reward_model":
        value = value.rpartition(":")[2]  # the old TRL's has a task in front
    return str(FILE["old-names"].get(value, value))


def _split(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.isidentifier():
        raise ValueError("a slice of a split is not taken: name the split, and `prompts.limit`")
    return value


def _template_options(name: str, value: Any) -> Any:
    if name == "enable_thinking":
        return {name: value}
    if isinstance(value, str):
        return json.loads(value)
    return value


def _top_k(name: str, value: Any) -> int | None:
    return count(value) or None  # 0 means all


def _top_p(name: str, value: Any) -> float | None:
    return _below(value, 1)


def _value_clip(name: str, value: Any) -> float | None:
    return _below(value, NO_VALUE_CLIP)


def _below(value: Any, limit: float) -> float | None:
    """A number; None from a limit on, where it does nothing. Raises: ValueError."""
    amount = number(value)
    if amount is None or amount >= limit:
        return None
    return amount


HOW: dict[str, Callable[[str, Any], Any]] = {
    "name": _title,
    "trackers": _trackers,
    "model.source": _source,
    "model.gradient_checkpointing": _switch,
    "model.adapter.target_modules": _modules,
    "reference.source": _source,
    "prompts.source": _source,
    "prompts.split": _split,
    "prompts.template_options": _template_options,
    "rewards.0.source": _source,
    "score.clip": _score_clip,
    "sampling.top_k": _top_k,
    "sampling.top_p": _top_p,
    "ppo.value_clip_range": _value_clip,
}
