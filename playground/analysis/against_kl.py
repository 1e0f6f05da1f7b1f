"""A run's score on its fixed prompts against its KL; beside it the best of n of the reference and the best policies,
both from texts sampled for it; and a sentence on how far the run is from what these show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from playground.analysis.intervals import Interval, interval
from playground.analysis.path import PathPoint
from playground.config import RunConfig
from playground.rewards.best_answers import expected_curve, kl_bound, kl_of_best
from playground.runs.folder.records import UpdateMetrics
from playground.runs.frontier_samples import FrontierSamples

Array = NDArray[np.float64]
LEAST_EFFECTIVE = 30.0  # samples behind a point of the frontier; with fewer it is drawn grey and nothing is read off it
BETAS = tuple(2.0 ** (step / 4) for step in range(-20, 17))  # in sd of the reference's scores: 0.03 to 16


class Optimum(NamedTuple):
    """What one beta's optimum would do, estimated, for each of P prompts; arrays [P]: score in sd, KL in nats, log Z
    (the objective is beta times it), and effective samples, 1 / sum w^2 of the normalised weights."""

    score: Array
    kl: Array
    log_partition: Array
    effective: Array


def reweighted(log_probs: Array, scores: Array, beta: float) -> Optimum:
    """The best policy for `beta`, pi*(y | x) = pi_ref(y | x) exp(score / beta) / Z(x) (Rafailov et al. 2023, eq. 4),
    by importance sampling from an even mixture of K policies (balance heuristic, Veach and Guibas 1995, eq. 10).

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


class Point(NamedTuple):
    """The best policy at one beta: its mean score and KL over the prompts, and how many samples count behind it, all
    prompts taken as one. That is the stricter count: it is low as soon as a few texts outweigh all the others."""

    beta: float
    score: float
    kl: float
    effective: float


def curve(log_probs: Array, scores: Array, betas: Sequence[float]) -> list[Point]:
    """The frontier, from the largest beta to the smallest. Arguments as of `reweighted`."""
    points = []
    for beta in sorted(betas, reverse=True):
        optimum = reweighted(log_probs, scores, beta)
        together = reweighted(log_probs.reshape(len(log_probs), 1, -1), scores.reshape(1, -1), beta)
        kl = max(0.0, float(optimum.kl.mean()))
        points.append(Point(beta, float(optimum.score.mean()), kl, float(together.effective[0])))
    return points


class BestOf(NamedTuple):
    """The best of n answers of the reference: what it scores on average, and how far it is, with half the 95 % interval
    over prompts (None where that is not known)."""

    n: int
    kl: float
    score: float
    kl_half: float | None = None


class Possible(NamedTuple):
    """What drawn texts show to be possible. `updates`: whose texts, by when they were saved; `texts` of the reference
    on so many `prompts`; `start` is what they score on average."""

    start: float
    best_of: list[BestOf]
    optimum: list[Point]
    updates: list[int]
    texts: int
    prompts: int


def final_beta(config: RunConfig, metrics: Sequence[UpdateMetrics]) -> float | None:
    """The beta that a run ended with; None without a KL penalty."""
    if not config.reads("kl.coef"):
        return None
    if metrics:
        return metrics[-1].kl_coef or None
    return config.kl.coef or None


def possible(drawn: FrontierSamples, beta: float | None = None) -> Possible:
    """What the texts that were drawn for a run show; `beta` is one more point of the optimum, the run's own."""
    scores = np.array(drawn.scores)
    reference = scores[:, : drawn.each]
    best = expected_curve(reference.ravel().tolist(), drawn.each)
    best_of = [BestOf(n, kl, score, _half_of_kl(reference, n)) for n, score, kl in zip(*best, strict=True)]
    ratios = np.zeros((len(drawn.updates), *scores.shape))  # of each policy to the reference, which is all that counts
    if drawn.log_ratios:
        ratios[1:] = drawn.log_ratios
    spread = 0.0
    if drawn.each > 1:
        spread = math.sqrt(float(reference.var(axis=1, ddof=1).mean()))
    betas = [spread * step for step in BETAS]
    if beta:
        betas.insert(0, beta)
    optimum = curve(ratios, scores, betas) if spread > 0 else []
    return Possible(float(reference.mean()), best_of, optimum, drawn.updates, reference.size, len(reference))


def _half_of_kl(scores: Array, n: int) -> float | None:
    """Half the 95 % interval of the KL of the best of n, over the prompts [P, S]; None where it is the same for all,
    as its bound is where no two texts score alike."""
    each = [kl_of_best(row, n) for row in scores.tolist()]
    span = 0.0
    if len(set(each)) > 1:
        span = kl_bound(n)
    return interval(each, span).half


def trusted(optimum: Sequence[Point]) -> list[Point]:
    """The points behind which enough samples count, from the largest beta down to the first that lacks them."""
    are_trusted = [point.effective >= LEAST_EFFECTIVE for point in optimum]
    if False in are_trusted:
        return list(optimum[: are_trusted.index(False)])
    return list(optimum)


def between(points: Sequence[tuple[float, float]], kl: float) -> float | None:
    """The score at a KL on the line through (KL, score); None beyond its end."""
    line = sorted(points)
    if not line or kl > line[-1][0]:
        return None
    return float(np.interp(kl, [point[0] for point in line], [point[1] for point in line]))


def best_at(optimum: Sequence[Point], kl: float) -> float | None:
    """The highest score at a KL that these samples show; None beyond the points that can be trusted."""
    return between([(point.kl, point.score) for point in trusted(optimum)], kl)


def sentence(path: Sequence[PathPoint], possible: Possible | None) -> str:
    """How far the run is from what its samples show to be possible at its KL; empty where that cannot be said yet."""
    if len(path) < 2 or possible is None:
        return ""
    kl, best = path[-1].kl, best_at(possible.optimum, path[-1].kl)
    where = f"At {kl:.3g} nats the run scores {Interval(path[-1].score, path[-1].half, 1).in_words()}"
    if best is not None:
        return f"{where}; by these samples {best:.2f} is possible there."
    why = f"fewer than {LEAST_EFFECTIVE:.0f} of the sampled texts count there"
    return f"{where}. What is possible at that distance is unknown: {why}."
