"""What is kept of the training texts of an update: a line of rollouts.jsonl, and the way to one line among many."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from playground.runs.folder.attempts import Resumption, in_force
from playground.runs.folder.files import MOST_DAMAGED, JsonlTail, line_at
from playground.runs.folder.records import Count, Figure, Maybe, OfAnUpdate, Record, parsed

BINS = 20
EXTREMES = 5  # one text in so many is there because it is the best, and one because it is the worst
HEAD = re.compile(rb'\{"attempt": (\d{1,15}), "update": (\d{1,15}),')  # as our writer begins a line
Chosen = Literal["best", "worst", "random"]


class Histogram(Record):
    """How many scores lie in each of the bins from `low` to `high`, which are equally wide; one bin where all texts
    have the same score."""

    low: Figure
    high: Figure
    counts: Annotated[list[Count], Field(min_length=1)]


class RolloutText(Record):
    """One completion, which may be cut short. `kl`: exact, of policy to reference, summed, in nats."""

    prompt: str
    completion: str
    score: Figure
    kl: Maybe = None
    chosen: Chosen
    bin: Count


class RolloutRecord(OfAnUpdate):
    """An update's scores as a histogram, and a few of its texts, the best first."""

    histogram: Histogram
    texts: list[RolloutText]

    def fewer(self, most: int) -> RolloutRecord:
        """The same with so many texts at most."""
        rows = choose([text.score for text in self.texts], [text.bin for text in self.texts], most)
        texts = [self.texts[row].model_copy(update={"chosen": why}) for row, why in rows.items()]
        return self.model_copy(update={"texts": texts})


def histogram_of(scores: Sequence[float]) -> tuple[Histogram, list[int]]:
    """The scores in BINS bins from the lowest to the highest, and the bin of each; in one where all are the same."""
    low, high = min(scores), max(scores)
    bins = [min(BINS - 1, int((score - low) / (high - low) * BINS)) if high > low else 0 for score in scores]
    counts = [bins.count(number) for number in range(BINS if high > low else 1)]
    return Histogram(low=low, high=high, counts=counts), bins


def choose(scores: Sequence[float], bins: Sequence[int], most: int, order: Sequence[int] = ()) -> dict[int, Chosen]:
    """At most so many rows of a batch, and why each, from the highest score to the lowest: a fifth for the best, a
    fifth for the worst, then the first in `order` whose bins have no text yet, then the first of the others."""
    ranked = sorted(range(len(scores)), key=lambda row: -scores[row])
    most = min(most, len(ranked))
    num_best = min(max(1, most // EXTREMES), most)
    num_worst = min(num_best, most - num_best)
    found: dict[int, Chosen] = {row: "best" for row in ranked[:num_best]}
    found |= {row: "worst" for row in ranked[len(ranked) - num_worst :]}
    shown = {bins[row] for row in found}
    others = [row for row in order or range(len(ranked)) if row not in found]
    for row in others:
        if len(found) < most and bins[row] not in shown:
            found[row] = "random"
            shown.add(bins[row])
    for row in others:
        if len(found) < most and row not in found:
            found[row] = "random"
    return {row: found[row] for row in ranked if row in found}


class LineSpan(NamedTuple):
    """Where a line of rollouts.jsonl lies."""

    attempt: int
    update: int
    start: int
    size: int


class RolloutIndex:
    """Finds the line of an update without reading the others again. For one reader at a time."""

    def __init__(self, path: Path) -> None:
        self._path, self._tail = path, JsonlTail(path)
        self._spans: list[LineSpan] = []
        self._damaged = 0

    def updates(self, resumed: Sequence[Resumption]) -> list[int]:
        """The updates of which there is a line that still counts, in order."""
        return [span.update for span in self._in_force(resumed)]

    def read(self, update: int, resumed: Sequence[Resumption]) -> RolloutRecord | None:
        """The line of an update; None where there is none that can be read."""
        found = [span for span in self._in_force(resumed) if span.update == update]
        if not found:
            return None
        try:
            return parsed(json.loads(line_at(self._path, found[-1].start, found[-1].size)), RolloutRecord)
        except (OSError, ValueError, RecursionError):
            return None

    def _in_force(self, resumed: Sequence[Resumption]) -> list[LineSpan]:
        for start, line in self._tail.lines():
            if self._spans and start <= self._spans[-1].start:  # another file in its place
                self._spans, self._damaged = [], 0
            known = _head(line) if self._damaged < MOST_DAMAGED else None
            if known is None:
                self._damaged += 1
            else:
                self._spans.append(LineSpan(*known, start, len(line)))
        return in_force(self._spans, resumed)


def _head(line: bytes) -> tuple[int, int] | None:
    """Attempt and update of a line, which is parsed only where another program wrote it."""
    if found := HEAD.match(line):
        return int(found[1]), int(found[2])
    try:
        record = parsed(json.loads(line), OfAnUpdate)
    except (ValueError, RecursionError):
        return None
    return (record.attempt, record.update) if record else None
