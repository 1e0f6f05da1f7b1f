"""What every part of a configuration is made of: frozen records, and fields that carry their own words."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

SEVERAL = r"|all|cuda:\d{1,2}(,\d{1,2}){1,15}"
RUN_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")  # what the folder of a run, or of a reward model, may be called


def knob(
    default: Any,
    *,
    label: str,
    help: str,
    low: str = "",
    high: str = "",
    unit: str = "",
    basic: bool = False,
    live: bool = False,
    slider: tuple[float, float, float] | None = None,
    log: bool = False,
    **limits: Any,
) -> Any:
    """A pydantic field with the words that explain it.

    Args:
        label: the name a student can say aloud. help: one sentence on what it does.
        low, high: what happens when the value is too low, too high. unit: for example "nats" or "tokens".
        basic: shown at once; otherwise under "More settings". live: may change in a running run.
        slider: (minimum, maximum, step) offered on the page; the hard limits are in `limits` (ge, le, ...).
        log: the slider moves in powers of ten.
    """
    extra: dict[str, Any] = {
        "label": label, "low": low, "high": high, "unit": unit, "basic": basic, "live": live,
        "slider": list(slider) if slider else None, "log": log,
    }  # fmt: skip
    return Field(default, description=help, json_schema_extra=extra, **limits)


class Part(BaseModel):
    """Base of every part: immutable, and a misspelt key is an error instead of being ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def knobs_of(part: type[BaseModel]) -> dict[str, dict[str, Any]]:
    """Dotted field of a configuration -> its words and limits, for every field that has words. See `config.knobs`."""
    found: dict[str, dict[str, Any]] = {}

    def add(prefix: str, group: type[BaseModel]) -> None:
        for name, field in group.model_fields.items():
            if isinstance(field.json_schema_extra, dict):
                limits = {key: getattr(item, key) for item in field.metadata for key in ("ge", "gt", "le", "lt")
                          if getattr(item, key, None) is not None}  # fmt: skip
                minimum, maximum = limits.get("ge", limits.get("gt")), limits.get("le", limits.get("lt"))
                found[prefix + name] = {**field.json_schema_extra, "help": field.description, "default": field.default,
                                        "minimum": minimum, "maximum": maximum}  # fmt: skip
            elif isinstance(field.annotation, type) and issubclass(field.annotation, Part):
                add(f"{prefix}{name}.", field.annotation)

    add("", part)
    return found


def device_knob(*, several: bool = False) -> Any:
    """Where something is computed; `training.models.loading.device_of` reads it. `several`: it may be many GPUs."""
    return knob(
        "auto",
        label="Device",
        help="Where it is computed: `cpu`, `cuda:0` (the first GPU), `mps` (Apple). `auto` takes the first GPU if "
        "there is one" + (", `cuda:0,1` these two GPUs together, `all` every GPU." if several else "."),
        pattern=rf"^(auto|cpu|mps|cuda(:\d{{1,2}})?{SEVERAL if several else ''})$",
    )
