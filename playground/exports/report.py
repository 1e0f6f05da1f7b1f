"""What there is to say about a run when it leaves the playground: read once: for the card, the trackers, the page.

Reads the run directory; no model is needed.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

from playground.config import RunConfig
from playground.exports import pictures
from playground.insight import before_after, compute, knee
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Evaluation, Event, Sample, Status, UpdateMetrics


@dataclass
class Report:
    """The records of a run and what follows from them."""

    run_id: str
    config: RunConfig
    status: Status
    metrics: list[UpdateMetrics]
    samples: list[Sample]
    evaluations: list[Evaluation]
    events: list[Event]

    @classmethod
    def of(cls, run: RunDirectory) -> Report:
        """Read a run. Raises: InvalidConfig."""
        return cls(
            run.id, run.config(), run.status(), run.metrics(), run.samples(), run.evaluations(), run.events()
        )  # fmt: skip

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
        return "sd" if self.config.score.normalise == "reference" else "points"

    @cached_property
    def pairs(self) -> list[before_after.Pair]:
        """The fixed prompts, before and at the newest look."""
        return before_after.pairs(self.samples)

    @cached_property
    def outcome(self) -> before_after.Outcome | None:
        """Before and after in numbers."""
        return before_after.outcome(self.pairs)

    @cached_property
    def knee(self) -> knee.Knee:
        """Where training stopped paying."""
        return knee.knee(self.samples)

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
        if self.outcome:
            found |= {f"outcome/{name}": value for name, value in self.outcome._asdict().items()}
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
        """Score, KL and, where there are any, perplexities, as a PNG."""
        return pictures.png(_panels(self))


def _panels(report: Report) -> list[pictures.Panel]:
    metrics = report.metrics
    band = [
        (item.update, item.score_p10, item.score_p90)
        for item in metrics
        if item.score_p10 is not None and item.score_p90 is not None
    ]
    looks = knee.curve_of(report.samples)
    fixed = [(float(update), float(row.mean())) for update, row in zip(*looks, strict=True) if len(row)]
    found = report.knee.update
    panels = [
        pictures.Panel(
            "Score",
            f"{report.unit}{' above the untrained model' if report.unit == 'sd' else ''}, by update",
            [
                pictures.Line(_known(metrics, "score_mean"), pictures.TEAL, label="training batches"),
                pictures.Line(fixed, pictures.INDIGO, dots=True, label="fixed prompts"),
            ],
            band,
            None if found is None else (found, "knee"),
        ),
        pictures.Panel(
            "Distance from the reference", "KL, nats per completion, by update",
            [pictures.Line(_known(metrics, "kl_to_reference"), pictures.AMBER)],
        ),
    ]  # fmt: skip
    strange = _known(metrics, "perplexity_reference")
    text = [(float(item.update), item.perplexity_text) for item in report.evaluations if item.perplexity_text]
    if strange or text:
        lines = [pictures.Line(strange, pictures.SLATE, label="its texts, to the reference")] if strange else []
        if text:
            lines += [pictures.Line(text, pictures.INDIGO, label="held-out text, to it")]
        panels.append(pictures.Panel("Perplexity", "by update", lines))
    return panels


def _known(metrics: list[UpdateMetrics], name: str) -> list[tuple[float, float]]:
    pairs = [(float(item.update), getattr(item, name)) for item in metrics]
    return [(update, float(value)) for update, value in pairs if value is not None]
