"""What the reward pays for: which of its terms bring the gain, and where reward and behaviour disagree (a behaviour
became worse while the score rose)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from playground.analysis.before_after import BeforeAfter, outcome
from playground.analysis.intervals import interval
from playground.analysis.meters import Meter, marks_of, of_pairs
from playground.config import RunConfig
from playground.rewards import behaviours as counted
from playground.rewards.agreement import t95
from playground.runs.folder.records import Sample

NEWEST = 5  # updates that are averaged: single batches are noisy
SMALLEST_GAIN = 0.1  # of the score's unit; shares of less than this say nothing
FEWEST = 3  # answers that show a behaviour, and that do not, to tell what it earns


class ScoredText(NamedTuple):
    """A completion with its score."""

    text: str
    score: float | None

    @classmethod
    def of(cls, item: Sample) -> ScoredText:
        return cls(item.completion, item.score)


class PaidPair(NamedTuple):
    """One prompt, answered before and after."""

    prompt: str
    before: ScoredText
    after: ScoredText


class Paid(NamedTuple):
    """A behaviour that became worse while the score rose, and the pair that shows it best, if any does."""

    name: str
    sentence: str
    pair: PaidPair | None


def paid(config: RunConfig, joined: Sequence[BeforeAfter]) -> list[Paid]:
    """Where reward and behaviour disagree: the score rose by more than chance, and a behaviour became worse by more
    than chance. What the reward pays best comes first."""
    gained = outcome(joined)
    if gained is None or not gained.low > 0:
        return []
    entries = [_paid(meter, joined, config) for meter in of_pairs(config, joined) if meter.worse]
    return [item for _, item in sorted(entries, key=lambda pair: -pair[0])]


def _paid(meter: Meter, joined: Sequence[BeforeAfter], config: RunConfig) -> tuple[float, Paid]:
    """How much more a completion scores that does what is not wanted, and the same in words."""
    behaviours = counted.of_config(config)
    bad = meter.aim == "less"
    marks = [[marks_of(side, behaviours).get(meter.name) for side in pair] for pair in joined]
    premium, half = earned(
        (side, pair[side].prompt_id, pair[side].score, mark[side])
        for pair, mark in zip(joined, marks, strict=True)
        for side in (0, 1)
    )
    turned = [pair for pair, mark in zip(joined, marks, strict=True) if mark == [not bad, bad]]
    best = max(turned, key=lambda pair: -math.inf if pair.gain is None else pair.gain, default=None)
    pair = best and PaidPair(best.after.prompt, ScoredText.of(best.before), ScoredText.of(best.after))
    return premium if bad else -premium, Paid(meter.name, _paid_sentence(meter, premium, half, config.score_unit), pair)


def earned(answers: Iterable[tuple[int, int, float | None, bool | None]]) -> tuple[float, float]:
    """How much more answers with a mark score than those without, within each evaluation (one where all are alike says
    nothing; if both do, over the two), and half of its 95 % interval (Student's t, one spread for all): not a number
    where fewer than `FEWEST` show it, or do not. Answers (evaluation, prompt, score, mark) of one prompt and mark count
    as one."""
    from pandas import DataFrame  # half a second

    table = DataFrame(answers, columns=["at", "prompt", "score", "mark"]).dropna().astype({"mark": bool})
    if table["mark"].nunique() < 2:
        return 0.0, math.nan
    means = table.groupby(["at", "mark", "prompt"], as_index=False)["score"].mean()
    both = means.groupby("at")["mark"].transform("nunique") == 2
    means = means[both] if both.any() else means.assign(at=0)
    cells = means.groupby(["at", "mark"])["score"]
    mean, size = cells.mean().unstack(), cells.size().unstack()
    weight = size[True] * size[False] / size.sum(axis=1)
    premium = float(((mean[True] - mean[False]) * weight).sum() / weight.sum())
    if size.sum().min() < FEWEST:
        return premium, math.nan
    degrees = len(means) - cells.ngroups
    apart = ((means["score"] - cells.transform("mean")) ** 2).sum()
    return premium, t95(degrees + 1) * math.sqrt(apart / degrees / weight.sum())


def _paid_sentence(meter: Meter, premium: float, half: float, unit: str) -> str:
    pays = premium > 0 if meter.aim == "less" else premium < 0
    begin = "The reward does not ask for it, and does not stop it"
    if half != 0 and not abs(premium) > half:
        begin = "Whether the reward pays for it cannot be told from chance"
    elif pays:
        begin = "The reward pays for it"
    wish = "less often" if meter.aim == "more" else "more often"
    by = _premium_in_words(premium, half, unit)
    return f"It {meter.words} {wish}. {begin}: an answer that {meter.words} scores {by} one that does not."


def _premium_in_words(premium: float, half: float, unit: str) -> str:
    """By how much, before "one that does not"."""
    side = "more" if premium > 0 else "less"
    if half >= 0.005:
        return f"{abs(premium):.3g} \u00b1 {half:.2g} {unit} {side} than"
    if abs(premium) < 0.005:
        return "as much as"
    return f"{abs(premium):.3g} {unit} {side} than"


def shares_sentence(contributions: Mapping[str, Sequence[float | None]]) -> str:
    """Where the gain of the newest updates comes from, those in which all terms have one; empty where there are fewer
    than two terms, or one update. `contributions`: label -> what a term adds, by update."""
    newest = {label: values[-NEWEST:] for label, values in contributions.items()}
    newest = {label: values for label, values in newest.items() if any(value is not None for value in values)}
    rows = [[gain for gain in row if gain is not None] for row in zip(*newest.values(), strict=True)]
    rows = [row for row in rows if len(row) == len(newest)]
    if len(newest) < 2 or len(rows) < 2:
        return ""
    gains = dict(zip(newest, map(fmean, zip(*rows, strict=True)), strict=True))
    givers = sorted((label for label in gains if gains[label] >= SMALLEST_GAIN / 2), key=lambda label: -gains[label])
    net = interval(map(math.fsum, rows))
    if not givers or net.mean <= (net.half or 0.0) or net.mean < SMALLEST_GAIN:
        return "In the newest training batches no reward brings a gain beyond chance."
    total = math.fsum(gains[label] for label in givers)
    if len(givers) == 1:
        return f"In the newest training batches all of the gain comes from {givers[0]}."
    percents = {label: f"{100 * gains[label] / total:.0f} %" for label in givers}
    first, *remaining = givers
    parts = [f"{percents[label]} from {label}" for label in remaining]
    begin = f"In the newest training batches {percents[first]} of the gain comes from {first}"
    return f"{begin}, {' and '.join(parts)}."
