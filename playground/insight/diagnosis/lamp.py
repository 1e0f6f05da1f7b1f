"""What a lamp is, what it reads, and when a figure has become a trend.

A lamp lights on a trend (three of the newest five updates), not on a point, and its thresholds are relative: to the
first updates, to the entropy of the reference's own texts, to chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any, Literal, NamedTuple

from playground.config import RunConfig
from playground.insight import before_after
from playground.insight.before_after import Outcome
from playground.runs.folder.records import Event, Sample, UpdateMetrics

State = Literal["quiet", "amber", "red", "not measured"]
WINDOW, ENOUGH = 5, 3  # a trend: so many of the newest updates
FIRST = 3  # updates whose mean stands for the beginning
Values = Sequence[tuple[int, float]]  # update and value, where it is known


@dataclass(frozen=True)
class Thresholds:
    """From where on a lamp lights. They change no training.

    Attributes:
        settled: updates before which nothing is said of what needs time. kl_amber, kl_red: KL to the reference as a
            share of the entropy of the reference's own texts. kl_negative: nats per completion. entropy_*, spread_*,
            variety_*: as a share of the first updates. length: factor up or down. cut_off: share of completions that
            do not end by themselves. repeated: share of word pairs. strange: factor of the perplexity under the
            reference. misread: standard deviations of a reward
            model's scores. clip_*: share of tokens. ratio: largest probability ratio. gradient: factor of its median.
    """

    settled: int = 20
    kl_amber: float = 0.6
    kl_red: float = 1.0
    kl_negative: float = 0.05
    entropy_amber: float = 0.5
    entropy_red: float = 0.1
    spread_amber: float = 0.25
    spread_red: float = 0.05
    variety_amber: float = 0.5
    variety_red: float = 0.25
    length: float = 2.0
    cut_off: float = 0.5
    repeated: float = 0.25
    strange_amber: float = 3.0
    strange_red: float = 30.0
    misread: float = 0.25
    clip_amber: float = 0.3
    clip_red: float = 0.5
    ratio: float = 100.0
    gradient: float = 100.0


class Remedy(NamedTuple):
    """What to try: in words, and as settings; `live` where a run that trains takes it without a restart."""

    words: str
    changes: dict[str, Any]
    live: bool = False


class Lamp(NamedTuple):
    """One thing that can be wrong.

    Attributes:
        rule: when it lights, thresholds included. updates: at which it was seen. evidence: the values, in words.
        cause: the likely one; remedies: what to try; both empty while it is quiet. series: the figure of an update in
            whose chart the updates can be marked.
    """

    name: str
    label: str
    state: State
    rule: str
    updates: list[int]
    evidence: str
    cause: str = ""
    remedies: tuple[Remedy, ...] = ()
    series: str = ""

    def as_data(self) -> dict[str, Any]:
        """As plain data; `remedy` says in words what `remedies` has as settings."""
        remedies = [remedy._asdict() for remedy in self.remedies]
        return {**self._asdict(), "remedy": "; or ".join(one.words for one in self.remedies), "remedies": remedies}


@dataclass(frozen=True)
class Records:
    """What a run has written down, as the lamps read it."""

    config: RunConfig
    metrics: Sequence[UpdateMetrics]
    samples: Sequence[Sample] = ()
    events: Sequence[Event] = ()
    at: Thresholds = field(default_factory=Thresholds)

    def values(self, name: str) -> list[tuple[int, float]]:
        """A figure of the updates, where it is known."""
        found = [(item.update, getattr(item, name)) for item in self.metrics]
        return [(update, float(value)) for update, value in found if value is not None]

    def begins(self, name: str) -> float | None:
        """The mean of a figure over the first updates."""
        known = [value for _, value in self.values(name)[:FIRST]]
        return fmean(known) if known else None

    def now(self, name: str) -> float | None:
        """The same over the newest."""
        known = [value for _, value in self.values(name)[-WINDOW:]]
        return fmean(known) if known else None

    @cached_property
    def updates(self) -> int:
        return self.metrics[-1].update if self.metrics else 0

    @cached_property
    def outcome(self) -> Outcome | None:
        """The fixed prompts before training against the newest look."""
        return before_after.outcome(before_after.pairs(self.samples))

    def milder(self, name: str, factor: float) -> Remedy:
        """The same run with a setting that is larger or smaller by a factor."""
        part, key = name.split(".")
        value = float(f"{getattr(getattr(self.config, part), key) * factor:.3g}")
        words = {"kl.coef": "beta", "ppo.learning_rate": "the learning rate"}[name]
        return Remedy(f"{'raise' if factor > 1 else 'lower'} {words} to {value:g}", {name: value}, live=True)

    def more_leash(self) -> Remedy:
        """Beta, where there is none to raise."""
        if not self.config.kl.coef:
            return Remedy("set beta to 0.25", {"kl.coef": 0.25}, live=True)
        return self.milder("kl.coef", 2.0)


def trend(values: Values, bad: Callable[[float], bool]) -> list[int]:
    """The newest updates at which a figure was bad, where they make a trend; else none."""
    found = [update for update, value in values[-WINDOW:] if bad(value)]
    return found if len(found) >= ENOUGH else []


def graded(values: Values, amber: Callable[[float], bool], red: Callable[[float], bool]) -> tuple[State, list[int]]:
    """The worse of two states whose trend is there, and the updates that make it."""
    for state, bad in (("red", red), ("amber", amber)):
        found = trend(values, bad)
        if found:
            return state, found  # type: ignore[return-value]
    return "quiet", []


def since_the_beginning(
    records: Records, lamp: Lamp, amber: Callable[[float], bool], red: Callable[[float], bool], figure: str = ".2f"
) -> Lamp:
    """The lamp of a figure that is held against its own first updates.

    Args:
        lamp: as it is where it lights, evidence apart, which here says why it may not be measured. amber, red: of a
            value as a share of the beginning. figure: how a value is written; a unit may follow behind a space.
    """
    begins, values = records.begins(lamp.series), records.values(lamp.series)
    if not begins or len(values) < WINDOW:
        return without(lamp.name, lamp.label, lamp.rule, lamp.evidence)
    state, updates = graded(values, lambda value: amber(value / begins), lambda value: red(value / begins))
    form, _, unit = figure.partition(" ")
    evidence = f"{begins:{form}}{f' {unit}' if unit else ''} at first, {records.now(lamp.series):{form}} now."
    if state == "quiet":
        return Lamp(lamp.name, lamp.label, state, lamp.rule, [], evidence)
    return lamp._replace(state=state, updates=updates, evidence=evidence)


def without(name: str, label: str, rule: str, why: str) -> Lamp:
    """A lamp that was not measured, and why."""
    return Lamp(name, label, "not measured", rule, [], why)
