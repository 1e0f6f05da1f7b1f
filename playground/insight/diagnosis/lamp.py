"""What a lamp is, what it reads, and when a figure has become a trend.

A lamp lights on a trend (three of the newest five updates), not on a point, and its thresholds are relative: to the
first updates, to the entropy of the reference's own texts, to chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from statistics import fmean
from typing import Any, Literal, NamedTuple

from playground.config import RunConfig
from playground.errors import InvalidConfig, Problem
from playground.insight import before_after
from playground.insight.before_after import Outcome
from playground.runs.folder.records import EDIT, FORK, Event, Sample, UpdateMetrics

State = Literal["quiet", "amber", "red", "not measured"]
WINDOW, ENOUGH = 5, 3  # a trend: so many of the newest updates
TEN = 10  # updates that are looked at together where a trend would be too short
FIRST = 3  # updates whose mean stands for the beginning
Values = Sequence[tuple[int, float]]  # update and value, where it is known


def _from(default: float, words: str) -> Any:
    return field(default=default, metadata={"words": words})


@dataclass(frozen=True)
class Thresholds:
    """From where on a lamp lights. They change no training; the words of each say what it is of, and in what."""

    settled: float = _from(20, "Updates before which nothing is said of what needs time")
    kl_amber: float = _from(0.6, "KL, amber: share of the entropy of the reference's own texts")
    kl_red: float = _from(1.0, "KL, red: the same")
    swing: float = _from(10.0, "Adaptive beta, red: times as large within ten updates")
    kl_negative: float = _from(0.05, "KL below zero, red: nats per completion")
    entropy_amber: float = _from(0.5, "Entropy, amber: share of that of the first updates")
    entropy_red: float = _from(0.1, "Entropy, red: the same")
    spread_amber: float = _from(0.25, "Spread of the score, amber: share of that of the first updates")
    spread_red: float = _from(0.05, "Spread of the score, red: the same")
    variety_amber: float = _from(0.5, "Different word pairs, amber: share of those of the first updates")
    variety_red: float = _from(0.25, "Different word pairs, red: the same")
    length: float = _from(2.0, "Length, amber: times as long or as short as at first")
    cut_off: float = _from(0.5, "Cut off, red: share of completions that do not end by themselves")
    repeated: float = _from(0.25, "Repetition, red: share of the word pairs of a completion")
    strange_amber: float = _from(3.0, "Perplexity under the reference, amber: times that of the first updates")
    strange_red: float = _from(30.0, "Perplexity under the reference, red: the same")
    rise: float = _from(1.5, "Perplexity under the reference, for KL and entropy to light: times that of update 1")
    misread: float = _from(0.25, "Reward model misread, red: standard deviations of its scores")
    clip_amber: float = _from(0.3, "Clipped, amber: share of the tokens")
    clip_red: float = _from(0.5, "Clipped, red: the same")
    ratio: float = _from(100.0, "Largest probability ratio, red")
    gradient: float = _from(100.0, "Gradient, amber: times its median")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Thresholds:
        """The defaults with others in the place of some; numbers may come as text.

        Raises:
            InvalidConfig: with every name that there is not, and every value that is no number of at least 0.
        """
        names, problems, found = {one.name for one in fields(cls)}, [], {}
        for name, value in given.items():
            try:
                found[name] = float(value)
            except (TypeError, ValueError):
                found[name] = math.nan
            if name not in names:
                problems.append(Problem(name[:60], f"is no threshold; there are {', '.join(sorted(names))}."))
            elif not 0 <= found[name] < math.inf:
                problems.append(Problem(name, f"must be a number of at least 0 (got {str(value)[:40]})."))
        if problems:
            raise InvalidConfig(problems)
        return cls(**found)


class Remedy(NamedTuple):
    """What to try: in words, and as settings; `live` where a run that trains takes it without a restart."""

    words: str
    changes: dict[str, Any]
    live: bool = False


WORDS = {
    "kl.coef": "beta", "kl.target": "the target KL", "ppo.learning_rate": "the learning rate",
    "ppo.clip_range": "the clip range", "ppo.entropy_coef": "the entropy bonus",
}  # fmt: skip


class Change(NamedTuple):
    """A setting that somebody changed when so many updates were done, or with which a fork began."""

    update: int
    field: str
    old: float
    new: float

    @property
    def tighter(self) -> bool:
        """Whether it holds the policy nearer to the reference."""
        return self.new > self.old if self.field == "kl.coef" else self.field == "kl.target" and self.new < self.old

    @property
    def looser(self) -> bool:
        """Whether it lets the policy go further."""
        return self.field in ("kl.coef", "kl.target") and self.new != self.old and not self.tighter

    def told(self) -> str:
        """In words: beta was raised from 0.25 to 3 after update 20."""
        way = "raised" if self.new > self.old else "lowered"
        return f"{WORDS[self.field]} was {way} from {self.old:g} to {self.new:g} after update {self.update}"


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

    def where_stranger(self, values: Values) -> list[tuple[int, float]]:
        """A figure, not a number at the updates whose texts the reference does not find stranger than those of the
        first update, which it wrote itself."""
        perplexity = self.values("perplexity_reference")
        risen = {update for update, value in perplexity if value > self.at.rise * perplexity[0][1]}
        return [(update, value if update in risen else math.nan) for update, value in values]

    @cached_property
    def updates(self) -> int:
        return self.metrics[-1].update if self.metrics else 0

    @cached_property
    def outcome(self) -> Outcome | None:
        """The fixed prompts before training against the newest look."""
        return before_after.outcome(before_after.pairs(self.samples))

    @cached_property
    def changes(self) -> list[Change]:
        """The settings that were changed in mid-run or by a fork, and in the runs that a fork comes from, in order."""
        found: list[Change] = []
        for event in self.events:
            new, old = event.data.get("changed"), event.data.get("before")
            told: list[tuple[Any, ...]] = []
            if event.kind == EDIT:
                told = [(event.update, *(event.data.get(name) for name in ("field", "old", "value")))]
            elif event.kind == FORK and isinstance(new, dict):
                earlier = event.data.get("earlier")
                for one in earlier if isinstance(earlier, list) else ():
                    if isinstance(one, dict) and isinstance(one.get("update"), int):
                        told.append(tuple(map(one.get, ("update", "field", "old", "value"))))
                used = {"kl.coef": dict(self.values("kl_coef")).get(event.update)}  # of a fork that does not tell more
                was = old if isinstance(old, dict) else used
                told += [(event.update, name, was.get(name), value) for name, value in new.items()]
            found += [
                Change(update, str(name), float(old), float(new))
                for update, name, old, new in told
                if str(name) in WORDS and isinstance(old, (int, float)) and isinstance(new, (int, float)) and old != new
            ]
        return found

    def held_back(self, since: int = 0) -> Change | None:
        """The newest change that held the policy nearer to the reference, made when `since` updates were done or later,
        where the KL has fallen after it, which it was made for."""
        kl = self.values("kl_to_reference")
        for change in reversed(self.changes):
            before = [value for update, value in kl if update <= change.update][-WINDOW:]
            after = [value for update, value in kl if update > change.update][-WINDOW:]
            if change.tighter and change.update >= since and before and after:
                return change if fmean(after) < fmean(before) else None
        return None

    def setting(self, name: str) -> float:
        """What holds now of a setting that can be changed in mid-run."""
        if name == "kl.coef" and self.metrics and self.config.kl.moves:
            return self.metrics[-1].kl_coef
        told = [event.data for event in self.events if event.kind == EDIT and event.data.get("field") == name]
        part, key = name.split(".")
        value = told[-1].get("value") if told else None
        return float(value if isinstance(value, (int, float)) else getattr(getattr(self.config, part), key))

    def milder(self, name: str, factor: float) -> Remedy:
        """The same run with a setting that is larger or smaller by a factor than it is now."""
        value = float(f"{self.setting(name) * factor:.3g}")
        return Remedy(f"{'raise' if factor > 1 else 'lower'} {WORDS[name]} to {value:g}", {name: value}, live=True)

    def more_leash(self) -> Remedy:
        """What somebody took of it, put back; else beta doubled, or set where there is none to raise."""
        leash = [change for change in self.changes if change.tighter or change.looser]
        if leash and leash[-1].looser:
            field, old = leash[-1].field, leash[-1].old
            return Remedy(f"set {WORDS[field]} back to {old:g}", {field: old}, live=True)
        if not self.setting("kl.coef"):
            return Remedy("set beta to 0.25", {"kl.coef": 0.25}, live=True)
        return self.milder("kl.coef", 2.0)

    def more_entropy(self) -> Remedy:
        """An entropy bonus, or twice the one that there is."""
        value = self.setting("ppo.entropy_coef")
        if value < 0.01:
            return Remedy("add an entropy bonus of 0.01", {"ppo.entropy_coef": 0.01}, live=True)
        return self.milder("ppo.entropy_coef", 2.0)


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
    records: Records,
    lamp: Lamp,
    amber: Callable[[float], bool],
    red: Callable[[float], bool],
    figure: str = ".2f",
    seen: Callable[[Values], Values] = list,
) -> Lamp:
    """The lamp of a figure that is held against its own first updates.

    Args:
        lamp: as it is where it lights, evidence apart, which here says why it may not be measured. amber, red: of a
            value as a share of the beginning. figure: how a value is written; a unit may follow behind a space. seen:
            the values by which it may light.
    """
    begins, values = records.begins(lamp.series), seen(records.values(lamp.series))
    if not begins or len(values) < WINDOW:
        return without(lamp.name, lamp.label, lamp.rule, lamp.evidence)
    state, updates = graded(values, lambda value: amber(value / begins), lambda value: red(value / begins))
    form, _, unit = figure.partition(" ")
    evidence = f"{begins:{form}}{f' {unit}' if unit else ''} at first, {records.now(lamp.series):{form}} now."
    if state == "quiet":
        return Lamp(lamp.name, lamp.label, state, lamp.rule, [], evidence)
    return lamp._replace(state=state, updates=updates, evidence=evidence)


def meant(lamp: Lamp, change: Change) -> Lamp:
    """The lamp, quiet: what it saw is what somebody changed a setting for."""
    said = change.told()
    evidence = f"{lamp.evidence} {said[0].upper()}{said[1:]}, which is meant to do this."
    return Lamp(lamp.name, lamp.label, "quiet", lamp.rule, [], evidence)


def without(name: str, label: str, rule: str, why: str) -> Lamp:
    """A lamp that was not measured, and why."""
    return Lamp(name, label, "not measured", rule, [], why)
