"""The policies that no other beats at their KL, estimated from samples. Pure.

No policy earns more of score - beta x KL than the reference reweighted, pi*(y | x) = pi_ref(y | x) exp(score / beta) /
Z(x) (Ziegler et al. 2019, section 2), so over all beta these are the frontier. What they would score is estimated from
completions of the reference and of trained policies, each weighed by how likely pi* would have written it against how
likely the mixture of all of them was to (multiple importance sampling with the balance heuristic, Veach and Guibas
1995, eq. 10). bench/frontier.py and `against_kl` call it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Optimum(NamedTuple):
    """What one beta's optimum would do, estimated, for each of P prompts; arrays [P].

    Attributes:
        score: E[score], in sd. kl: to the reference, nats. log_partition: log Z; the objective is beta times it.
        effective: samples, 1 / sum w^2 of the normalised weights.
    """

    score: Array
    kl: Array
    log_partition: Array
    effective: Array


def reweighted(log_probs: Array, scores: Array, beta: float) -> Optimum:
    """The optimum pi* for `beta`, by importance sampling from an even mixture of K policies.

    w = pi_ref(y) exp(score(y) / beta) / (1/K sum_k pi_k(y)), normalised within each prompt; Z is the mean of w before
    that. E[log Z] is below log Z by Jensen's inequality, so what is found is, if anything, less than the best.

    Args:
        log_probs: [K, P, S] of S completions of each prompt under each policy, the reference first. As many of the S
            were drawn from one policy as from any other, and none from anywhere else.
        scores: [P, S].
    """
    mixture = np.logaddexp.reduce(log_probs, axis=0) - math.log(len(log_probs))
    log_weights = log_probs[0] + scores / beta - mixture
    log_partition = np.logaddexp.reduce(log_weights, axis=1) - math.log(scores.shape[1])
    weights = np.exp(log_weights - log_partition[:, None]) / scores.shape[1]
    score = (weights * scores).sum(1)
    return Optimum(score, score / beta - log_partition, log_partition, 1 / (weights**2).sum(1))


def best_score(optima: Sequence[Optimum], kl: float, prompts: Any = slice(None)) -> float | None:
    """The highest score that a policy at `kl` nats can have, between the two nearest points of the frontier; None
    beyond the last of them.

    Args:
        optima: for several betas. prompts: which of them count, and how often.
    """
    return between([(float(item.kl[prompts].mean()), float(item.score[prompts].mean())) for item in optima], kl)


def between(points: Sequence[tuple[float, float]], kl: float) -> float | None:
    """The score at a KL on the line through (KL, score); None beyond its end."""
    line = sorted(points)
    if not line or kl > line[-1][0]:
        return None
    return float(np.interp(kl, [point[0] for point in line], [point[1] for point in line]))


class Point(NamedTuple):
    """The best policy at one beta: its mean score and KL over the prompts, and how many samples count behind it, all
    prompts taken as one. That is the stricter count: it is low as soon as a few texts outweigh all the others."""

    beta: float
    score: float
    kl: float
    effective: float


def curve(log_probs: Array, scores: Array, betas: Sequence[float]) -> list[Point]:
    """The frontier, from the largest beta to the smallest. Arguments as of `reweighted`."""
    found = []
    for beta in sorted(betas, reverse=True):
        one = reweighted(log_probs, scores, beta)
        together = reweighted(log_probs.reshape(len(log_probs), 1, -1), scores.reshape(1, -1), beta)
        kl = max(0.0, float(one.kl.mean()))
        found.append(Point(beta, float(one.score.mean()), kl, float(together.effective[0])))
    return found
