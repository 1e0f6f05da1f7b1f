"""A run's score on its fixed prompts against its KL; beside it the best of n of the reference and the best policies,
both from texts that were drawn for it, and in a sentence how far the run is from what these show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playground.analysis import reweighting
from playground.analysis.intervals import Interval, interval
from playground.analysis.path import PathPoint
from playground.analysis.reweighting import Point
from playground.config import RunConfig, methods
from playground.rewards.best_answers import expected_curve, kl_bound, kl_of_best
from playground.runs.folder.records import UpdateMetrics
from playground.runs.frontier_samples import FrontierSamples

LEAST_EFFECTIVE = 30.0  # samples behind a point of the frontier; with fewer it is drawn grey and nothing is read off it
BETAS = tuple(2.0 ** (step / 4) for step in range(-20, 17))  # in sd of the reference's scores: 0.03 to 16


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
    if methods.unused(config.method, "kl.coef"):
        return None
    return (metrics[-1].kl_coef if metrics else config.kl.coef) or None


def possible(drawn: FrontierSamples, beta: float | None = None) -> Possible:
    """What the texts that were drawn for a run show; `beta` is one more point of the optimum, the run's own."""
    scores = np.array(drawn.scores)
    reference = scores[:, : drawn.each]
    best = expected_curve(reference.ravel().tolist(), drawn.each)
    best_of = [BestOf(n, kl, score, _half_of_kl(reference, n)) for n, score, kl in zip(*best, strict=True)]
    ratios = np.zeros((len(drawn.updates), *scores.shape))  # of each policy to the reference, which is all that counts
    if drawn.log_ratios:
        ratios[1:] = drawn.log_ratios
    spread = math.sqrt(float(reference.var(axis=1, ddof=1).mean())) if drawn.each > 1 else 0.0
    betas = [*([beta] if beta else []), *(spread * step for step in BETAS)]
    optimum = reweighting.curve(ratios, scores, betas) if spread > 0 else []
    return Possible(float(reference.mean()), best_of, optimum, drawn.updates, reference.size, len(reference))


def _half_of_kl(scores: NDArray[np.float64], n: int) -> float | None:
    """Half the 95 % interval of the KL of the best of n, over the prompts [P, S]; None where it is the same for all,
    as its bound is where no two texts score alike."""
    each = [kl_of_best(row, n) for row in scores.tolist()]
    return interval(each, kl_bound(n) if len(set(each)) > 1 else 0.0).half


def trusted(optimum: Sequence[Point]) -> list[Point]:
    """The points behind which enough samples count, from the largest beta down to the first that lacks them."""
    known = [point.effective >= LEAST_EFFECTIVE for point in optimum]
    return list(optimum[: known.index(False)] if False in known else optimum)


def as_data(path: Sequence[PathPoint], found: Possible | None) -> dict[str, Any]:
    """All of it as plain data."""
    possible = None
    if found is not None:
        lines = {name: [one._asdict() for one in getattr(found, name)] for name in ("best_of", "optimum")}
        possible = {**found._asdict(), **lines, "trusted": len(trusted(found.optimum))}
    return {"looks": [point._asdict() for point in path], "possible": possible, "sentence": sentence(path, found)}


def best_at(optimum: Sequence[Point], kl: float) -> float | None:
    """The highest score at a KL that these samples show; None beyond the points that can be trusted."""
    return reweighting.between([(point.kl, point.score) for point in trusted(optimum)], kl)


def sentence(path: Sequence[PathPoint], found: Possible | None) -> str:
    """How far the run is from what its samples show to be possible at its KL; empty where that cannot be said yet."""
    if len(path) < 2 or found is None:
        return ""
    kl, score = path[-1].kl, path[-1].score
    best = best_at(found.optimum, kl)
    if best is None:
        why = f"fewer than {LEAST_EFFECTIVE:.0f} of the drawn texts count there"
        shown = f". What is possible at that distance is not known: {why}"
    else:
        shown = f"; these samples show {best:.2f} to be possible there"
    at = f"At {_nats(kl)} the run scores {Interval(score, path[-1].half, 1).in_words()}"
    return f"{at}{shown}. {_best_of_words(kl, score, found.best_of)}"


def _best_of_words(kl: float, score: float, best_of: Sequence[BestOf]) -> str:
    """The smallest n whose best answer scores as much as the run."""
    better = next((one for one in best_of if one.score >= score), None)
    if better and better.n == 1:
        return "A single answer of the reference scores as much."
    one = better or best_of[-1]
    nearer = ", nearer to it" if better and better.kl + (better.kl_half or 0.0) < kl else ""
    at = _nats(one.kl, one.kl_half)
    return f"The best of {one.n} answers of the reference scores {one.score:.2f}, at {at}{nearer}."


def _nats(kl: float, half: float | None = None) -> str:
    return f"{kl:.3g} nats" if half is None else f"{kl:.3g} \u00b1 {half:.2g} nats"
