"""What is kept of the texts that an update learned from: a histogram of their scores, and some of them to be read.

The session writes it. Which texts are kept by chance is drawn from a generator of its own, so that a run learns the
same whether any are kept or not.
"""

from __future__ import annotations

import torch

from playground.runs.folder.records import LARGEST
from playground.runs.folder.rollout_records import RolloutRecord, ScoredTexts, record_of
from playground.training.data.random_streams import generator


def kept(batch: ScoredTexts | None, update: int, seed: int, most: int) -> RolloutRecord | None:
    """What is kept of a batch, `most` texts of it; None where nothing is to be kept, or a score is no figure."""
    if batch is None or not most or not all(-LARGEST <= score <= LARGEST for score in batch.scores):
        return None
    order = torch.randperm(len(batch.scores), generator=generator(seed, "rollout texts", update)).tolist()
    return record_of(batch, update, most, order)
