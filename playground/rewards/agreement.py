"""Statistics of paired outcomes and of shares: tails and intervals. Plain numbers in and out.

SciPy has most of it, but the playground does not require it, and it takes a second to load.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

EXACT_TRIALS = 1000  # up to here the binomial sum is exact and quick
Z95 = 1.96  # two-sided 95 % of a normal distribution
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)  # of Student's t with 1 to 10 degrees


def at_least(successes: int, trials: int) -> float:
    """P(X >= successes) for X ~ Binomial(trials, 1/2)."""
    if trials > EXACT_TRIALS:
        return statistics.NormalDist(trials / 2, math.sqrt(trials) / 2).cdf(trials - successes + 0.5)
    return sum(math.comb(trials, number) for number in range(max(successes, 0), trials + 1)) / 2**trials


def chance_that_better(first: Sequence[float], second: Sequence[float]) -> float:
    """One-sided p-value of "the second is right more often than the first" on the same pairs (McNemar, exact).

    Only pairs on which the two differ say anything; under luck each side wins half of them.
    """
    wins = sum(b > a for a, b in zip(first, second, strict=True))
    losses = sum(b < a for a, b in zip(first, second, strict=True))
    return at_least(wins, wins + losses)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error, sd / sqrt(n) with n - 1 in the sd; the error is 0 for a single value."""
    error = 0.0
    if len(values) > 1:
        error = statistics.stdev(values) / math.sqrt(len(values))
    return statistics.fmean(values), error


def mean_and_sd(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation, with n in the denominator as in `Scale`."""
    return statistics.fmean(values), statistics.pstdev(values)


def t95(count: int) -> float:
    """Two-sided 95 % of Student's t for the mean of `count` values, 2 or more; above 11 within 0.003."""
    degrees = max(count - 1, 1)
    if degrees <= len(T95):
        return T95[degrees - 1]
    return students_t(Z95, degrees)


def students_t(z: float, degrees: int) -> float:
    """What of Student's t is as rare as `z` of a normal distribution, by its series in 1 / degrees (Fisher 1926)."""
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def wilson(share: float, trials: float) -> tuple[float, float]:
    """95 % bounds of a share that was seen in so many trials: those that a score test does not reject (Wilson 1927)."""
    z = Z95 * Z95 / trials
    middle, half = share + z / 2, Z95 * math.sqrt(share * (1 - share) / trials + z / (4 * trials))
    return max(0.0, (middle - half) / (1 + z)), min(1.0, (middle + half) / (1 + z))


def effective(groups: Sequence[Sequence[float]]) -> float | None:
    """Effective number of independent values (1 or 0) behind a share, by the design effect of groups (Kish 1965).

    At least the number of groups, at most that of values. None where it cannot be estimated: one value in each group,
    one group, or all values the same.
    """
    count, of = len(groups), sum(map(len, groups))
    share = math.fsum(map(math.fsum, groups)) / of
    if not of > count > 1 or share in (0.0, 1.0):
        return None
    apart = math.fsum((math.fsum(marks) - share * len(marks)) ** 2 for marks in groups)
    variance = apart / of**2 * count / (count - 1) * (t95(count) / Z95) ** 2  # few groups tell it badly
    if not variance:
        return float(of)
    return max(count, min(of, share * (1 - share) / variance))
