"""Figures for the page: rounded, finite, or nothing. Pure; `wire` and `wire_rewards` use them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


def mean(values: Iterable[float | int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return rounded(math.fsum(known) / len(known)) if known else None


def rounded(value: Any) -> Any:
    """Five significant digits are plenty for a curve, and half the bytes."""
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    return value
