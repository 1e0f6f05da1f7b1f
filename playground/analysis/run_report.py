"""What a run came to, in one record: page, terminal, exports, API and lessons print from it what they say of a run. A
figure is computed when it is asked for, once. `run_figures` has those that a list of runs shows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any

from playground.analysis import against_kl, before_after, compute, judging, meters, paid, pass_at, path, plateau
from playground.analysis.before_after import BeforeAfter, Headline, Outcome
from playground.analysis.diagnosis import diagnose
from playground.analysis.diagnosis.alert import Alert
from playground.analysis.diagnosis.run_records import Records
from playground.analysis.intervals import figure, interval
from playground.config import RunConfig
from playground.errors import InvalidConfig
from playground.rewards.behaviours import REWARD
from playground.runs.folder import changes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import NOTE, Evaluation, Event, Label, Sample, Status, UpdateMetrics
from playground.setup import describe, expected
from playground.setup.expected import Band

Ends = tuple[float, float]  # of a figure: at first, and now
RISEN = 1.02  # times as large, for a perplexity that has risen
BATCHES = 5  # updates at either end, of which a perplexity is the mean
MOVED = (
    "The reference moves: the distance is {} nats to the newest one, which the leash is tied to, and {} to the first."
)
COUNTS = ("Behaviour", "Before", "After", "95 % interval", "Changed", "Compared with its preset")
PASSES = ("One of k answers is right", "Before", "After", "Change")
CHANGES = {1: "more", -1: "less"}
FORGETTING = ("on held-out text", "it is forgetting some of what it knew", "it still knows what it knew")
STRANGENESS = (
    "of its texts under the reference",
    "they have become stranger",
    "not clearly stranger than at first",
)


@dataclass(frozen=True)
class RunReport:
    """The records of a run, as far as they are at hand, and what follows from them. Scores and gains are in `unit`, KL
    in nats per completion, times in seconds, shares from 0 to 1."""

    config: RunConfig
    samples: Sequence[Sample] = ()
    metrics: Sequence[UpdateMetrics] = ()
    events: Sequence[Event] = ()
    evaluations: Sequence[Evaluation] = ()
    status: Status = field(default_factory=Status)
    label: Label = field(default_factory=Label)
    run_id: str = ""

    @classmethod
    def of(cls, run: RunDirectory) -> RunReport:
        """A run as it is on disk now. Raises: InvalidConfig."""
        config, status = run.config(), run.status()  # before the records: of one that has ended they are complete
        records = run.samples(), run.metrics(), run.events(), run.evaluations()
        return cls(config, *records, status, run.label(), run.id)

    def at(self, update: int) -> RunReport:
        """The same run as it was after an update: what a checkpoint of that moment is described by."""
        lists = ("metrics", "samples", "evaluations")
        until: dict[str, Any] = {
            name: [item for item in getattr(self, name) if item.update <= update] for name in lists
        }
        return dataclasses.replace(self, **until)

    @property
    def title(self) -> str:
        return self.label.name or describe.title_of(self.config)

    @property
    def unit(self) -> str:
        """Of scores: sd, or points."""
        return self.config.score_unit

    @cached_property
    def experiment(self) -> str:
        """What is tried in it, in words."""
        return changes.in_words(self.config, self.events)

    @cached_property
    def wrong_on_purpose(self) -> str:
        """Why it is not to be believed, where mistakes are allowed; else empty."""
        return describe.wrong_on_purpose(self.config)

    @property
    def edited(self) -> bool:
        """Whether settings were changed while it trained."""
        return bool(changes.edits_of(self.events))

    @cached_property
    def config_now(self) -> RunConfig:
        """The settings with every change that was made while it trained."""
        try:
            return changes.edited(self.config, changes.edits_of(self.events))
        except InvalidConfig:  # events that were written by hand
            return self.config

    @property
    def warnings(self) -> list[str]:
        return [event.message for event in self.events if event.kind in ("warning", NOTE)]

    # The fixed prompts, before and at the newest evaluation.

    @cached_property
    def pairs(self) -> list[BeforeAfter]:
        return before_after.pairs(self.samples)

    @cached_property
    def outcome(self) -> Outcome | None:
        return before_after.outcome(self.pairs)

    @cached_property
    def headline(self) -> Headline | None:
        """Its one gain and KL; None while there is nothing to say."""
        return before_after.headline(self.pairs, self.outcome) or self.batches

    @cached_property
    def batches(self) -> Headline | None:
        """The same of its training batches."""
        return before_after.of_batches(self.metrics)

    @cached_property
    def sentence(self) -> str:
        """What it has come to in a line: its reward, its behaviours, its score and KL (by its training batches where
        the fixed prompts say nothing), and how they compare with what its preset came to; empty for nothing."""
        counted = [meter for meter in self.behaviours_at_ends if len(meter.counts) > 1]
        verdicts = meters.verdicts(counted, self.outcome, self.bands)
        off = [name for name, verdict in verdicts.items() if verdict not in meters.USUAL]
        reward = [meter for meter in counted if meter.name == REWARD]
        behaviours = [meter for meter in counted if meter.name != REWARD]
        sentences = (
            *(meters.reward_sentence(self.config, meter, self.pairs, self.outcome) for meter in reward),
            meters.sentence(sorted(behaviours, key=lambda meter: meter.change == 0 and meter.name not in off)),
            before_after.sentence(self.outcome, self.batches, self.unit),
            meters.expected_sentence(verdicts, self.bands, self.unit),
        )
        return " ".join(filter(None, sentences))

    # What is counted.

    @cached_property
    def behaviours(self) -> list[meters.Meter]:
        """At every evaluation."""
        return meters.meters(self.config, self.samples)

    @cached_property
    def behaviours_at_ends(self) -> list[meters.Meter]:
        """Before training and at the newest evaluation only."""
        return meters.at_ends(self.config, self.samples)

    @cached_property
    def bands(self) -> Mapping[str, Band]:
        """What it is held against: what its preset came to on other seeds. Empty before its end, of a run that is no
        preset, and of one whose settings were changed while it trained."""
        finished = any(item.stage == "after" for item in self.samples)
        if finished and not self.edited:
            return expected.bands(describe.of(self.config).preset)
        return {}

    @cached_property
    def verdicts(self) -> Mapping[str, meters.Compared]:
        """By name, how each behaviour, "score" and "kl" compare with these."""
        return meters.verdicts(self.behaviours, self.outcome, self.bands)

    def counts(self) -> list[dict[str, Any]]:
        """Each behaviour before and at the newest evaluation, for a program."""
        return [{**meter.ends()._asdict(), "expected": self.verdicts.get(meter.name)} for meter in self.behaviours]

    @property
    def count_columns(self) -> tuple[str, ...]:
        if self.verdicts:
            return COUNTS
        return COUNTS[:-1]

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

    @property
    def paid(self) -> list[paid.Paid]:
        """Where reward and behaviour disagree."""
        return paid.paid(self.config, self.pairs)

    @cached_property
    def passes(self) -> list[pass_at.PassAt]:
        """pass@k, where its answers are checked."""
        return pass_at.passes(self.samples)

    pass_columns = PASSES

    def passes_in_words(self) -> list[tuple[str, str, str, str]]:
        """The same for reading, below `PASSES`."""
        return pass_at.rows(self.passes)

    # Rewards and monitors, checks, score against KL.

    @cached_property
    def reward_rows(self) -> list[judging.RewardRow]:
        """Each reward and monitor before and after."""
        return judging.rows(self.pairs)

    @cached_property
    def judged(self) -> judging.Judged | None:
        """The trained score and the monitors at every evaluation; None where it has none, or was not evaluated yet."""
        return judging.judged_of(self.config, self.samples)

    @cached_property
    def judged_in_points(self) -> judging.Judged | None:
        """The same with the monitors in their own units, which other seeds share."""
        return judging.judged_of(self.config, self.samples, points=True)

    @property
    def records(self) -> Records:
        """What the checks read, with the settings that hold now."""
        return Records(self.config_now, self.metrics, self.samples, self.events)

    @cached_property
    def checks(self) -> list[Alert]:
        """All checks, those that are lit first."""
        return diagnose(self.records)

    @cached_property
    def path(self) -> list[path.PathPoint]:
        """Its evaluations as score against KL."""
        return path.path_of(self.samples, self.events)

    @property
    def final_beta(self) -> float | None:
        return against_kl.final_beta(self.config, self.metrics)

    @cached_property
    def plateau(self) -> plateau.Plateau:
        return plateau.plateau(self.samples, self.config.method)

    @property
    def plateau_sentence(self) -> str:
        return plateau.plateau_sentence(self.plateau)

    # Perplexities.

    @property
    def remarks(self) -> list[str]:
        """Until when training paid, how far a reference that moves has come, and what became of both perplexities, a
        sentence each."""
        sentences = (
            self.plateau_sentence,
            MOVED.format(*map(figure, self.distances)) if self.distances else "",
            _perplexity_sentence(self.forgetting, FORGETTING),
            _perplexity_sentence(self.strangeness, STRANGENESS, self._noise),
        )
        return [sentence for sentence in sentences if sentence]

    @cached_property
    def distances(self) -> Ends | None:
        """KL to a reference that moves, and to the first one: means of the newest `BATCHES` updates; None where it
        stays."""
        newest = [item for item in self.metrics if item.kl_to_first is not None][-BATCHES:]
        if not newest:
            return None
        to_first = fmean(item.kl_to_first or 0.0 for item in newest)
        return fmean(item.kl_to_reference or 0.0 for item in newest), to_first

    @cached_property
    def forgetting(self) -> Ends | None:
        """Perplexity on held-out text before and at the newest evaluation; None where it was not measured."""
        perplexities = [item.perplexity_text for item in self.evaluations if item.perplexity_text is not None]
        if len(perplexities) > 1:
            return (perplexities[0], perplexities[-1])
        return None

    @cached_property
    def strangeness(self) -> Ends | None:
        """Perplexity of the policy's texts under the reference: the geometric means of the first and of the newest
        `BATCHES` updates, each of which has other texts."""
        first, last = self._strangeness_logs
        if first:
            return (math.exp(fmean(first)), math.exp(fmean(last)))
        return None

    @cached_property
    def _strangeness_logs(self) -> tuple[list[float], list[float]]:
        logs = [math.log(item.perplexity_reference) for item in self.metrics if item.perplexity_reference]
        count = min(BATCHES, len(logs) // 2)
        return logs[:count], logs[len(logs) - count :]

    @property
    def _noise(self) -> float:
        """How far apart the logarithms of `strangeness` may lie by chance: half of a 95 % interval; infinite where that
        is not known."""
        halves = [interval(logs).half for logs in self._strangeness_logs]
        return math.hypot(*(math.inf if half is None else half for half in halves))

    # What it cost.

    @cached_property
    def ledger(self) -> compute.Ledger | None:
        return compute.ledger(self.config, self.metrics, self.events)

    @property
    def bill(self) -> compute.Bill | None:
        return compute.bill(self.config, self.metrics, self.events)

    @property
    def cost(self) -> str:
        """In a sentence; empty before the first update."""
        if self.ledger:
            return compute.ledger_sentence(self.ledger)
        return ""

    @property
    def costs(self) -> list[tuple[str, str, str]]:
        """Of each phase its name, seconds and operations."""
        if not self.ledger:
            return []
        phases = self.ledger.phases
        return [(phase.name, f"{phase.seconds:.1f}", compute.operations_in_words(phase.operations)) for phase in phases]

    def summary(self) -> dict[str, float | int | str | None]:
        """The last figures by name, flat, for trackers."""
        figures: dict[str, Any] = {"state": self.status.state, "updates": self.status.update}
        if self.wrong_on_purpose:
            figures["wrong_on_purpose"] = self.wrong_on_purpose
        if self.outcome:
            figures |= {f"outcome/{name}": value for name, value in self.outcome._asdict().items()}
        for meter in self.behaviours:
            figures[f"behaviours/{meter.name}_before"] = meter.before.share
            figures[f"behaviours/{meter.name}"] = meter.after.share
        figures["knee/update"] = self.plateau.update
        if self.ledger:
            costs = ("operations", "seconds", "peak_memory_gb", "tokens_generated")
            figures |= {f"compute/{name}": getattr(self.ledger, name) for name in costs}
        if self.forgetting:
            figures["text/perplexity_before"], figures["text/perplexity_after"] = self.forgetting
        return figures


def _perplexity_sentence(ends: Ends | None, words: tuple[str, str, str], noise: float = 0.0) -> str:
    """`words`: of what, and what it means where it rises, and where not."""
    if ends is None:
        return ""
    subject, rising, steady = words
    first, last = ends
    meaning = steady
    if math.log(last / first) > max(math.log(RISEN), noise):
        meaning = rising
    return f"Perplexity {subject} {figure(first)} \u2192 {figure(last)}: {meaning}."
