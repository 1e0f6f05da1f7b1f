"""Held-out judges beside the trained score: who rises with it, who turns down while it goes on rising.

All figures are paired: the same fixed prompts with the same random numbers at two moments, prompts (not samples) as the
independent units, and in standard deviations of the "before" samples, so that judges and score share one axis. No
opinion counts as the "before" average, as it does in the score. Knows the records; page and command line call it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from playground.insight import frames
from playground.insight.before_after import Pair, decimals, mean_and_half
from playground.rewards.agreement import t95
from playground.runs.folder.records import Sample

if TYPE_CHECKING:
    import pandas as pd

TRAINED = "score"
CONFIDENCE = 0.95
MINUS = "\u2212"
SMALLEST_SD = 1e-9
SMALLEST = 0.2  # sd; with many prompts less than this can be certain and still mean nothing


class Change(NamedTuple):
    """A mean change in standard deviations over some prompts, and its standard error (NaN with fewer than two, and
    where nothing varies at all)."""

    mean: float
    error: float
    num_prompts: int

    @property
    def half(self) -> float:
        """Half the width of the 95 % interval."""
        return t95(self.num_prompts) * self.error


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
    moments = [(item.update, item) for item in samples]
    updates = sorted({update for update, _ in moments})
    scores = frames.opinions(moments, lambda item: {TRAINED: item.score}).get(TRAINED)
    trained = None if scores is None else _in_sd(scores, 0, keep=in_sd)
    line = Line(TRAINED, [None] * len(updates) if trained is None else _changes(trained.values, updates[0], updates))
    heard = frames.opinions(moments, lambda item: item.judges)
    lines, turns = [], []
    for name, sign in signs.items():
        judge = _in_sd(heard[name], updates[0], sign) if name in heard else None
        if judge is not None:
            lines.append(Line(name, _changes(judge.values, updates[0], updates), judge.varies))
            turn = None if trained is None else _turn(lines[-1], judge.values, trained.values, updates)
            turns += [turn] if turn else []
    return Judged(updates, line, lines, turns)


def fall_from_the_top(samples: Iterable[Sample]) -> tuple[int, Change] | None:
    """How far the trained score has fallen since its best look, and after which update that was; None where it has not
    by more than chance and more than a trifle, or never was above where it began.

    The best of many noisy looks is too high by chance; see `_turn`.
    """
    moments = [(item.update, item) for item in samples]
    updates = sorted({update for update, _ in moments})
    scores = frames.opinions(moments, lambda item: {TRAINED: item.score}).get(TRAINED)
    trained = None if scores is None else _in_sd(scores, updates[0])
    if trained is None:
        return None
    found = _top(_changes(trained.values, updates[0], updates))
    if not found or not found[0]:
        return None
    top, strict = found
    fall = _changes(trained.values, updates[top], updates[-1:])[0]
    if fall is None or not fall.mean + strict * fall.error < 0 or -fall.mean < SMALLEST:
        return None
    return updates[top], fall


def _top(changes: Sequence[Change | None]) -> tuple[int, float] | None:
    """The place of the highest moment before the newest, and how many standard errors a fall since then must be for
    95 %, as the highest was chosen from so many (Bonferroni); None without a moment."""
    known = [(change.mean, -place) for place, change in enumerate(changes[:-1]) if change is not None]
    return (-max(known)[1], NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / len(known))) if known else None


def _turn(line: Line, judge: pd.DataFrame, trained: pd.DataFrame, updates: Sequence[int]) -> Turn | None:
    """Did the judge fall since its highest moment, while the trained score rose?

    The highest of many noisy moments is too high by chance, so the fall must be significant for as many comparisons as
    there were moments to choose from (Bonferroni).
    """
    found = _top(line.changes)
    if found is None:
        return None
    top, strict = found
    fall, rise = (_changes(table, updates[top], updates[-1:])[0] for table in (judge, trained))
    if fall is None or rise is None:
        return None
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
    if math.isnan(change.error) and change.num_prompts < 2:
        return f"{label} has heard a single prompt, which cannot tell change from chance."
    if math.isnan(change.error):
        return f"{label} says the same of every text, before and now."
    if abs(change.mean) <= change.half:
        return f"{label} has not moved by more than chance: {_told(change, line.unit, signed=True)}."
    if abs(change.mean) < SMALLEST:
        return f"{label} has hardly moved: {_told(change, line.unit, signed=True)}."
    if change.mean > 0:
        return f"{label} rises with the training: {_told(change, line.unit, signed=True)}."
    return f"{label} is below where it began: {_told(change, line.unit, signed=True)}."


def rows(pairs: Sequence[Pair], source: str) -> list[Row]:
    """Each reward (`source` "scores") or judge ("judges") of the pairs, before and after."""
    sides = [(place, side) for pair in pairs for place, side in enumerate(pair)]
    found = []
    for name, values in frames.opinions(sides, lambda item: getattr(item, source)).items():
        before, after = (_or_none(values[values.index.get_level_values(0) == place].mean()) for place in (0, 1))
        scaled = _in_sd(values, 0)
        change = _changes(scaled.values, 0, [1])[0] if scaled else None
        found.append(Row(name, before, after, change, "sd" if scaled and scaled.varies else "points"))
    return found


class _Scaled(NamedTuple):
    """Values in sd above their mean before: a row for each question, a column for each moment."""

    values: pd.DataFrame
    varies: bool  # else there is no sd, and they stay in their own units


def _in_sd(values: pd.Series, before: int, sign: float = 1.0, *, keep: bool = False) -> _Scaled | None:
    """Of `frames.opinions`; `keep` leaves the scale. None where nobody had an opinion at the moment before."""
    known = values[values.index.get_level_values(0) == before].dropna()
    if known.empty:
        return None
    sd = known.std(ddof=0)
    varies = bool(sd > SMALLEST_SD)
    if not keep:
        values = sign * (values - known.mean()) / (sd if varies else 1.0)
    return _Scaled(values.fillna(0.0).unstack("moment"), varies)


def _changes(values: pd.DataFrame, since: int, moments: Sequence[int]) -> list[Change | None]:
    """The mean change of the prompts up to each moment; None where no question was asked at both."""
    span = float(values.max().max() - values.min().min())
    by_prompt = values.sub(values[since], axis=0).groupby("prompt_id").mean().reindex(columns=moments)
    return [_change(by_prompt[moment].dropna().tolist(), span, moment == since) for moment in moments]


def _change(steps: Sequence[float], span: float, itself: bool) -> Change | None:
    """Of prompts since a moment; against that moment itself there is none, and that is certain."""
    if not steps:
        return None
    mean, half = mean_and_half(steps, span)
    return Change(mean, 0.0 if itself and len(steps) > 1 else half / t95(len(steps)), len(steps))


def _told(change: Change, unit: str, sign: int = 1, *, signed: bool = False) -> str:
    digits = 1 if abs(change.mean) >= 10 else decimals(change.half)
    mean = f"{sign * change.mean:{'+' if signed else ''}z.{digits}f}"
    return f"{mean.replace('-', MINUS)} \u00b1 {change.half:.{digits}f} {unit}"


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
