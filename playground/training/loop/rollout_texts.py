"""What is kept of the texts that an update learned from: a histogram of their scores, and some of them to be read.

The session writes it. Which texts are kept by chance is drawn from a generator of its own, so that a run learns the
same whether any are kept or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from playground.config.training_settings import ROLLOUT_BYTES
from playground.runs.folder.records import LARGEST, to_json_line
from playground.runs.folder.rollout_records import RolloutRecord, RolloutText, choose, histogram_of
from playground.training.data.random_streams import generator

MOST_CHARACTERS = (600, 300, 150, 75, 35, 15)  # of a prompt or completion; fewer where a line would become too long
DIGITS = 4  # behind the point


class ScoredTexts(NamedTuple):
    """The texts of which the figures of an update are, with their scores. `kls`: exact, of each completion, in nats;
    None where they are not known."""

    prompts: Sequence[str]
    completions: Sequence[str]
    scores: Sequence[float]
    kls: Sequence[float] | None


def kept(batch: ScoredTexts | None, update: int, seed: int, most: int) -> RolloutRecord | None:
    """What is kept of a batch, `most` texts of it; None where nothing is to be kept, or a score is no figure."""
    if batch is None or not most or not all(-LARGEST <= score <= LARGEST for score in batch.scores):
        return None
    histogram, bins = histogram_of(batch.scores)
    order = torch.randperm(len(bins), generator=generator(seed, "rollout texts", update)).tolist()
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
        if len(to_json_line(record).encode()) <= ROLLOUT_BYTES:
            break
    return record


def _beginning_of(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def _end_of(text: str, most: int) -> str:
    """Of a prompt the end is what a completion goes on from."""
    return text if len(text) <= most else "\u2026" + text[1 - most :]
