"""The best of several answers by score: which it is, how good it is to be expected, and how far from any answer. Pure.

How far the best of n is from the reference is known without measuring: n independent texts of it, the best of them
chosen, are at most log n - (n - 1) / n nats away, exactly that where no two scores are equal (Beirami et al. 2024).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


def kl_bound(n: int) -> float:
    """Most nats per completion between the best of n texts and one text."""
    return math.log(n) - (n - 1) / n


def expected_best(scores: Sequence[float], m: int) -> float:
    """The mean of the best of m out of n scores over all ways to choose m of them: exact, and unbiased for any m <= n.

    The i-th smallest (from 0) is the best of C(i, m - 1) of the C(n, m) choices.
    """
    ways = [math.comb(rank, m - 1) for rank in range(len(scores))]
    return sum(count * score for count, score in zip(ways, sorted(scores), strict=True)) / math.comb(len(scores), m)


def best_rows(scores: Sequence[float], each: int) -> list[int]:
    """Of every `each` neighbours the index of the best; the first of those that are as good."""
    return [max(range(first, first + each), key=lambda row: scores[row]) for first in range(0, len(scores), each)]


class Curve(NamedTuple):
    """What the best of so many answers has: one value for each n."""

    n: list[int]
    score: list[float]
    kl: list[float]


def expected_curve(scores: Sequence[float], n: int) -> Curve:
    """What the best of 1, 2, 4, ... and of n answers would have, mean over questions.

    Args:
        scores: of n answers to each question, in a row.
    """
    sizes = sorted({*(2**power for power in range(n.bit_length()) if 2**power <= n), n})
    groups = [scores[first : first + n] for first in range(0, len(scores), n)]
    means = [sum(expected_best(group, size) for group in groups) / len(groups) for size in sizes]
    return Curve(sizes, means, [kl_bound(size) for size in sizes])
