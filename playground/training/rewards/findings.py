"""What the reward self-test reports, and what its figures mean. Plain data and plain numbers; knows no model.

`format_check` measures and fills these in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from playground.rewards import agreement
from playground.training.rewards.pair_report import wilson_interval

LEVELS = ("ok", "warn", "fail")
LUCK = 0.01  # a difference that luck alone would show less often than this is no luck
LOW_ACCURACY, LOW_GENERIC_ACCURACY = 0.65, 0.75
GOOD_ACCURACY = 0.75  # pairs that do not shut this out cannot say that a model only guesses
CLEARER, ERRORS = 1.5, 4  # a margin larger by this factor, and by so many standard errors, is a sign by itself
FEWEST = 8  # pairs; of fewer a standard error says too little


@dataclass
class Finding:
    """One thing that was found, in words."""

    level: str
    name: str
    text: str


@dataclass
class FormatRow:
    """The pairs under one form.

    Margin: score of the good completion less that of the bad one. Pair by pair against the form in force, each with
    its standard error: `ahead` in accuracy, `gain` in margin. `better_by_luck`: how likely luck alone would put it so
    far ahead in accuracy. `mend`: what to do if this form is the right one; empty where nothing can be set.
    """

    name: str
    help: str
    in_force: bool
    accuracy: float
    margin: float
    margin_error: float
    ahead: float
    ahead_error: float
    gain: float
    gain_error: float
    better_by_luck: float
    example: str
    mend: str


@dataclass
class Cost:
    """What holding the reward model in fewer bits costs, on completions of the model that would be trained."""

    quantization: str
    bytes_full: int
    bytes_held: int
    rank_correlation: float | None
    pair_agreement: float | None
    completions: int


@dataclass
class Report:
    """All of it. What could not be measured, because the model was refused, is empty."""

    name: str
    source: str
    verdict: str = "ok"
    findings: list[Finding] = field(default_factory=list)
    template: str = ""
    output: str = ""
    max_length: int | None = None
    bytes_held: int = 0
    example: dict[str, Any] = field(default_factory=dict)
    lengths: dict[str, Any] = field(default_factory=dict)
    good: dict[str, Any] = field(default_factory=dict)
    bad: dict[str, Any] = field(default_factory=dict)
    reference: dict[str, Any] = field(default_factory=dict)
    pairs: dict[str, Any] = field(default_factory=dict)
    formats: list[FormatRow] = field(default_factory=list)
    cost: Cost | None = None

    def say(self, level: str, name: str, text: str) -> None:
        """Add a finding; the verdict is the worst of them."""
        self.findings.append(Finding(level, name, text))
        self.verdict = max(self.verdict, level, key=LEVELS.index)


def judge_accuracy(report: Report, right: Sequence[float], source: str, *, generic: bool) -> None:
    """What the accuracy in the form in force means. `right`: of each pair 1, 0, or 1/2 where both score the same."""
    accuracy = math.fsum(right) / len(right)
    wins, losses = sum(value == 1 for value in right), sum(value == 0 for value in right)
    on = f"{len(right)} pairs ({source})"
    if agreement.at_least(losses, wins + losses) < LUCK:
        report.say(
            "fail",
            "bad beats good",
            f"The bad completion scores higher in {1 - accuracy:.0%} of {on}: the wrong label is rewarded, or chosen "
            "and rejected are exchanged. A negative weight turns a reward round.",
        )
    elif generic:
        if accuracy < LOW_GENERIC_ACCURACY:
            report.say(
                "warn",
                "low accuracy",
                f"Right on {accuracy:.0%} of {on}. They may not be what this model judges; give pairs of your own.",
            )
    elif agreement.at_least(wins, wins + losses) > LUCK and wilson_interval(accuracy, len(right))[1] >= GOOD_ACCURACY:
        report.say(
            "warn",
            "too few pairs",
            f"Right on {accuracy:.0%} of {on}: too few to tell this from guessing, which is right on 50%. Give more "
            "pairs.",
        )
    elif agreement.at_least(wins, wins + losses) > LUCK:
        report.say(
            "fail",
            "cannot tell good from bad",
            f"Right on {accuracy:.0%} of {on}; guessing is right on 50%. PPO would learn noise.",
        )
    elif accuracy < LOW_ACCURACY:
        report.say("warn", "low accuracy", f"Right on only {accuracy:.0%} of {on}; guessing is right on 50%.")


def judge_formats(report: Report) -> None:
    """Another form that does better, beyond luck, is what the model was trained on, or nearer to it.

    More pairs right is a failure of the form in force. As many right, but told apart far more clearly, is a warning:
    the difference of two scores is the model's own log-odds that one is better (Bradley and Terry), and it shrinks
    where the model reads what it does not know.
    """
    mine, count = next(row for row in report.formats if row.in_force), report.pairs.get("count", 0)
    others = [row for row in report.formats if not row.in_force]
    better = [row for row in others if row.better_by_luck * len(others) < LUCK]
    clearer = [row for row in others if row.mend and count >= FEWEST and _clearer(row, mine)]
    if better:
        best = better[0]
        figures = (
            f"`{best.name}` is right on {best.accuracy:.0%} of the pairs, the form in force on {mine.accuracy:.0%}"
        )
        level = "fail" if best.mend else "warn"
        mend = best.mend or "This model was not trained to read prompt and completion together in this form."
        also = f" Also better: {', '.join(row.name for row in better[1:])}." if better[1:] else ""
        report.say(level, f"better: {best.name}", f"{figures}: it does not fit the model. {mend}{also}")
    elif clearer:
        best = max(clearer, key=lambda row: row.margin)
        report.say(
            "warn",
            f"clearer: {best.name}",
            f"`{best.name}` tells good from bad by {best.margin:.2f} on average, the form in force by only "
            f"{mine.margin:.2f}: the model was probably trained on another form. {best.mend}",
        )


def _clearer(row: FormatRow, mine: FormatRow) -> bool:
    larger = row.margin > CLEARER * max(mine.margin, 0) and row.gain > ERRORS * row.gain_error
    return row.accuracy >= mine.accuracy and larger
