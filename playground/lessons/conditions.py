"""Conditions on a fact, as a lesson has them: "> 0.8", "<= 3", "0.4 to 0.6"."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from playground.setup.expected import Band

NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
BOUND = re.compile(rf"\s*(>=?|<=?)\s*({NUMBER})\s*")
RANGE = re.compile(rf"\s*({NUMBER})\s+to\s+({NUMBER})\s*")
HOW = 'Write it as "> 0.8", "< 3" or "0.4 to 0.6".'


class Condition(NamedTuple):
    """A range of values, with its ends or (`open_`) without."""

    low: float
    high: float
    open_: bool = False

    def holds(self, value: float | None) -> bool:
        """Of nothing that is not known."""
        if value is None:
            return False
        if self.open_:
            return self.low < value < self.high
        return self.low <= value <= self.high

    def in_words(self, *, percent: bool = False) -> str:
        """ "more than 2", "at most 12 %", "0.4 to 2"."""
        low, high = (f"{100 * end:.3g} %" if percent else f"{end:g}" for end in (self.low, self.high))
        if math.isinf(self.low):
            return f"{'less than' if self.open_ else 'at most'} {high}"
        if math.isinf(self.high):
            return f"{'more than' if self.open_ else 'at least'} {low}"
        return f"{low.removesuffix(' %')} to {high}"

    def holds_over(self, band: Band) -> bool:
        """Whether it holds wherever in its band a run ends."""
        return self.holds(band.low) and self.holds(band.high)


def condition(text: str) -> Condition:
    """What a text means. Raises: ValueError, with a sentence."""
    if match := RANGE.fullmatch(text):
        low, high = float(match[1]), float(match[2])
        if low >= high:
            raise ValueError(f"`{text[:40]}` is no range: the lower number comes first.")
        return Condition(low, high)
    if match := BOUND.fullmatch(text):
        sign, at = match[1], float(match[2])
        if sign[0] == ">":
            return Condition(at, math.inf, sign == ">")
        return Condition(-math.inf, at, sign == "<")
    raise ValueError(f"`{text[:40]}` is no condition. {HOW}")


def holds(when: Mapping[str, str], values: Mapping[str, float | None]) -> bool:
    """Whether all conditions hold of facts."""
    return all(condition(text).holds(values.get(fact)) for fact, text in when.items())
