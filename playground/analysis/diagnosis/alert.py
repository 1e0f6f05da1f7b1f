"""What a check is, and when a figure has become a trend: three of the newest five updates, never a single point."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from playground.analysis.diagnosis.run_records import WINDOW, Change, Records, Remedy, Values

State = Literal["quiet", "amber", "red", "not measured"]
Remedies = tuple[Remedy, ...]
ENOUGH = 3  # of the newest updates make a trend
TEN = 10  # updates that are taken together where a trend would be too short
TEST_REWARD = Remedy("test the reward on the Rewards page", {})


class Alert(NamedTuple):
    """What one check says of a run: its rule, the updates at which it was seen, the values in words, the likely cause
    and what to try; `series` is the figure in whose chart the updates can be marked, `plain` what has happened, for who
    knows none of these words."""

    name: str
    label: str
    state: State
    rule: str
    updates: list[int]
    evidence: str
    cause: str = ""
    remedies: Remedies = ()
    series: str = ""
    plain: str = ""

    @property
    def lit(self) -> bool:
        return self.state in ("red", "amber")

    def as_data(self) -> dict[str, Any]:
        """As programs read it; `remedy` says in words what `remedies` has as settings."""
        return {**self._asdict(), "remedy": "; or ".join(remedy.words for remedy in self.remedies)}


class Evidence(NamedTuple):
    """What a check has seen, what to try, and the likely cause where that depends on what was seen."""

    state: State
    updates: list[int]
    evidence: str
    remedies: Remedies = ()
    cause: str = ""


Check = Callable[[Records], Evidence]  # raises NotMeasured where there is nothing to see


def quiet(evidence: str) -> Evidence:
    return Evidence("quiet", [], evidence)


def meant(evidence: str, change: Change) -> Evidence:
    """Nothing is wrong: what was seen is what a setting was changed for."""
    words = change.in_words()
    return quiet(f"{evidence} {words[0].upper()}{words[1:]}, which is meant to do that.")


def trend(values: Values, bad: Callable[[float], bool]) -> list[int]:
    """The newest updates at which a figure was bad, where they make a trend; else none."""
    updates = [update for update, value in values[-WINDOW:] if bad(value)]
    if len(updates) >= ENOUGH:
        return updates
    return []


def worst(red: object = None, amber: object = None) -> State:
    """Red where there is what is red, else amber where there is what is amber."""
    if red:
        return "red"
    if amber:
        return "amber"
    return "quiet"


def graded(
    values: Values, amber: float, red: float, beyond: Callable[[float, float], bool] = operator.gt
) -> tuple[State, list[int]]:
    """The worse of two states whose trend is there, and its updates. `beyond`: above the thresholds, or below them."""
    if updates := trend(values, lambda value: beyond(value, red)):
        return "red", updates
    updates = trend(values, lambda value: beyond(value, amber))
    return worst(amber=updates), updates
