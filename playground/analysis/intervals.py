"""A mean over independent units with its 95 % interval, by which runs, judges, sweeps and methods are compared. The
units are the fixed prompts of a run, whose samples are averaged first, or a sweep's seeds."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from playground.rewards.agreement import t95

FEW = 10  # values that differ from the commonest; with fewer Student's interval is far too narrow


class Interval(NamedTuple):
    """A mean over some independent `units`, and half of its 95 % interval: None where that is not known, which is with
    one unit, and where all are alike: that they are so by chance is likelier than that nothing is unsure."""

    mean: float
    half: float | None
    units: int

    @property
    def low(self) -> float:
        """Not a number where it is not known, as `high` and `error`, the standard error."""
        return math.nan if self.half is None else self.mean - self.half

    @property
    def high(self) -> float:
        return math.nan if self.half is None else self.mean + self.half

    @property
    def error(self) -> float:
        return math.nan if self.half is None else self.half / t95(self.units)

    @property
    def share_bounds(self) -> tuple[float, float] | None:
        """The interval of a share, as far as a share can go: from 0 to 1 at most; None where there is none."""
        return (max(0.0, self.low), min(1.0, self.high)) if self.half else None

    def in_words(self, *, sign: bool = False, digits: int | None = None) -> str:
        """For reading: "+1.42 \u00b1 0.30", without the second part where it is not known."""
        digits = decimals(self.half or 0.0) if digits is None else digits
        mean = f"{self.mean:{'+' if sign else ''}z.{digits}f}"
        return mean if self.half is None else f"{mean} \u00b1 {self.half:.{digits}f}"


def interval(values: Iterable[float], span: float = 0.0) -> Interval:
    """The mean of independent values and its interval (Student's t); not a number without any. Where most are alike and
    few are not, it is no narrower than with two values more, as far above and below the common one as `span`, the most
    by which values can differ (in the way of Agresti and Min 2005): so it holds the mean as often as it says."""
    known = list(values)
    if len(known) < 2:
        return Interval(known[0] if known else math.nan, None, len(known))
    common, alike = Counter(known).most_common(1)[0]
    half = _half(known)
    if len(known) - alike < FEW and 2 * alike > len(known):
        half = max(half, _half([*known, common - span, common + span]))
    return Interval(fmean(known), half or None, len(known))


def _half(values: Sequence[float]) -> float:
    return t95(len(values)) * stdev(values) / math.sqrt(len(values))


def by_unit(values: Iterable[tuple[int, float | None]]) -> dict[int, list[float]]:
    """What is known of each unit."""
    found: dict[int, list[float]] = defaultdict(list)
    for unit, value in values:
        if value is not None:
            found[unit].append(value)
    return found


def decimals(half: float) -> int:
    """How many a figure has: two, and more where its interval, `half` on either side, would otherwise have no width."""
    return min(6, -math.floor(math.log10(half))) if 0 < half < 0.005 else 2
