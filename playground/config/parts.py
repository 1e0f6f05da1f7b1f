"""What every part of a configuration is made of: frozen records, and fields that carry their own words."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


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
