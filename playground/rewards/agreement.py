"""How well two ways of scoring agree, and whether a difference on the same pairs is more than luck.

Plain numbers in, plain numbers out; the reward self-test calls it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

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
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return mean, 0.0
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, math.sqrt(variance / count)


def mean_and_sd(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation, with n in the denominator as in `Scale`."""
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Rank correlation, ties at their mean rank; None where one of them does not vary."""
    a, b = ranks(first), ranks(second)
    middle = (len(a) + 1) / 2
    spread_a = math.fsum((rank - middle) ** 2 for rank in a)
    spread_b = math.fsum((rank - middle) ** 2 for rank in b)
    if not spread_a or not spread_b:
        return None
    together = math.fsum((x - middle) * (y - middle) for x, y in zip(a, b, strict=True))
    return together / math.sqrt(spread_a * spread_b)


def ranks(values: Sequence[float]) -> list[float]:
    """Rank of each value, 1 for the lowest; equal values share the mean of their places."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            found[place] = (start + 1 + end) / 2
        start = end
    return found


def pair_agreement(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Share of all pairs of items that both put in the same order, of those that the first tells apart."""
    same, told_apart = 0, 0
    for i, j in combinations(range(len(first)), 2):
        if first[i] != first[j]:
            told_apart += 1
            same += (first[i] > first[j]) == (second[i] > second[j]) and second[i] != second[j]
    return same / told_apart if told_apart else None
