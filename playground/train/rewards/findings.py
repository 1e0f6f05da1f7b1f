"""What the reward self-test (`format_check`) reports, and what its figures mean. Plain data; knows no model.

`self_test.toml` has everything that it may find, with what to do about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from playground.rewards import agreement
from playground.train.rewards.pair_report import Numbers, right_of
from playground.train.rewards.variants import WORDS, Variant

LEVELS = ("ok", "warn", "fail")
LUCK = 0.01  # a difference that luck alone would show less often than this is no luck
LOW_ACCURACY, LOW_GENERIC_ACCURACY = 0.65, 0.75
GOOD_ACCURACY = 0.75  # pairs that do not shut this out cannot say that a model only guesses


class Tried(NamedTuple):
    """The pairs under one form: of each the score of the good completion less that of the bad one."""

    form: Variant
    margins: Numbers

    @property
    def right(self) -> list[float]:
        """Of each pair 1, 0, or 1/2 where both score the same."""
        found: list[float] = right_of(self.margins).tolist()
        return found

    @property
    def accuracy(self) -> float:
        """How often good beats bad."""
        return fmean(self.right)

    def row(self, in_force: Tried, example: str) -> dict[str, Any]:
        """What is shown of it. `ahead`: of the form in force, in accuracy, pair by pair; each error is a standard
        error."""
        ahead, ahead_error = agreement.mean_and_error(np.subtract(self.right, in_force.right).tolist())
        margin, margin_error = agreement.mean_and_error(self.margins.tolist())
        return {
            "name": self.form.name,
            "help": self.form.help,
            "in_force": self is in_force,
            "accuracy": self.accuracy,
            "margin": margin,
            "margin_error": margin_error,
            "ahead": ahead,
            "ahead_error": ahead_error,
            "example": example,
        }


@dataclass
class RewardReport:
    """All of it; empty what could not be measured. A finding has a `level`, a `name` and a `text`."""

    name: str
    source: str
    verdict: str = "ok"
    findings: list[dict[str, str]] = field(default_factory=list)
    template: str = ""
    output: str = ""
    max_length: int | None = None
    bytes_held: int = 0
    cost: dict[str, Any] | None = None  # of fewer bits, against the same network in full
    example: dict[str, Any] = field(default_factory=dict)
    lengths: dict[str, Any] = field(default_factory=dict)
    good: dict[str, Any] = field(default_factory=dict)
    bad: dict[str, Any] = field(default_factory=dict)
    reference: dict[str, Any] = field(default_factory=dict)
    pairs: dict[str, Any] = field(default_factory=dict)
    formats: list[dict[str, Any]] = field(default_factory=list)

    def say(self, finding: str, **figures: Any) -> None:
        """Add one of the findings of `self_test.toml`; the verdict is the worst of them."""
        found = {name: text.format(**figures) for name, text in WORDS["findings"][finding].items()}
        self.findings.append(found)
        self.verdict = max(self.verdict, found["level"], key=LEVELS.index)


def judge_accuracy(report: RewardReport, right: Sequence[float], source: str, *, generic: bool) -> None:
    """What the accuracy in the form in force means. `right`: of each pair 1, 0, or 1/2 where both score the same."""
    accuracy, wins, losses = fmean(right), right.count(1), right.count(0)
    guessing = agreement.at_least(wins, wins + losses) > LUCK
    found = ""
    if agreement.at_least(losses, wins + losses) < LUCK:
        found = "bad beats good"
    elif generic:
        found = "low accuracy on built-in pairs" if accuracy < LOW_GENERIC_ACCURACY else ""
    elif guessing:
        found = "too few pairs" if agreement.wilson(accuracy, len(right))[1] >= GOOD_ACCURACY else "guessing"
    elif accuracy < LOW_ACCURACY:
        found = "low accuracy"
    if found:
        report.say(found, right=accuracy, wrong=1 - accuracy, on=f"{len(right)} pairs ({source})")


def judge_formats(report: RewardReport, mine: Tried, others: Sequence[Tried]) -> None:
    """Another form that is right on more pairs, beyond luck, is what the model was trained on, or nearer to it.

    Args:
        mine: the form in force. others: the best first.
    """
    better = [tried for tried in others if agreement.chance_that_better(mine.right, tried.right) * len(others) < LUCK]
    if better:
        first, *rest = better
        also = f" Also better: {', '.join(tried.form.name for tried in rest)}." if rest else ""
        report.say("better" if first.form.mend else "better without", tried=first, mine=mine, also=also)
