"""How the value of a setting from elsewhere becomes ours. Each function raises ValueError with why it cannot."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

NO_VALUE_CLIP = 1e6  # from here on a clip of the value is none
KL_PENALTIES = {"kl": "k1", "mse": "k2"}
PRECISIONS = {"bfloat16": "bf16", "float32": "fp32", "auto": "auto"}
SCHEDULES = {"linear": "linear", "constant": "constant", "constant_with_warmup": "constant"}
OPTIMIZERS: dict[Any, str] = {  # by transformers' names
    **dict.fromkeys(("adamw_torch", "adamw_torch_fused", "adamw_hf", "paged_adamw", "paged_adamw_32bit"), "adamw"),
    **dict.fromkeys(("adamw_8bit", "adamw_bnb_8bit", "paged_adamw_8bit"), "adamw_8bit"),
    **{name: name for name in ("adamw", "sgd", "adafactor")},
}
BITS: dict[Any, str] = {None: "none", False: "none", 4: "nf4", 8: "int8", "load_in_4bit": "nf4", "load_in_8bit": "int8"}


def converted(ours: str, name: str, value: Any) -> Any:
    """The value of a setting of this name as our field's; a text that says none is none. Raises: ValueError."""
    given = None if value in ("none", "None") else value
    try:
        return HOW[ours](name, given) if ours in HOW else given
    except TypeError:
        raise ValueError("it is a list or a mapping, where one value is meant") from None


def number(value: Any) -> float | None:
    """Also of text: YAML takes 1e-5 for a word. Raises: ValueError."""
    try:
        return None if value in (None, "none", "None") else float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("it is not a number") from None


def whole(value: float) -> int:
    """Rounded up; of what is infinite more than any run has."""
    return math.ceil(min(value, 1e12))


def count(value: Any) -> int | None:
    """Raises: ValueError."""
    found = number(value)
    if found is not None and not found.is_integer():
        raise ValueError("it is not a whole number")
    return None if found is None else int(found)


def _below(limit: float) -> Callable[[str, Any], float | None]:
    """A number that is none from a limit on."""

    def conversion(name: str, value: Any) -> float | None:
        found = number(value)
        return None if found is None or found >= limit else found

    return conversion


def _one_of(table: dict[Any, str], otherwise: str) -> Callable[[str, Any], str]:
    def conversion(name: str, value: Any) -> str:
        key = value.rpartition(".")[2].lower() if isinstance(value, str) else value
        if key not in table:
            raise ValueError(otherwise)
        return table[key]

    return conversion


def _trackers(name: str, value: Any) -> list[str]:
    names = value if isinstance(value, list) else [value] if value else []
    if not all(one in ("trackio", "wandb", "tensorboard") for one in names):
        raise ValueError("runs are sent to trackio, wandb and tensorboard here")
    return names


def _modules(name: str, value: Any) -> list[str] | None:
    names = value.split(",") if isinstance(value, str) else value
    if names is None or names in (["all"], ["all-linear"]):
        return None
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise ValueError("it is no list of layer names")
    return [one.strip() for one in names]


def _score_clip(name: str, value: Any) -> float | None:
    """One number, or (low, high)."""
    if not isinstance(value, list):
        return number(value)
    low, high = (number(side) for side in value)
    if low is None or high is None or low != -high:
        raise ValueError("the score is cut off at plus and minus the same number here")
    return high


def _adapter(name: str, value: Any) -> str:
    if name == "finetuning_type" and value not in ("lora", "full"):
        raise ValueError("all weights are trained here, or an adapter (LoRA)")
    return "none" if value in (None, False, "full") else "lora"


def _template_options(name: str, value: Any) -> Any:
    if name == "enable_thinking":
        return {name: value}
    return json.loads(value) if isinstance(value, str) else value


_bits = _one_of(BITS, "weights are kept in 8 or 4 bits here")
HOW: dict[str, Callable[[str, Any], Any]] = {
    "name": lambda name, value: re.sub(r"[^\w .-]", " ", str(value))[:80].strip() or "imported",
    "device": lambda name, value: "cpu" if value else "auto",
    "trackers": _trackers,
    "model.precision": _one_of(PRECISIONS, "models compute in fp32 or bf16 here (`model.precision`)"),
    "model.quantization": lambda name, value: _bits(name, name if value is True else value),
    "model.adapter.kind": _adapter,
    "model.adapter.target_modules": _modules,
    "prompts.template_options": _template_options,
    "score.clip": _score_clip,
    "sampling.top_k": lambda name, value: count(value) or None,  # 0 means all
    "sampling.top_p": _below(1),
    "sampling.missing_eos_penalty": lambda name, value: number(value) or 0.0,
    "model.gradient_checkpointing": lambda name, value: bool(value),
    "ppo.optimizer": _one_of(OPTIMIZERS, "the optimizers here are AdamW, also in 8 bits, SGD and Adafactor"),
    "ppo.schedule": _one_of(SCHEDULES, "a learning rate stays (`constant`) or falls to 0 in a line (`linear`) here"),
    "ppo.value_clip_range": _below(NO_VALUE_CLIP),
    "kl.controller": lambda name, value: "ziegler" if value else "fixed",
    "kl.estimator": lambda name, value: KL_PENALTIES.get(value, value),
}
