"""A mean over independent units with its 95 % interval, by which runs, judges, sweeps and methods are compared. The
units are the fixed prompts of a run, whose samples are averaged first, or a sweep's seeds."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from playground.rewards.agreement import t95

FEW_PROMPTS = 8  # with fewer, each answered several times, a run's fixed prompts are all that there are
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
        if self.half is None:
            return math.nan
        return self.mean - self.half

    @property
    def high(self) -> float:
        if self.half is None:
            return math.nan
        return self.mean + self.half

    @property
    def error(self) -> float:
        if self.half is None:
            return math.nan
        return self.half / t95(self.units)

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Both ends, or None twice."""
        if self.half is None:
            return None, None
        return self.low, self.high

    @property
    def share_bounds(self) -> tuple[float, float] | None:
        """The interval of a share, as far as a share can go: from 0 to 1 at most; None where there is none."""
        if self.half:
            return (max(0.0, self.low), min(1.0, self.high))
        return None

    def in_words(self, *, sign: bool = False, digits: int | None = None) -> str:
        """For reading: "+1.42 \u00b1 0.30", without the second part where it is not known."""
        if digits is None:
            digits = decimals(self.half or 0.0)
        mean = f"{self.mean:{'+' if sign else ''}z.{digits}f}"
        if self.half is None:
            return mean
        return f"{mean} \u00b1 {self.half:.{digits}f}"


def interval(values: Iterable[float], span: float = 0.0) -> Interval:
    """The mean of independent values and its interval (Student's t); not a number without any. Where most are alike and
    few are not, it is no narrower than with two values more, as far above and below the common one as `span`, the most
    by which values can differ (in the way of Agresti and Min 2005): so it holds the mean as often as it says."""
    numbers = list(values)
    if not numbers:
        return Interval(math.nan, None, 0)
    if len(numbers) == 1:
        return Interval(numbers[0], None, 1)
    common, alike = Counter(numbers).most_common(1)[0]
    half = _half(numbers)
    if len(numbers) - alike < FEW and 2 * alike > len(numbers):
        half = max(half, _half([*numbers, common - span, common + span]))
    return Interval(fmean(numbers), half or None, len(numbers))


def of_prompts(answers: Iterable[Sequence[float]], span: float = 0.0) -> Interval:
    """The mean of what prompts come to, each the mean of its answers, and its interval. The prompts stand for others
    like them, and are the units. Where they are few and each was answered more than once, it is of these prompts: the
    units are the answers, and the error is within each prompt (Satterthwaite's degrees of freedom)."""
    groups = [values for values in answers if values]
    means = [fmean(values) for values in groups]
    if not these_prompts(groups):
        return interval(means, span)
    each = [value for values in groups for value in values]
    errors = [stdev(values) ** 2 / len(values) for values in groups]
    if not sum(errors) or 2 * Counter(each).most_common(1)[0][1] > len(each):  # most are alike
        return interval(each, span)._replace(mean=fmean(means))
    parts = (error**2 / (len(values) - 1) for error, values in zip(errors, groups, strict=True))
    units = 1 + int(sum(errors) ** 2 / sum(parts))
    return Interval(fmean(means), t95(units) * math.sqrt(sum(errors)) / len(groups), units)


def these_prompts(groups: Sequence[Sequence[float]]) -> bool:
    """Whether `of_prompts` is of these prompts only."""
    return 0 < len(groups) < FEW_PROMPTS and min(map(len, groups)) > 1


def _half(values: Sequence[float]) -> float:
    return t95(len(values)) * stdev(values) / math.sqrt(len(values))


def by_unit(values: Iterable[tuple[int, float | None]]) -> dict[int, list[float]]:
    """What is known of each unit."""
    by_unit: dict[int, list[float]] = defaultdict(list)
    for unit, value in values:
        if value is not None:
            by_unit[unit].append(value)
    return by_unit


def decimals(half: float) -> int:
    """How many a figure has: two, and more where its interval, `half` on either side, would otherwise have no width."""
    if 0 < half < 0.005:
        return min(6, -math.floor(math.log10(half)))
    return 2


def figure(value: float | None) -> str:
    """Three significant digits, but all of them before the point; what is less than a twenty-thousandth is 0."""
    if value is None or value != value:
        return "none"
    if abs(value) < 5e-5:
        return "0"
    form = ".3g"
    if abs(value) >= 999.5:
        form = ",.0f"
    return f"{value:{form}}".replace("-", "\u2212")
