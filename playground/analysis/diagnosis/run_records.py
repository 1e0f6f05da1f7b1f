"""The records of a run as the checks read them, and the remedies, which start from the settings that hold now."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from playground.analysis import before_after
from playground.analysis.before_after import Outcome
from playground.config import RunConfig
from playground.config.parts import Part
from playground.runs.folder.records import EDIT, FORK, Event, Sample, UpdateMetrics

WINDOW = 5  # the newest updates, of which some make a trend
FIRST = 3  # updates whose mean stands for the beginning
Values = Sequence[tuple[int, float]]  # update and value, where it is known
Limit = Annotated[float, Field(ge=0)]


class Thresholds(Part):
    """From where on a check is lit. They change no training."""

    settled: Limit = 20  # updates before which nothing is said of what needs time
    moved: Limit = 0.3  # KL of a run that hardly moves, amber: nats per completion
    kl_amber: Limit = 0.6  # KL, amber: share of the entropy of the reference's own texts
    kl_red: Limit = 1.0  # KL, red: the same
    kl_nats: Limit = 15.0  # KL in another trainer's log, amber: nats per completion
    kl_token: Limit = 0.35  # KL in another trainer's log, amber: nats per token, where the length is known
    swing: Limit = 10.0  # adaptive beta, red: times as large within ten updates
    kl_negative: Limit = 0.05  # KL below zero, red: nats per completion
    entropy_amber: Limit = 0.5  # entropy, amber: share of that of the first updates
    entropy_red: Limit = 0.1  # entropy, red: the same
    spread_amber: Limit = 0.25  # spread of the score, amber: share of that of the first updates
    spread_red: Limit = 0.05  # spread of the score, red: the same
    groups_amber: Limit = 0.5  # groups with one score, amber: share of the prompts of a batch
    groups_red: Limit = 0.9  # groups with one score, red: the same
    variety_amber: Limit = 0.5  # different word pairs, amber: share of those of the first updates
    variety_red: Limit = 0.25  # different word pairs, red: the same
    repeated: Limit = 0.25  # repetition, red: share of the word pairs of a completion
    length: Limit = 2.0  # length, amber: times as long or as short as at first
    cut_off: Limit = 0.5  # cut off, red: share of completions that do not end by themselves
    strange_amber: Limit = 3.0  # perplexity under the reference, amber: times that of the first updates
    strange_red: Limit = 30.0  # perplexity under the reference, red: the same
    rise: Limit = 1.5  # perplexity under the reference, for KL and entropy to light: times that of update 1
    misread: Limit = 0.25  # reward model misread, red: standard deviations of its scores
    apart_amber: Limit = 1.5  # disagreement of learned rewards, amber: times that of the first updates
    apart_red: Limit = 3.0  # disagreement of learned rewards, red: the same
    clip_amber: Limit = 0.3  # clipped, amber: share of the tokens
    clip_red: Limit = 0.5  # clipped, red: the same
    ratio: Limit = 100.0  # largest probability ratio, red
    choice: Limit = 4.0  # value fit: nats of entropy in each of the first texts; with less it says nothing
    gradient: Limit = 100.0  # gradient, amber: times its median


class NotMeasured(Exception):
    """Why a check has nothing to see, in a sentence."""


class Remedy(NamedTuple):
    """What to try: in words, and as settings; `live` where a run that trains takes it without a restart."""

    words: str
    changes: dict[str, Any]
    live: bool = False


WORDS = {
    "kl.coef": "beta",
    "kl.target": "the target KL",
    "ppo.learning_rate": "the learning rate",
    "ppo.clip_range": "the clip range",
    "ppo.entropy_coef": "the entropy bonus",
}


class Change(NamedTuple):
    """A setting that was changed when so many updates were done, or with which a fork began."""

    update: int
    field: str
    old: float
    new: float

    @property
    def tighter(self) -> bool:
        """Whether it holds the policy nearer to the reference."""
        if self.field == "kl.coef":
            return self.new > self.old
        return self.field == "kl.target" and self.new < self.old

    @property
    def looser(self) -> bool:
        """Whether it lets the policy go further."""
        return self.field in ("kl.coef", "kl.target") and self.new != self.old and not self.tighter

    def in_words(self) -> str:
        """Beta was raised from 0.25 to 3 after update 20."""
        way = "raised" if self.new > self.old else "lowered"
        return f"{WORDS[self.field]} was {way} from {self.old:g} to {self.new:g} after update {self.update}"


@dataclass(frozen=True)
class Records:
    """What a run has written down."""

    config: RunConfig
    metrics: Sequence[UpdateMetrics]
    samples: Sequence[Sample] = ()
    events: Sequence[Event] = ()
    at: Thresholds = field(default_factory=Thresholds)

    def values(self, name: str) -> list[tuple[int, float]]:
        """A figure of the updates, where it is known."""
        figures = [(item.update, getattr(item, name)) for item in self.metrics]
        return [(update, float(value)) for update, value in figures if value is not None]

    def needed(self, name: str, since: float = 0) -> list[tuple[int, float]]:
        """The same after update `since`. Raises: NotMeasured unless it is known of as many updates as a trend needs."""
        figures = [item for item in self.values(name) if item[0] > since]
        if len(figures) < WINDOW:
            after = f" after update {since:g}" if since else ""
            raise NotMeasured(f"It needs {WINDOW} updates{after} with this figure.")
        return figures

    def begins(self, name: str) -> float:
        """The mean of a figure over the first updates; 0 where it is not known."""
        return fmean([value for _, value in self.values(name)[:FIRST]] or [0.0])

    def now(self, name: str) -> float:
        """The same over the newest."""
        return fmean([value for _, value in self.values(name)[-WINDOW:]] or [0.0])

    def where_stranger(self, values: Values) -> list[tuple[int, float]]:
        """A figure, not a number at the updates whose texts the reference does not find stranger than those of the
        first update, which it wrote itself."""
        perplexity = self.values("perplexity_reference")
        risen = {update for update, value in perplexity if value > self.at.rise * perplexity[0][1]}
        return [(update, value if update in risen else math.nan) for update, value in values]

    @property
    def updates(self) -> int:
        if self.metrics:
            return self.metrics[-1].update
        return 0

    @property
    def newest(self) -> list[int]:
        return [item.update for item in self.metrics[-WINDOW:]]

    @cached_property
    def outcome(self) -> Outcome | None:
        """The fixed prompts before training against the newest evaluation; None before there are two prompts of it."""
        change = before_after.outcome(before_after.pairs(self.samples))
        if change and change.num_prompts > 1:
            return change
        return None

    @cached_property
    def changes(self) -> list[Change]:
        """The settings that were changed in mid-run or by a fork, and in the runs that a fork comes from, in order."""
        rows: list[tuple[Any, ...]] = []  # update, field, old, new; of a file that may be damaged
        for event in self.events:
            data = event.data
            if event.kind == EDIT:
                rows.append((event.update, data.get("field"), data.get("old"), data.get("value")))
            elif event.kind == FORK and isinstance(data.get("changed"), dict):
                earlier, before = data.get("earlier"), data.get("before")
                if isinstance(earlier, list):
                    edits = [edit for edit in earlier if isinstance(edit, dict) and isinstance(edit.get("update"), int)]
                    rows += [tuple(map(edit.get, ("update", "field", "old", "value"))) for edit in edits]
                if not isinstance(before, dict):
                    before = {}
                rows += [(event.update, name, before.get(name), value) for name, value in data["changed"].items()]
        return [
            Change(update, str(name), float(old), float(new))
            for update, name, old, new in rows
            if str(name) in WORDS and isinstance(old, (int, float)) and isinstance(new, (int, float)) and old != new
        ]

    def held_back(self, since: int = 0) -> Change | None:
        """The newest change that held the policy nearer to the reference, made when `since` updates were done or later,
        where the KL has fallen after it, which it was made for."""
        kl = self.values("kl_to_reference")
        for change in reversed(self.changes):
            before = [value for update, value in kl if update <= change.update][-WINDOW:]
            after = [value for update, value in kl if update > change.update][-WINDOW:]
            if change.tighter and change.update >= since and before and after:
                if fmean(after) < fmean(before):
                    return change
                return None
        return None

    def setting(self, name: str) -> float:
        """What holds now of a setting that can be changed in mid-run."""
        if name == "kl.coef" and self.metrics and self.config.kl.moves:
            return self.metrics[-1].kl_coef or 0.0
        edits = [event.data for event in self.events if event.kind == EDIT and event.data.get("field") == name]
        part, key = name.split(".")
        if edits and isinstance(value := edits[-1].get("value"), (int, float)):
            return float(value)
        return float(getattr(getattr(self.config, part), key))

    def scaled(self, name: str, factor: float) -> Remedy:
        """The same run with a setting that is larger or smaller by a factor than it is now."""
        value = float(f"{self.setting(name) * factor:.3g}")
        way = "raise" if factor > 1 else "lower"
        return Remedy(f"{way} {WORDS[name]} to {value:g}", {name: value}, live=True)

    def slower(self) -> Remedy:
        """A third of the learning rate."""
        return self.scaled("ppo.learning_rate", 1 / 3)

    def more_penalty(self) -> Remedy:
        """What was taken of the KL penalty, put back; else beta doubled, or set where there is none to raise."""
        penalty = [change for change in self.changes if change.tighter or change.looser]
        if penalty and penalty[-1].looser:
            _, field, old, _ = penalty[-1]
            return Remedy(f"set {WORDS[field]} back to {old:g}", {field: old}, live=True)
        if not self.setting("kl.coef"):
            return Remedy("set beta to 0.25", {"kl.coef": 0.25}, live=True)
        return self.scaled("kl.coef", 2.0)

    def more_entropy(self) -> Remedy:
        """An entropy bonus, or twice the one that there is."""
        if self.setting("ppo.entropy_coef") < 0.01:
            return Remedy("add an entropy bonus of 0.01", {"ppo.entropy_coef": 0.01}, live=True)
        return self.scaled("ppo.entropy_coef", 2.0)
