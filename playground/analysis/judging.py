"""Monitors beside the trained score: which rise with it, and which turn down while it goes on rising. Everything is
paired by prompt and random numbers, prompts (not samples) as the independent units, in sd of the "before" samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from playground.analysis import frames
from playground.analysis.before_after import BeforeAfter
from playground.analysis.intervals import Interval, interval
from playground.config import RunConfig
from playground.rewards.agreement import students_t
from playground.rewards.mixture import term_names
from playground.runs.folder.records import Sample

if TYPE_CHECKING:
    import pandas as pd

Moments = list[tuple[int, Sample]]
TRAINED = "score"
CONFIDENCE = 0.95
MINUS = "\u2212"
SMALLEST_SD = 1e-9
SMALLEST = 0.2  # sd; with many prompts less than this can be certain and still mean nothing


class Line(NamedTuple):
    """The trained score or one judge over the moments: the change since before training; None where it is unknown.
    Not `in_sd`, but in their own units, are values that did not vary before training."""

    name: str
    changes: list[Interval | None]
    in_sd: bool = True

    @property
    def unit(self) -> str:
        """What the changes are in."""
        return "sd" if self.in_sd else "points"


class JudgeTurn(NamedTuple):
    """A judge that fell since `update` while the trained score rose, both by more than chance and than a trifle."""

    judge: str
    update: int
    fall: Interval
    rise: Interval


class Judged(NamedTuple):
    """Everything over the moments (updates) at which the fixed prompts were answered."""

    updates: list[int]
    trained: Line
    judges: list[Line]
    turns: list[JudgeTurn]


class RewardRow(NamedTuple):
    """One reward or judge before and after: raw means of the texts on which there is an opinion, and the paired change;
    None where there is none. `unit` of the change is sd, or points where the values did not vary before."""

    name: str
    role: str
    before: float | None
    after: float | None
    change: Interval | None
    unit: str


def judged(
    samples: Iterable[Sample], signs: Mapping[str, float], *, in_sd: bool = True, points: bool = False
) -> Judged:
    """Trained score and judges at every moment. `signs`: judge -> +1, or -1 where less is better; `in_sd`: the score
    is in sd of the reference already; `points`: judges stay in their own units, which all seeds share."""
    moments, updates, trained = _trained(samples, keep=in_sd)
    changes: list[Interval | None] = [None] * len(updates)
    if trained:
        changes = trained.changes(updates[0], updates)
    heard = frames.opinions(moments, lambda item: item.judges)
    lines, turns = [], []
    for name, sign in signs.items():
        judge = None
        if name in heard:
            judge = _Scores.of(heard[name], updates[0], sign, points=points)
        if judge is None:
            continue
        lines.append(Line(name, judge.changes(updates[0], updates), judge.varies))
        fall = judge.fall(updates)
        rise = None
        if fall and trained:
            rise = trained.changes(fall[0], updates[-1:])[0]
        if fall and rise and _is_certain(rise):
            turns.append(JudgeTurn(name, *fall, rise))
    return Judged(updates, Line(TRAINED, changes), lines, turns)


def _is_certain(rise: Interval) -> bool:
    """Whether it is more than a trifle and, by one side of Student's t, more than chance."""
    if rise.units < 2 or rise.mean < SMALLEST:
        return False
    return rise.mean > students_t(NormalDist().inv_cdf(CONFIDENCE), rise.units - 1) * rise.error


def judged_of(config: RunConfig, samples: Iterable[Sample], *, points: bool = False) -> Judged | None:
    """The same of a run; None where it has no monitors, or was not evaluated yet."""
    signs = signs_of(config)
    judgement = None
    if signs:
        judgement = judged(samples, signs, in_sd=config.score_unit == "sd", points=points)
    if judgement and judgement.updates:
        return judgement
    return None


def signs_of(config: RunConfig) -> dict[str, float]:
    """Each monitor of a run: -1 where less is better."""
    pairs = zip(term_names(config.judges), config.judges, strict=True)
    return {name: -1.0 if judge.weight < 0 else 1.0 for name, judge in pairs}


def fall_from_the_top(samples: Iterable[Sample]) -> tuple[int, Interval] | None:
    """How far the trained score has fallen since its best evaluation, and after which update that was; None where it
    has not by more than chance and more than a trifle, or never was above where it began."""
    _, updates, trained = _trained(samples)
    if trained and (fall := trained.fall(updates)) and fall[0] != updates[0]:
        return fall
    return None


