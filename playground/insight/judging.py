"""Held-out judges beside the trained score: who rises with it, who turns down while it goes on rising.

All figures are paired: the same fixed prompts with the same random numbers at two moments, prompts (not samples) as the
independent units, and in standard deviations of the "before" samples, so that judges and score share one axis. No
opinion counts as the "before" average, as it does in the score. Knows the records; page and command line call it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from playground.insight.before_after import Z95, Pair
from playground.runs.folder.records import Sample

Key = tuple[int, int]  # prompt_id, seed
TRAINED = "score"
CONFIDENCE = 0.95
MINUS = "\u2212"
SMALLEST = 0.2  # sd; with many prompts less than this can be certain and still mean nothing


class Change(NamedTuple):
    """A mean change in standard deviations, and its standard error (NaN with fewer than two prompts)."""

    mean: float
    error: float

    @property
    def half(self) -> float:
        """Half the width of the 95 % interval."""
        return Z95 * self.error


class Line(NamedTuple):
    """The trained score or one judge over the moments: the change since before training; None where it is unknown.

    `in_sd` is False where the values did not vary before training: there is no sd, and they stay in their own units.
    """

    name: str
    changes: list[Change | None]
    in_sd: bool = True

    @property
    def unit(self) -> str:
        """What the changes are in."""
        return "sd" if self.in_sd else "points"


class Turn(NamedTuple):
    """A judge that fell since `update` while the trained score rose, both by more than chance and than a trifle."""

    judge: str
    update: int
    fall: Change
    rise: Change


class Judged(NamedTuple):
    """Everything over the moments (updates) at which the fixed prompts were answered."""

    updates: list[int]
    trained: Line
    judges: list[Line]
    turns: list[Turn]


class Row(NamedTuple):
    """One reward or judge before and after: raw means, and the paired change; None where there is no opinion.

    The raw means are of the texts on which there is an opinion; in the change, no opinion counts as the average before.
    `unit` of the change is sd, or points where the values did not vary before.
    """

    name: str
    before: float | None
    after: float | None
    change: Change | None
    unit: str


def judged(samples: Iterable[Sample], signs: Mapping[str, float], *, in_sd: bool = True) -> Judged:
    """Trained score and judges at every moment.

    Args:
        signs: judge -> +1, or -1 where less is better. in_sd: the score is in sd of the reference already.
    """
    moments: dict[int, dict[Key, Sample]] = defaultdict(dict)
    for item in samples:
        moments[item.update][item.prompt_id, item.seed] = item
    updates = sorted(moments)
    before = moments.get(0, {})
    scores = [{key: item.score for key, item in moments[update].items()} for update in updates]
    trained_z = _in_sd(scores, [item.score for item in before.values()], 1.0, keep=in_sd)
    judge_z = {}
    for name, sign in signs.items():
        values = [
            {key: item.judges[name] for key, item in moments[update].items() if name in item.judges}
            for update in updates
        ]
        judge_z[name] = _in_sd(values, list(values[0].values()) if values else [], sign)
    lines = {
        name: Line(name, [_change(z[0], later) for later in z], _varies(_known(moments[updates[0]].values(), name)))
        for name, z in judge_z.items()
        if z
    }
    trained = Line(TRAINED, [_change(trained_z[0], later) for later in trained_z])
    turns = [turn for name, line in lines.items() if (turn := _turn(line, judge_z[name], trained_z, updates))]
    return Judged(updates, trained, list(lines.values()), turns)


def _turn(
    line: Line, judge: Sequence[Mapping[Key, float]], trained: Sequence[Mapping[Key, float]], updates: Sequence[int]
) -> Turn | None:
    """Did the judge fall since its highest moment, while the trained score rose?

    The highest of many noisy moments is too high by chance, so the fall must be significant for as many comparisons as
    there were moments to choose from (Bonferroni).
    """
    known = [(change.mean, -place) for place, change in enumerate(line.changes[:-1]) if change is not None]
    if not known:
        return None
    top = -max(known)[1]
    fall, rise = _change(judge[top], judge[-1]), _change(trained[top], trained[-1])
    if fall is None or rise is None:
        return None
    strict = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / len(known))
    once = NormalDist().inv_cdf(CONFIDENCE)
    certain = fall.mean + strict * fall.error < 0 < rise.mean - once * rise.error
    if certain and -fall.mean >= SMALLEST <= rise.mean:
        return Turn(line.name, updates[top], fall, rise)
    return None


def verdict(found: Judged, name: str, label: str) -> str:
    """What one judge says of the run so far, in one sentence."""
    line = next((item for item in found.judges if item.name == name), None)
    if line is None or line.changes[-1] is None:
        return f"{label} has no opinion on these prompts."
    if len(found.updates) < 2:
        return f"{label} has heard the untrained model; the comparison begins with the next look."
    turn = next((item for item in found.turns if item.judge == name), None)
    if turn is not None:
        since = f"after update {turn.update}" if turn.update else "from the start"
        return (
            f"{label} turned down {since}: it fell by {_told(turn.fall, line.unit, -1)} while the trained score rose "
            f"by {_told(turn.rise, 'sd')}. More score is no longer better by this judge (Goodhart's law)."
        )
    change = line.changes[-1]
    if np.isnan(change.error):
        return f"{label} has heard a single prompt, which cannot tell change from chance."
    if abs(change.mean) <= change.half:
        return f"{label} has not moved by more than chance: {_told(change, line.unit, signed=True)}."
    if abs(change.mean) < SMALLEST:
        return f"{label} has hardly moved: {_told(change, line.unit, signed=True)}."
    if change.mean > 0:
        return f"{label} rises with the training: {_told(change, line.unit, signed=True)}."
    return f"{label} is below where it began: {_told(change, line.unit, signed=True)}."


def rows(pairs: Sequence[Pair], source: str) -> list[Row]:
    """Each reward (`source` "scores") or judge ("judges") of the pairs, before and after."""
    names = dict.fromkeys(name for pair in pairs for side in pair for name in getattr(side, source))
    found = []
    for name in names:
        before, after = (
            {_key(side): getattr(side, source)[name] for side in column if name in getattr(side, source)}
            for column in zip(*pairs, strict=True)
        )
        z = _in_sd([before, after], list(before.values()), 1.0)
        change = _change(z[0], z[1]) if z else None
        unit = "sd" if _varies([value for value in before.values() if value is not None]) else "points"
        found.append(Row(name, _mean(before.values()), _mean(after.values()), change, unit))
    return found


def _in_sd(
    moments: Sequence[Mapping[Key, float | None]], before: Sequence[float | None], sign: float, *, keep: bool = False
) -> list[dict[Key, float]]:
    """Values in sd above the mean of `before`; `keep` leaves the scale. Empty where `before` has no opinion at all."""
    known = [value for value in before if value is not None]
    if not known:
        return [{} for _ in moments] if keep else []
    mean, sd = (0.0, 1.0) if keep else (float(np.mean(known)), float(np.std(known)))
    if not _varies(known):
        sd = 1.0
    return [
        {key: 0.0 if value is None else sign * (value - mean) / sd for key, value in moment.items()}
        for moment in moments
    ]


def _varies(known: Sequence[float]) -> bool:
    return len(known) > 0 and float(np.std(known)) > 1e-9


def _known(samples: Iterable[Sample], judge: str) -> list[float]:
    return [value for item in samples if (value := item.judges.get(judge)) is not None]


def _change(earlier: Mapping[Key, float], later: Mapping[Key, float]) -> Change | None:
    by_prompt: dict[int, list[float]] = defaultdict(list)
    for key in earlier.keys() & later.keys():
        by_prompt[key[0]].append(later[key] - earlier[key])
    if not by_prompt:
        return None
    means = np.array([np.mean(values) for values in by_prompt.values()])
    error = float(means.std(ddof=1)) / len(means) ** 0.5 if len(means) > 1 else float("nan")
    return Change(float(means.mean()), error)


def _told(change: Change, unit: str, sign: int = 1, *, signed: bool = False) -> str:
    digits = 1 if abs(change.mean) >= 10 else 2
    mean = f"{sign * change.mean:{'+' if signed else ''}.{digits}f}"
    return f"{mean.replace('-', MINUS)} \u00b1 {change.half:.{digits}f} {unit}"


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _key(item: Sample) -> Key:
    return item.prompt_id, item.seed
