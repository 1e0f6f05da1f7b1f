"""Passes of a model over sampled episodes, micro-batch by micro-batch. Trainer and evaluation call these."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from playground.ppo.logprobs import token_log_probs
from playground.training.loop.sampling import Episodes, Packed
from playground.training.models.language_model import LanguageModel


@torch.no_grad()
def score_tokens(
    model: LanguageModel,
    episodes: Episodes,
    packed: Packed,
    temperature: float,
    micro_batch_size: int,
    between: Callable[[], None] = lambda: None,
) -> Tensor:
    """log-probs [B, C] that `model` gives to the sampled tokens at the sampling temperature; 0 where masked."""
    log_probs = torch.zeros_like(episodes.log_probs)
    everything = torch.arange(len(episodes))
    for rows in micro_batches(everything, packed.totals, micro_batch_size, model.call_overhead_tokens):
        between()
        ids, predicts = packed.rows(rows)
        mask = episodes.mask[rows]
        logits = model.logits(model.hidden(ids)[predicts])
        put(log_probs, rows, mask, token_log_probs(logits, episodes.completion_ids[rows][mask], temperature))
    return log_probs


def put(whole: Tensor, rows: Tensor, mask: Tensor, values: Tensor) -> None:
    """Write the N values of some episodes' real tokens into their places of a [B, C] tensor."""
    part = torch.zeros_like(whole[rows])
    part[mask] = values
    whole[rows] = part


def micro_batches(rows: Tensor, lengths: Tensor, size: int, overhead_tokens: float = math.inf) -> Iterator[Tensor]:
    """Cut episodes into groups of similar length, so that little is padding.

    Of all ways to cut the episodes, ordered by length, into groups of at most `size`, the one with the least padded
    tokens plus `overhead_tokens` for each group; with infinite overhead the fewest groups.
    """
    order = torch.argsort(lengths[rows].cpu(), stable=True)
    count = len(rows)
    widths = lengths[rows].cpu()[order].numpy()
    overhead = min(overhead_tokens, 2.0 * float(widths[-1]) * count)  # more than all tokens is as good as infinite
    if count <= size and overhead > widths[-1] * count:  # a second group would cost more than all padding
        yield rows[order]
        return
    cost, first = np.zeros(count + 1), np.zeros(count + 1, dtype=int)  # of the best cut of the first n episodes
    for end in range(1, count + 1):
        starts = np.arange(max(0, end - size), end)
        costs = cost[starts] + widths[end - 1] * (end - starts) + overhead
        first[end] = starts[costs.argmin()]
        cost[end] = costs.min()
    sizes, end = [], count
    while end:
        sizes.append(int(end - first[end]))
        end = first[end]
    yield from rows[order].split(sizes[::-1])