def verdict(judgement: Judged, name: str, label: str) -> str:
    """What one judge says of the run so far, in one sentence."""
    line = next((item for item in judgement.judges if item.name == name), None)
    if line is None or line.changes[-1] is None:
        return f"{label} has no opinion on these prompts."
    if len(judgement.updates) < 2:
        return f"{label} has scored the untrained model; the comparison begins with the next evaluation."
    turn = next((item for item in judgement.turns if item.judge == name), None)
    if turn is not None:
        since = "from the start"
        if turn.update:
            since = f"after update {turn.update}"
        fall = turn.fall._replace(mean=-turn.fall.mean)
        return (
            f"{label} turned down {since}: it fell by {_in_words(fall)} {line.unit} while the trained score rose by "
            f"{_in_words(turn.rise)} sd. By this monitor, more score is no longer better (Goodhart's law)."
        )
    change = line.changes[-1]
    if change.half is None and change.units < 2:
        return f"{label} has scored a single prompt, which cannot tell change from chance."
    if change.half is None:
        return f"{label} gives every text the same value, before and now."
    if abs(change.mean) <= change.half:
        says = "has not moved by more than chance"
    elif abs(change.mean) < SMALLEST:
        says = "has hardly moved"
    elif change.mean > 0:
        says = "rises with the training"
    else:
        says = "is below where it started"
    return f"{label} {says}: {_in_words(change, sign=True)} {line.unit}."


def _in_words(change: Interval, *, sign: bool = False) -> str:
    return change.in_words(sign=sign, digits=1 if abs(change.mean) >= 10 else None).replace("-", MINUS)


def rows(pairs: Sequence[BeforeAfter]) -> list[RewardRow]:
    """Each reward and each monitor of the pairs, before and after."""
    return [*_rows(pairs, "trained on", lambda item: item.scores), *_rows(pairs, "monitor", lambda item: item.judges)]


def _rows(
    pairs: Sequence[BeforeAfter], role: str, of: Callable[[Sample], Mapping[str, float | None]]
) -> list[RewardRow]:
    sides = [(row, side) for pair in pairs for row, side in enumerate(pair)]
    rows = []
    for name, values in frames.opinions(sides, of).items():
        means = [float(values[values.index.get_level_values(0) == row].mean()) for row in (0, 1)]
        before, after = (None if math.isnan(mean) else mean for mean in means)
        scaled = _Scores.of(values, 0)
        line = Line(name, [None], in_sd=False)
        if scaled:
            line = Line(name, scaled.changes(0, [1]), scaled.varies)
        rows.append(RewardRow(name, role, before, after, line.changes[0], line.unit))
    return rows


def _trained(samples: Iterable[Sample], *, keep: bool = False) -> tuple[Moments, list[int], _Scores | None]:
    """The samples by moment, the moments, and the score that is trained on."""
    moments = [(item.update, item) for item in samples]
    updates = sorted({update for update, _ in moments})
    scores = frames.opinions(moments, lambda item: {TRAINED: item.score})
    if not scores:
        return moments, updates, None
    return moments, updates, _Scores.of(scores[TRAINED], updates[0], keep=keep)


class _Scores(NamedTuple):
    """Values in sd above their mean before: a row for each question, a column for each moment."""

    values: pd.DataFrame
    varies: bool  # else there is no sd, and they stay in their own units

    @classmethod
    def of(
        cls, values: pd.Series, before: int, sign: float = 1.0, *, keep: bool = False, points: bool = False
    ) -> _Scores | None:
        """Of `frames.opinions`; `keep` leaves the scale. None where there was no opinion at the moment before."""
        start = values[values.index.get_level_values(0) == before].dropna()
        if start.empty:
            return None
        sd = start.std(ddof=0)
        varies = bool(sd > SMALLEST_SD) and not points
        if not keep:
            values = sign * (values - start.mean()) / (sd if varies else 1.0)
        return cls(values.fillna(0.0).unstack("moment"), varies)

    def changes(self, since: int, moments: Sequence[int]) -> list[Interval | None]:
        """The mean change of the prompts up to each moment; None where no question was asked at both. Against that
        moment itself there is none, and that is certain."""
        span = float(self.values.max().max() - self.values.min().min())
        steps = self.values.sub(self.values[since], axis=0).groupby("prompt_id").mean().reindex(columns=moments)
        changes: list[Interval | None] = []
        for moment in moments:
            change = interval(steps[moment].dropna().tolist(), span)
            if moment == since and change.units > 1:
                change = change._replace(half=0.0)
            changes.append(change if change.units else None)
        return changes

    def fall(self, updates: Sequence[int]) -> tuple[int, Interval] | None:
        """The highest moment before the newest, and how far the values have fallen since then; None unless by more than
        a trifle and chance: one look at each evaluation, each at the highest of those before, and all of them together
        are wrong in 5 % of runs that stand still at most (Bonferroni; 1 / (k (k + 1)) of all looks adds up to 1)."""
        changes = zip(updates[:-1], self.changes(updates[0], updates), strict=False)
        means = {update: change.mean for update, change in changes if change is not None}
        if not means:
            return None
        top = max(means, key=lambda update: means[update])
        looks = len(means)
        strict = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / (looks * looks * (looks + 1)))
        fall = self.changes(top, updates[-1:])[0]
        if fall is None or fall.units < 2 or -fall.mean < SMALLEST:
            return None
        if fall.mean + students_t(strict, fall.units - 1) * fall.error < 0:
            return (top, fall)
        return None
