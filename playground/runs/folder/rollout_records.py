"""What is kept of the training texts of an update: the record of a line of rollouts.jsonl, and which texts it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from playground.config.training_settings import rollout_bytes
from playground.runs.folder.records import Count, Figure, Maybe, OfAnUpdate, Record, to_json_line

BINS = 20
EXTREMES = 5  # one text in so many is there because it is the best, and one because it is the worst
MOST_CHARACTERS = (600, 300, 150, 75, 35, 15)  # of a prompt or completion; fewer where a line would become too long
DIGITS = 4  # behind the point
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
    if not high > low:
        return Histogram(low=low, high=high, counts=[len(scores)]), [0] * len(scores)
    bins = [min(BINS - 1, int((score - low) / (high - low) * BINS)) for score in scores]
    counts = [bins.count(number) for number in range(BINS)]
    return Histogram(low=low, high=high, counts=counts), bins


def choose(scores: Sequence[float], bins: Sequence[int], most: int, order: Sequence[int] = ()) -> dict[int, Chosen]:
    """At most so many rows of a batch, and why each, from the highest score to the lowest: a fifth for the best, a
    fifth for the worst, then the first in `order` whose bins have no text yet, then the first of the others."""
    ranked = sorted(range(len(scores)), key=lambda row: -scores[row])
    most = min(most, len(ranked))
    num_best = min(max(1, most // EXTREMES), most)
    num_worst = min(num_best, most - num_best)
    reasons: dict[int, Chosen] = {row: "best" for row in ranked[:num_best]}
    reasons |= {row: "worst" for row in ranked[len(ranked) - num_worst :]}
    bins_chosen = {bins[row] for row in reasons}
    unchosen = [row for row in order or range(len(ranked)) if row not in reasons]
    for row in unchosen:
        if len(reasons) < most and bins[row] not in bins_chosen:
            reasons[row] = "random"
            bins_chosen.add(bins[row])
    for row in unchosen:
        if len(reasons) < most and row not in reasons:
            reasons[row] = "random"
    return {row: reasons[row] for row in ranked if row in reasons}


class ScoredTexts(NamedTuple):
    """The texts of which the figures of an update are, with their scores. `kls`: exact, of each completion, in nats;
    None where they are not known."""

    prompts: Sequence[str]
    completions: Sequence[str]
    scores: Sequence[float]
    kls: Sequence[float] | None


def record_of(batch: ScoredTexts, update: int, most: int, order: Sequence[int] = ()) -> RolloutRecord:
    """What is kept of a batch, `most` texts of it; `order`: see `choose`."""
    histogram, bins = histogram_of(batch.scores)
    rows = choose(batch.scores, bins, most, order)
    for characters in MOST_CHARACTERS:
        texts = [
            RolloutText(
                prompt=_end_of(batch.prompts[row], characters),
                completion=_beginning_of(batch.completions[row], characters),
                score=round(batch.scores[row], DIGITS),
                kl=None if batch.kls is None else round(batch.kls[row], DIGITS) + 0.0,  # no -0.0
                chosen=why,
                bin=bins[row],
            )
            for row, why in rows.items()
        ]
        record = RolloutRecord(update=update, histogram=histogram, texts=texts)
        if len(to_json_line(record).encode()) <= rollout_bytes(len(texts)):
            break
    return record


def _beginning_of(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: most - 1] + "\u2026"


def _end_of(text: str, most: int) -> str:
    """Of a prompt the end is what a completion goes on from."""
    if len(text) <= most:
        return text
    return "\u2026" + text[1 - most :]
