"""What there is to say about a run when it leaves the playground: read once: for the card, the trackers, the page.

Reads the run directory; no model is needed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from playground.config import RunConfig
from playground.exports import pictures
from playground.exports.pictures import AMBER, INDIGO, MANY, SLATE, TEAL, Line, Panel
from playground.insight import before_after, compute, frames, knee, meters
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Evaluation, Event, Sample, Status, UpdateMetrics
from playground.runs.steer import changes
from playground.setup import telling

COUNTS = ("Behaviour", "Before", "After", "95 % interval", "Changed", "Compared with its preset")


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
        return dataclasses.replace(
            self,
            metrics=[item for item in self.metrics if item.update <= update],
            samples=[item for item in self.samples if item.update <= update],
            evaluations=[item for item in self.evaluations if item.update <= update],
        )

    @property
    def unit(self) -> str:
        """Unit of the score."""
        return self.config.score_unit

    @cached_property
    def pairs(self) -> list[before_after.Pair]:
        """The fixed prompts, before and at the newest look."""
        return before_after.pairs(self.samples)

    @cached_property
    def outcome(self) -> before_after.Outcome | None:
        """Before and after in numbers."""
        return before_after.outcome(self.pairs)

    @property
    def sentence(self) -> str:
        """What it has come to, in a sentence; empty where there is nothing to tell."""
        batches = before_after.headline([], self.metrics)
        return meters.outcome_words(self.config, self.samples, batches, edited=self.edited)

    @property
    def wrong_on_purpose(self) -> str:
        """Why it is not to be believed, where mistakes are allowed; else empty."""
        return telling.wrong_on_purpose(self.config)

    @property
    def edited(self) -> bool:
        """Whether settings were changed while it trained."""
        return bool(changes.edits_of(self.events))

    @cached_property
    def behaviours(self) -> list[meters.Meter]:
        """What was counted, at every look."""
        return meters.meters(self.config, self.samples)

    @cached_property
    def verdicts(self) -> Mapping[str, meters.Compared]:
        """By name, how each behaviour, "score" and "kl" compare with what its preset came to, where that is known."""
        bands = meters.bands_of(self.config, self.samples, edited=self.edited)
        return meters.verdicts(self.behaviours, self.outcome, bands)

    def counts(self) -> list[dict[str, Any]]:
        """Each behaviour before and at the newest look, for a program."""
        return [{**meter.ends(), "expected": self.verdicts.get(meter.name)} for meter in self.behaviours]

    def counts_told(self) -> list[tuple[str, ...]]:
        """The same for reading; see `COUNTS`."""
        return [
            (
                meter.words,
                f"{meter.before.yes} of {meter.before.of}",
                f"{meter.after.yes} of {meter.after.of}",
                f"{100 * meter.after.low:.0f} to {100 * meter.after.high:.0f} %",
                {1: "more", -1: "less"}.get(
                    meter.change, "no more than chance" if meter.can_tell else "too few prompts"
                ),
                self.verdicts.get(meter.name, ""),
            )
            for meter in self.behaviours
        ]

    @cached_property
    def knee(self) -> knee.Knee:
        """After which update there was hardly anything left to gain."""
        return knee.knee(self.samples, self.config.method)

    @cached_property
    def ledger(self) -> compute.Ledger | None:
        """What it cost."""
        return compute.ledger(self.config, self.metrics, self.events)

    def forgetting(self) -> tuple[float, float] | None:
        """Perplexity on held-out text before and at the newest look; None where it was not measured."""
        known = [item.perplexity_text for item in self.evaluations if item.perplexity_text is not None]
        return (known[0], known[-1]) if len(known) > 1 else None

    def strangeness(self) -> tuple[float, float] | None:
        """Perplexity of the policy's texts under the reference in the first and in the newest update."""
        known = [item.perplexity_reference for item in self.metrics if item.perplexity_reference is not None]
        return (known[0], known[-1]) if len(known) > 1 else None

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
        found["knee/update"] = self.knee.update
        if self.ledger:
            found |= {
                "compute/operations": self.ledger.operations,
                "compute/seconds": self.ledger.seconds,
                "compute/peak_memory_gb": self.ledger.peak_memory_gb,
                "compute/tokens_generated": self.ledger.tokens_generated,
            }
        if forgetting := self.forgetting():
            found |= {"text/perplexity_before": forgetting[0], "text/perplexity_after": forgetting[1]}
        return found

    def curves(self) -> bytes:
        """Score, KL and, where there are any, behaviours and perplexities, as a PNG."""
        return pictures.png(self.panels(), self.wrong_on_purpose)

    def panels(self) -> list[Panel]:
        """The same, not drawn yet."""
        metrics = frames.metrics(self.metrics).set_index("update")
        fixed = knee.curve_of(self.samples).mean(axis=1)
        drift = frames.samples(self.samples).drop_duplicates(["update", "prompt_id", "seed"], keep="last")
        drift = drift.groupby("update")["kl"].mean()
        text = frames.evaluations(self.evaluations).set_index("update")["perplexity_text"].dropna()
        strange, found = metrics["perplexity_reference"].dropna(), self.knee.update
        above = " above the reference" if self.unit == "sd" else ""
        panels = [
            Panel(
                "Score",
                f"{self.unit}{above}, by update",
                [
                    Line(metrics["score_mean"], TEAL, "training batches", band=metrics[["score_p10", "score_p90"]]),
                    Line(fixed, INDIGO, "fixed prompts", dots=True),
                ],
                None if found is None else (found, "knee"),
            ),
            Panel(
                "Distance from the reference",
                "KL, nats per completion, by update",
                [
                    Line(metrics["kl_to_reference"], AMBER, "training batches"),
                    Line(drift, INDIGO, "fixed prompts", dots=True),
                ],
            ),
        ]
        if shares := frames.shares(self.behaviours).groupby("behaviour", sort=False):
            panels.insert(
                0,
                Panel(
                    "Behaviours",
                    "% of the answers to the fixed prompts, by update",
                    [
                        Line(100 * table["share"], colour, table["words"].iloc[0], band=100 * table[["low", "high"]])
                        for colour, (_, table) in zip(MANY, shares, strict=False)
                    ],
                ),
            )
        lines = [Line(strange, SLATE, "its texts, to the reference"), Line(text, INDIGO, "held-out text, to it")]
        if known := [line for line in lines if len(line.values)]:
            panels.append(Panel("Perplexity", "by update", known))
        return panels
