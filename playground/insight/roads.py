"""Runs by different methods to the same reward, at the same distance from the reference, and what each cost. Pure.

A method that drifts further has more score, so scores at the end are no comparison. What is compared is the score that
each run had when it was as far away as the one that went least far: read off its own way (the evaluations on the fixed
prompts), with a straight line between two of them. The page and docs/roads.md call it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from playground.config import RunConfig
from playground.insight import compute, frames
from playground.insight.intervals import interval
from playground.runs.folder.records import BEST_OF, STEERING_VECTOR, Event, Sample, UpdateMetrics


class RoadLook(NamedTuple):
    """How far from the reference a run was, in nats per completion, and how much it had gained on the fixed prompts
    (`half`: half of its 95 % interval, not a number where it is not known), in units of the score."""

    kl: float
    gain: float
    half: float


class Bill(NamedTuple):
    """What a method cost before the first answer, and what each answer costs after it. Evaluations and loading are
    not counted.

    Attributes:
        texts, tokens: written to learn from. tokens_trained: summed over epochs. seconds, operations: of all three
            phases; None where they cannot be counted. memory_gb: at most. answers: texts written for each answer given.
    """

    texts: int
    tokens: int
    tokens_trained: int
    seconds: float
    operations: float | None
    memory_gb: float | None
    answers: int


def way(samples: Sequence[Sample], events: Iterable[Event]) -> list[RoadLook]:
    """The evaluations of a run, from the nearest to the farthest. Of the best of n, what the best of fewer would be."""
    table = frames.latest(samples).dropna(subset=["score", "kl"])
    if table.empty or not (table["update"] == 0).any():
        return []
    means = table.groupby(["update", "prompt_id"])[["score", "kl"]].mean().unstack().dropna(axis=1)
    gains, drift = means["score"] - means["score"].loc[0], means["kl"].mean(axis=1)
    found = [interval(gains.loc[at].tolist(), float(np.ptp(table["score"]))) for at in gains.index]
    halves = [math.nan if one.half is None else one.half for one in found[1:]]  # at first, nothing has been gained
    looks = [RoadLook(*row) for row in zip(drift, gains.mean(axis=1), [0.0, *halves], strict=True)]
    best_of = next((event.data for event in reversed(list(events)) if event.kind == BEST_OF), None)
    if best_of:
        looks = _of_fewer(best_of, looks[-1].half) or looks
    return sorted(look for look in looks if all(map(math.isfinite, look[:2])))


def _of_fewer(data: dict[str, object], half: float) -> list[RoadLook]:
    """From an event of the run. A run may come from elsewhere, so anything may be in it."""
    score, kl = data.get("score"), data.get("kl")
    if not isinstance(score, list) or not isinstance(kl, list) or len(score) != len(kl):
        return []
    if not all(isinstance(value, (int, float)) for value in (*score, *kl)):
        return []
    return [RoadLook(far, value - score[0], half if far else 0.0) for far, value in zip(kl, score, strict=True)]


def reach(ways: Iterable[Sequence[RoadLook]]) -> float | None:
    """The distance that all of them reached; None where one has not been evaluated after its start."""
    farthest = [max((look.kl for look in looks), default=0.0) for looks in ways]
    return min(farthest) if farthest and min(farthest) > 0 else None


def at(looks: Sequence[RoadLook], kl: float) -> RoadLook | None:
    """Where a way was at a distance; None if it did not get there."""
    for near, far in itertools.pairwise(looks):
        if near.kl <= kl <= far.kl:
            share = (kl - near.kl) / (far.kl - near.kl) if far.kl > near.kl else 1.0
            between = [a + share * (b - a) for a, b in zip(near, far, strict=True)]
            return RoadLook(kl, between[1], between[2])
    return None


def bill(config: RunConfig, metrics: Sequence[UpdateMetrics], events: Iterable[Event]) -> Bill | None:
    """What a run cost; None before its first update. The best of n costs nothing beforehand, and steering the
    texts of its vector: what else such runs write shows only what is to be expected."""
    events = list(events)
    found = compute.ledger(config, metrics, events)
    if found is None:
        return None
    if config.method == "best_of_n":
        return Bill(0, 0, 0, 0.0, 0.0, found.peak_memory_gb, config.answers_each)
    if config.method == "steer":
        vector = next((event.figures for event in events if event.kind == STEERING_VECTOR), {})
        texts, tokens = int(vector.get("texts", 0)), int(vector.get("tokens", 0))
        return Bill(texts, tokens, 0, vector.get("seconds", 0.0), None, found.peak_memory_gb, 1)
    seconds = sum(phase.seconds for phase in found.phases if phase.name != compute.LOOKING)
    spent = found.tokens_generated, found.tokens_trained
    return Bill(found.episodes, *spent, seconds, found.operations, found.peak_memory_gb, config.answers_each)
