"""Where on the scale of beta the KL penalty is too strong for any visible change, and where it is too weak to hold.

Above `tight`, the best policy gains less than the fixed prompts can tell from luck, two standard errors of their mean
(for small gains that is Var(score) / gain). Below `loose`, it would go farther from the reference than a whole text of
it is wide: its entropy (for scores spread like a bell that KL is Var(score) / (2 beta^2))."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from playground.analysis.against_kl import reweighted
from playground.runs.folder.records import Sample, UpdateMetrics

FEWEST = 16  # scores of the reference; with fewer the rule of thumb of a bell is as good
LEAST_EFFECTIVE = 5.0  # samples, as rewards/trying.py asks for: a mark on a slider need not be exact
SEARCHED = (1e-3, 1e4)  # betas, in sd of the scores


class Measured(NamedTuple):
    """What a run knows of its reference: scores of its texts, their spread, and how many nats a text of it holds (None
    where that is not recorded)."""

    scores: list[float]
    sd: float
    nats: float | None


class Regimes(NamedTuple):
    """`tight`, `loose`: see above; None where there is no such beta, or it cannot be known. `gain` is the least that
    the fixed prompts can tell from luck, in units of the score; `nats` what a text of the reference holds."""

    tight: float | None
    loose: float | None
    gain: float
    nats: float | None


def measured(samples: Sequence[Sample], metrics: Sequence[UpdateMetrics]) -> Measured | None:
    """From the samples before training and the first update, whose texts the start model wrote; None without scores."""
    scores = [item.score for item in samples if item.stage == "before" and item.score is not None]
    if len(scores) < FEWEST:
        return None
    nats = None
    if metrics:
        per_token = metrics[0].entropy if metrics[0].surprisal is None else metrics[0].surprisal
        nats = (per_token or 0.0) * (metrics[0].completion_length or 0.0)
    return Measured(scores, float(np.std(scores)), nats if nats and nats > 0 else None)


def regimes(measured: Measured | None, answers: int) -> Regimes | None:
    """Of a run whose score is a mean over `answers`; None where all texts score alike. Where nothing is `measured`, the
    score has sd 1, by its definition, and is taken to be a bell."""
    if measured is None:
        return Regimes(math.sqrt(answers) / 2, None, 2 / math.sqrt(answers), None)
    if measured.sd <= 0:
        return None
    gain, nats = 2 * measured.sd / math.sqrt(answers), measured.nats
    tight = _largest_beta(measured, lambda best: best[0] >= gain)
    if nats is None:
        return Regimes(tight, None, gain, None)
    loose = _largest_beta(measured, lambda best: best[1] >= nats)
    if loose is None and _best(measured, SEARCHED[0] * measured.sd)[2] < LEAST_EFFECTIVE:
        loose = measured.sd / math.sqrt(2 * nats)  # so few scores cannot show that distance: taken to be a bell
    return Regimes(tight, loose, gain, nats)


def _best(measured: Measured, beta: float) -> tuple[float, float, float]:
    """Gain, KL and effective samples of the best policy, all prompts taken as one."""
    scores = np.array([measured.scores])
    best = reweighted(np.zeros((1, *scores.shape)), scores, beta)
    return float(best.score[0]) - float(scores.mean()), float(best.kl[0]), float(best.effective[0])


def _largest_beta(measured: Measured, holds: Callable[[tuple[float, float, float]], bool]) -> float | None:
    """At which something holds of the best policy that holds at every smaller beta; None if it does nowhere, as where
    many texts have the highest score."""
    low, high = (measured.sd * end for end in SEARCHED)
    if not holds(_best(measured, low)):
        return None
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        if holds(_best(measured, middle)):
            low = middle
        else:
            high = middle
    return low
