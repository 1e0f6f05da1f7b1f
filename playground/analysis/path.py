"""The path of a run over score and KL: its evaluations on the fixed prompts. A method that drifts further has more
score, so runs are compared at equal KL: that of the one that went least far."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from playground.analysis import frames
from playground.analysis.intervals import of_prompts
from playground.runs.folder.records import BEST_OF, Event, Sample


class PathPoint(NamedTuple):
    """The fixed prompts at one moment, or between two: KL, mean score with half of its 95 % interval over prompts, and
    what the score was above that of before training on the prompts with a score at every evaluation."""

    update: int
    kl: float
    score: float
    half: float | None
    gain: float | None = None
    gain_half: float | None = None


def path_of(samples: Sequence[Sample], events: Iterable[Event] = ()) -> list[PathPoint]:
    """The evaluations of a run in their order; of several attempts at an update the last one counts. Of the best of n,
    what the best of fewer would be."""
    table = frames.latest(samples).dropna(subset=["score", "kl"])
    if table.empty:
        return []
    span = float(np.ptp(table["score"]))
    kl = table.groupby(["update", "prompt_id"])["kl"].mean().groupby("update").mean()
    scores = table.pivot_table("score", "update", ["prompt_id", "seed"], sort=True)
    always = scores.dropna(axis=1)
    points = []
    for update in scores.index:
        score = of_prompts(frames.by_prompt(scores.loc[update].dropna()), span)
        point = PathPoint(int(update), float(kl.loc[update]), score.mean, score.half)
        if 0 in always.index and always.shape[1]:
            gain = of_prompts(frames.by_prompt(always.loc[update] - always.loc[0]), span)
            point = point._replace(gain=gain.mean, gain_half=gain.half if update else 0.0)
        points.append(point)
    best_of = next((event.data for event in reversed(list(events)) if event.kind == BEST_OF), None)
    if best_of and points[0].gain is not None:
        return _of_fewer(best_of, points) or points
    return points


def _of_fewer(data: dict[str, Any], path: Sequence[PathPoint]) -> list[PathPoint]:
    """From an event of the run. A run may come from elsewhere, so anything may be in it."""
    start, last = path[0].score, path[-1]
    try:
        score, kl = np.array([data["score"], data["kl"]], float).tolist()
    except (KeyError, TypeError, ValueError):
        return []
    halves = [last.gain_half if far else 0.0 for far in kl]
    return [
        PathPoint(last.update, far, start + value - score[0], half, value - score[0], half)
        for far, value, half in zip(kl, score, halves, strict=True)
    ]


def reach(paths: Iterable[Sequence[PathPoint]]) -> float | None:
    """The KL that all of them reached; None where one has not been evaluated after its start."""
    farthest = [max((point.kl for point in path if point.gain is not None), default=0.0) for path in paths]
    if farthest and min(farthest) > 0:
        return min(farthest)
    return None


def at(path: Iterable[PathPoint], kl: float) -> PathPoint | None:
    """Where a path was at a KL; None if it did not get there."""
    points = sorted((point for point in path if point.gain is not None), key=lambda point: point.kl)
    for near, far in itertools.pairwise(points):
        if near.kl <= kl <= far.kl:
            share = 1.0
            if far.kl > near.kl:
                share = (kl - near.kl) / (far.kl - near.kl)
            pairs = zip(near[1:], far[1:], strict=True)
            between = [None if a is None or b is None else a + share * (b - a) for a, b in pairs]
            return PathPoint(near.update, *between)  # type: ignore[arg-type]  # kl, score and gain of both are known
    return None
