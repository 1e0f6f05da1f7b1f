"""How well two ways of scoring agree, and whether a difference on the same pairs is more than luck.

Plain numbers in, plain numbers out; the reward self-test calls it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np

EXACT_TRIALS = 1000  # up to here the binomial sum is exact and quick


def at_least(successes: int, trials: int, probability: float = 0.5) -> float:
    """P(X >= successes) for X ~ Binomial(trials, probability)."""
    if successes <= 0:
        return 1.0
    if trials > EXACT_TRIALS:
        sd = math.sqrt(trials * probability * (1 - probability))
        return 0.5 * math.erfc((successes - 0.5 - trials * probability) / (sd * math.sqrt(2)))
    return math.fsum(
        math.comb(trials, number) * probability**number * (1 - probability) ** (trials - number)
        for number in range(successes, trials + 1)
    )


def chance_that_better(first: Sequence[float], second: Sequence[float]) -> float:
    """One-sided p-value of "the second is right more often than the first" on the same pairs (McNemar, exact).

    Only pairs on which the two differ say anything; under luck each side wins half of them.
    """
    wins = sum(b > a for a, b in zip(first, second, strict=True))
    losses = sum(b < a for a, b in zip(first, second, strict=True))
    return at_least(wins, wins + losses)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error, sd / sqrt(n) with n - 1 in the sd; the error is 0 for a single value."""
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return statistics.fmean(values), error


def mean_and_sd(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation, with n in the denominator as in `Scale`."""
    return statistics.fmean(values), statistics.pstdev(values)


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Rank correlation, ties at their mean rank; None where one of them does not vary."""
    from pandas import Series  # half a second

    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(Series(first).rank().corr(Series(second).rank()))


def pair_agreement(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Share of all pairs of items that both put in the same order, of those that the first tells apart."""
    signs = [np.sign(np.subtract.outer(values, values)) for values in (first, second)]
    told_apart = signs[0] != 0
    return float((signs[0] == signs[1])[told_apart].mean()) if told_apart.any() else None
