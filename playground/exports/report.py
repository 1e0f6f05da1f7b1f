"""What there is to say about a run outside the playground: read once for the card, the trackers and the page."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

from playground.analysis import before_after, compute, meters, plateau
from playground.analysis.intervals import interval
from playground.config import RunConfig
from playground.exports.rendering import figure
from playground.runs.folder import changes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Evaluation, Event, Sample, Status, UpdateMetrics
from playground.setup import describe

RISEN = 1.02  # times as large, for a perplexity that has risen
BATCHES = 5
COUNTS = ("Behaviour", "Before", "After", "95 % interval", "Changed", "Compared with its preset")
CHANGES = {1: "more", -1: "less"}
PERPLEXITIES = (  # of what, and what it means where it rises, and where not
    ("on held-out text", "it is forgetting some of what it knew", "it still knows what it knew"),
    ("of its texts under the reference", "they have become stranger", "not clearly stranger than at first"),
)


@dataclass
class Report:
    """The records of a run and what follows from them."""

    run_id: str
    title: str
    config: RunConfig
    status: Status
    metrics: list[UpdateMetrics]
    samples: list[Sample]
    evaluations: list[Evaluation]
    events: list[Event]

    @classmethod
    def of(cls, run: RunDirectory) -> Report:
        """Read a run. Raises: InvalidConfig."""
        config = run.config()
        read = (config, run.status(), run.metrics(), run.samples(), run.evaluations(), run.events())
        return cls(run.id, run.title(config), *read)

    def at(self, update: int) -> Report:
        """The same run as it was after an update: what a checkpoint of that moment is described by."""
        kept = ("metrics", "samples", "evaluations")
        until: dict[str, Any] = {name: [item for item in getattr(self, name) if item.update <= update] for name in kept}
        return dataclasses.replace(self, **until)

    @property
    def unit(self) -> str:
        return self.config.score_unit

    @cached_property
    def pairs(self) -> list[before_after.BeforeAfter]:
        """The fixed prompts, before and at the newest evaluation."""
        return before_after.pairs(self.samples)

    @cached_property
    def outcome(self) -> before_after.Outcome | None:
        return before_after.outcome(self.pairs)

    @property
    def sentence(self) -> str:
        """What it has come to, in a sentence; empty where there is nothing to say."""
        batches = before_after.headline([], self.metrics)
        return meters.outcome_words(self.config, self.samples, batches, edited=self.edited)

    @property
    def remarks(self) -> list[str]:
        """Until when training paid, and what became of both perplexities, a sentence each."""
        found = [plateau.plateau_sentence(self.plateau)]
        measured = (self.forgetting(), self.strangeness())
        for (what, rising, steady), ends, noise in zip(PERPLEXITIES, measured, (0.0, self._noise), strict=True):
            if ends:
                words = rising if math.log(ends[1] / ends[0]) > max(math.log(RISEN), noise) else steady
                found.append(f"Perplexity {what} {figure(ends[0])} \u2192 {figure(ends[1])}: {words}.")
        return [sentence for sentence in found if sentence]

    @property
    def wrong_on_purpose(self) -> str:
        """Why it is not to be believed, where mistakes are allowed; else empty."""
        return describe.wrong_on_purpose(self.config)

    @property
    def edited(self) -> bool:
        return bool(changes.edits_of(self.events))

    @cached_property
    def behaviours(self) -> list[meters.Meter]:
        return meters.meters(self.config, self.samples)

    @cached_property
    def verdicts(self) -> Mapping[str, meters.Compared]:
        """By name, how each behaviour, "score" and "kl" compare with what its preset came to, where that is known."""
        bands = meters.bands_of(self.config, self.samples, edited=self.edited)
        return meters.verdicts(self.behaviours, self.outcome, bands)

    def counts(self) -> list[dict[str, Any]]:
        """Each behaviour before and at the newest evaluation, for a program."""
        return [{**meter.ends(), "expected": self.verdicts.get(meter.name)} for meter in self.behaviours]

    @property
    def count_columns(self) -> tuple[str, ...]:
        return COUNTS if self.verdicts else COUNTS[:-1]

    def counts_in_words(self) -> list[tuple[str, ...]]:
        """The same for reading, below `count_columns`."""
        rows = [
            (
                meter.words,
                f"{meter.before.yes} of {meter.before.of}",
                f"{meter.after.yes} of {meter.after.of}",
                f"{100 * meter.after.low:.0f} to {100 * meter.after.high:.0f} %",
                CHANGES.get(meter.change, "no more than chance" if meter.can_tell else "too few prompts"),
                self.verdicts.get(meter.name, ""),
            )
            for meter in self.behaviours
        ]
        return [row[: len(self.count_columns)] for row in rows]

    @cached_property
    def plateau(self) -> plateau.Plateau:
        return plateau.plateau(self.samples, self.config.method)

    @cached_property
    def ledger(self) -> compute.Ledger | None:
        return compute.ledger(self.config, self.metrics, self.events)

    @property
    def costs(self) -> list[tuple[str, str, str]]:
        """Of each phase its name, seconds and operations."""
        phases = self.ledger.phases if self.ledger else []
        return [(phase.name, f"{phase.seconds:.1f}", compute.operations_in_words(phase.operations)) for phase in phases]

    def forgetting(self) -> tuple[float, float] | None:
        """Perplexity on held-out text before and at the newest evaluation; None where it was not measured."""
        return _ends_of(self.evaluations, "perplexity_text")

    def strangeness(self) -> tuple[float, float] | None:
        """Perplexity of the policy's texts under the reference: the geometric means of the first and of the newest
        `BATCHES` updates, each of which has other texts."""
        first, last = self._strangeness
        return (math.exp(fmean(first)), math.exp(fmean(last))) if first else None

    @cached_property
    def _strangeness(self) -> tuple[list[float], list[float]]:
        """Logarithms of the updates of `strangeness`."""
        known = [math.log(item.perplexity_reference) for item in self.metrics if item.perplexity_reference]
        count = min(BATCHES, len(known) // 2)
        return known[:count], known[len(known) - count :]

    @property
    def _noise(self) -> float:
        """How far apart those of `strangeness` may lie by chance: half of a 95 % interval, of logarithms; infinite
        where that is not known."""
        parts = [interval(logs) for logs in self._strangeness]
        return math.hypot(*(math.inf if part.half is None else part.half for part in parts))

    def summary(self) -> dict[str, float | int | str | None]:
        """The last figures by name, flat, for trackers."""
        found: dict[str, float | int | str | None] = {"state": self.status.state, "updates": self.status.update}
        if self.wrong_on_purpose:
            found["wrong_on_purpose"] = self.wrong_on_purpose
        if self.outcome:
            found |= {f"outcome/{name}": value for name, value in self.outcome._asdict().items()}
        for meter in self.behaviours:
            found |= {
                f"behaviours/{meter.name}_before": meter.before.share,
                f"behaviours/{meter.name}": meter.after.share,
            }
        found["knee/update"] = self.plateau.update
        if self.ledger:
            costs = ("operations", "seconds", "peak_memory_gb", "tokens_generated")
            found |= {f"compute/{name}": getattr(self.ledger, name) for name in costs}
        if forgetting := self.forgetting():
            found |= {"text/perplexity_before": forgetting[0], "text/perplexity_after": forgetting[1]}
        return found


def _ends_of(records: Sequence[Any], name: str) -> tuple[float, float] | None:
    """The first and the newest value of a figure; None where there are no two."""
    known = [value for item in records if (value := getattr(item, name)) is not None]
    return (known[0], known[-1]) if len(known) > 1 else None
