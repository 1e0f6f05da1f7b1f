"""How the value of a setting from elsewhere becomes ours. Each function raises ValueError with why it cannot."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

NO_VALUE_CLIP = 1e6  # from here on a clip of the value is none
KL_PENALTIES = {"kl": "k1", "abs": "abs", "mse": "k2", "full": "full"}
SCHEDULES = {
    "linear": "linear",
    "constant": "constant",
    "constant_with_warmup": "constant",
}


def converted(how: str, value: Any) -> Any:
    """A value in our terms. `how`: a name of `HOW`; "" leaves it as it is. Raises: ValueError."""
    return HOW[how](value) if how else value


def number(value: Any) -> float | None:
    """Also of text: YAML takes 1e-5 for a word."""
    if value is None or (isinstance(value, str) and value.lower() == "none"):
        return None
    if isinstance(value, bool):
        raise ValueError("it is not a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("it is not a number") from None


def count(value: Any) -> int | None:
    found = number(value)
    if found is not None and not found.is_integer():
        raise ValueError("it is not a whole number")
    return None if found is None else int(found)


def _value_clip(value: Any) -> float | None:
    found = number(value)
    return None if found is None or found >= NO_VALUE_CLIP else found


def _adaptive(value: Any) -> str:
    return "ziegler" if value else "fixed"


def _kl_penalty(value: Any) -> str:
    if value not in KL_PENALTIES:
        raise ValueError(f"TRL knew {', '.join(KL_PENALTIES)}")
    return KL_PENALTIES[value]


def _schedule(value: Any) -> str:
    name = str(value).rpartition(".")[2].lower()
    if name not in SCHEDULES:
        raise ValueError("a learning rate stays (`constant`) or falls to 0 in a line (`linear`) here")
    return SCHEDULES[name]


def _top_k(value: Any) -> int | None:
    return count(value) or None  # 0 means all


def _top_p(value: Any) -> float | None:
    found = number(value)
    return None if found is None or found >= 1 else found


def _penalty(value: Any) -> float:
    return number(value) or 0.0


def _modules(value: Any) -> list[str] | None:
    names = value.split(",") if isinstance(value, str) else value
    if names is None or names in (["all"], ["all-linear"]):
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("it is no list of layer names")
    return [name.strip() for name in names]


def _bits(value: Any) -> str:
    if value in (None, 4, 8):
        return {None: "none", 4: "nf4", 8: "int8"}[value]
    raise ValueError("weights are kept in 8 or 4 bits here")


def _dtype(value: Any) -> str:
    name = str(value).removeprefix("torch.")
    kinds = {"bfloat16": "bf16", "float32": "fp32", "auto": "auto"}
    if name not in kinds:
        raise ValueError("models compute in fp32 or bf16 here (`model.precision`)")
    return kinds[name]


def _range(value: Any) -> float | None:
    """A clip given as (low, high)."""
    if isinstance(value, list):
        low, high = (number(side) for side in value)
        if low is None or high is None or low != -high:
            raise ValueError("the score is cut off at plus and minus the same number here")
        return high
    return number(value)


def _finetuning(value: Any) -> str:
    if value not in ("lora", "full"):
        raise ValueError("all weights are trained here, or an adapter (LoRA)")
    return "lora" if value == "lora" else "none"


def _name(value: Any) -> str:
    return re.sub(r"[^\w .-]", " ", str(value))[:80].strip() or "imported"


HOW: dict[str, Callable[[Any], Any]] = {
    "number": number,
    "count": count,
    "value-clip": _value_clip,
    "adaptive": _adaptive,
    "kl-penalty": _kl_penalty,
    "schedule": _schedule,
    "top-k": _top_k,
    "top-p": _top_p,
    "penalty": _penalty,
    "modules": _modules,
    "bits": _bits,
    "8bit": lambda value: "int8" if value else "none",
    "4bit": lambda value: "nf4" if value else "none",
    "dtype": _dtype,
    "range": _range,
    "finetuning": _finetuning,
    "peft": lambda value: "lora" if value else "none",
    "cpu": lambda value: "cpu" if value else "auto",
    "name": _name,
}
