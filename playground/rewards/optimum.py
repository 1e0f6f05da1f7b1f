"""What the best policy under some rewards would do, from samples of the reference.

No policy earns more of score - beta x KL than pi*(y) = pi_ref(y) exp(score(y) / beta) / Z (Ziegler et al. 2019, section
2), so what it does is what the reference does, reweighted. All prompts are taken as one: a sample is of another prompt
each. The workbench and the command `score` ask.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from playground.config import RewardConfig
from playground.config.behaviour_settings import READY
from playground.rewards import behaviours
from playground.rewards.mixture import Scale, arithmetic

Array = NDArray[np.float64]
Marks = Sequence[bool | None]

LEAST = 8  # samples with and without the behaviour; below, nothing is said
LEAST_EFFECTIVE = 5.0  # once they are reweighted


class Penalty(NamedTuple):
    """What a nat of KL costs, and whether the score is in standard deviations of the reference's texts."""

    beta: float
    scaled: bool = True


class Outlook(NamedTuple):
    """One behaviour: of `of` samples `yes` show it; the best policy would with `share`, None where that is not known,
    from so many `effective` samples."""

    name: str
    words: str
    aim: str
    yes: int
    of: int
    share: float | None
    effective: float


def outlooks(
    rewards: Sequence[RewardConfig],
    raw: Mapping[str, Sequence[float | None]],
    marked: Mapping[str, Marks],
    penalty: Penalty,
) -> list[Outlook]:
    """Every behaviour that one wants more or less of, and of which enough samples show it and enough do not.

    Args:
        raw: the values of each reward for each sample. marked: by behaviour, a mark for each sample.
    """
    mixture, found = arithmetic(rewards), []
    mixture.fit(raw)
    totals = mixture.combine(raw).totals
    scores = np.array((Scale.of(totals) if penalty.scaled else Scale())(totals))  # as a run has them, but for a clip
    for name, marks in marked.items():
        yes, of, ready = sum(mark is True for mark in marks), sum(mark is not None for mark in marks), READY[name]
        if min(yes, of - yes) >= LEAST and ready.aim != "neither":
            share, effective = optimal_share(marks, scores, penalty.beta)
            known = share if effective >= LEAST_EFFECTIVE else None
            found.append(Outlook(name, ready.words, ready.aim, yes, of, known, effective))
    return found


def sentence(outlook: Outlook, penalty: Penalty) -> str:
    """An outlook in words."""
    counted = f"The untrained model {outlook.words} in {outlook.yes} of {outlook.of} answers"
    if outlook.share is None:
        why = "there is no leash" if penalty.beta <= 0 else f"at beta {penalty.beta:g} too few of these samples count"
        return f"{counted}. What the best policy under these rewards would do is not known: {why}."
    return (
        f"{counted}, the best policy under these rewards at beta {penalty.beta:g} in {outlook.share:.0%} (about "
        f"{outlook.effective:.0f} of these samples count)."
    )


def marks_of(names: Sequence[str], samples: Sequence[Mapping[str, object]]) -> dict[str, Marks]:
    """Marks of the ready-made behaviours with these names, for samples as the model service sends them."""
    return {
        name: [behaviours.mark(name, str(one["prompt"]), str(one["completion"]), bool(one["ended"])) for one in samples]
        for name in names
        if name in READY
    }


def optimal_share(marks: Marks, scores: Array, beta: float) -> tuple[float, float]:
    """The behaviour's share under pi*, and the samples that count behind it, 1 / sum w^2; of samples with a mark."""
    if beta <= 0:
        return math.nan, 0.0
    known = np.array([mark is not None for mark in marks])
    yes, scores = np.array([bool(mark) for mark in marks])[known], scores[known]
    weights = np.exp((scores - scores.max()) / beta)
    weights /= weights.sum()
    return float(weights[yes].sum()), float(1 / (weights**2).sum())
