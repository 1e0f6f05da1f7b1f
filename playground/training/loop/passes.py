"""Passes of a model over sampled episodes, micro-batch by micro-batch. Trainer and evaluation call these."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from playground.ppo.logprobs import log_softmax_at, token_log_probs
from playground.training.loop.sampling import Episodes, Packed, among
from playground.training.models.language_model import LanguageModel


class Compared(NamedTuple):
    """What policy and reference would say at the N real tokens of some episodes."""

    rows: Tensor  # [n]: which episodes
    mask: Tensor  # [n, C]: their real tokens
    ids: Tensor  # [n, T], see `sampling.Packed`
    predicts: Tensor
    hidden: Tensor  # [N, H], the policy's features
    own: Tensor  # [N, V], log-probs of the policy among the tokens that it was allowed to draw
    theirs: Tensor  # [N, V], of the reference


@torch.no_grad()
def compared(
    policy: LanguageModel,
    reference: LanguageModel | None,
    episodes: Episodes,
    packed: Packed,
    temperature: float,
    micro_batch_size: int,
    between: Callable[[], None] = lambda: None,
) -> Iterator[Compared]:
    """Whole distributions of policy and reference over sampled tokens, micro-batch by micro-batch. `reference`: None
    where the policy is still the reference, and says it for both.

    The policy's come from the features that the sampler kept. In low precision the sampler's numbers are not those of a
    training pass, and a ratio must begin at 1; so there the policy makes a pass of its own.
    """
    assert episodes.hidden is not None, "the sampler keeps them for this"
    for rows in cuts(policy, packed, torch.arange(len(episodes)), micro_batch_size):
        between()
        ids, predicts = packed.rows(rows)
        mask = episodes.mask[rows]
        hidden = episodes.hidden[rows][mask] if policy.exact else policy.hidden(ids, predicts)[predicts]
        whole = policy.logits(hidden)
        theirs = whole if reference is None else reference.logits(reference.hidden(ids, predicts)[predicts])
        allowed = None if episodes.allowed is None else episodes.allowed[rows][mask]
        own = log_softmax_at(among(whole, allowed), temperature)
        theirs = log_softmax_at(theirs, temperature)
        yield Compared(rows, mask, ids, predicts, hidden, own, theirs)


@torch.no_grad()
def whole_log_probs(
    model: LanguageModel, episodes: Episodes, temperature: float, micro_batch_size: int
) -> NDArray[np.float64]:
    """Log-probs of whole completions [B], at the sampling temperature: sums over tokens, end-of-text included."""
    tokens = log_probs(model, episodes, temperature, micro_batch_size)
    found: NDArray[np.float64] = tokens.double().sum(1).cpu().numpy()
    return found


@torch.no_grad()
def log_probs(
    model: LanguageModel,
    episodes: Episodes,
    temperature: float,
    micro_batch_size: int,
    between: Callable[[], None] = lambda: None,
) -> Tensor:
    """What a model says of each sampled token, [B, C]; 0 where masked."""
    packed, whole = episodes.packed(), torch.zeros_like(episodes.log_probs)
    for rows in cuts(model, packed, torch.arange(len(episodes)), micro_batch_size):
        between()
        ids, predicts = packed.rows(rows)
        mask = episodes.mask[rows]
        logits = model.logits(model.hidden(ids, predicts)[predicts])
        put(whole, rows, mask, token_log_probs(logits, episodes.completion_ids[rows][mask], temperature))
    return whole


@torch.no_grad()
def alone(policy: LanguageModel, episodes: Episodes, rows: list[int], temperature: float) -> Compared:
    """The same of some episodes where the policy is the reference: beside itself, from the features that were kept."""
    assert episodes.hidden is not None, "the sampler keeps them for this"
    chosen = torch.tensor(rows)
    ids, predicts = episodes.packed().rows(chosen)
    mask = episodes.mask[chosen]
    hidden = episodes.hidden[chosen][mask]
    own = log_softmax_at(policy.logits(hidden), temperature)
    return Compared(chosen, mask, ids, predicts, hidden, own, own)


def put(whole: Tensor, rows: Tensor, mask: Tensor, values: Tensor) -> None:
    """Write the N values of some episodes' real tokens into their places of a [B, C] tensor."""
    part = torch.zeros_like(whole[rows])
    part[mask] = values
    whole[rows] = part


def cuts(model: LanguageModel, packed: Packed, rows: Tensor, size: int) -> Iterator[Tensor]:
    """Episodes in groups of at most `size` that go through a model together: those that begin alike where they share
    that, else those that are about as long."""
    if model.reads_trees:
        texts = packed.ids[rows].tolist()
        order = sorted(range(len(rows)), key=texts.__getitem__)
        yield from rows[torch.tensor(order)].split(size)
    else:
        yield from micro_batches(rows, packed.totals, size, model.call_overhead_tokens)


def micro_batches(rows: Tensor, lengths: Tensor, size: int, overhead_tokens: float = math.inf) -> Iterator[Tensor]:
    """Cut episodes, ordered by length, into groups of at most `size`, with the least padded tokens plus
    `overhead_tokens` for each group; with infinite overhead the fewest groups."""
    order = torch.argsort(lengths[rows].cpu(), stable=True)
    count = len(rows)
    widths = lengths[rows].cpu()[order].numpy()
    overhead = min(overhead_tokens, 2.0 * float(widths[-1]) * count)  # more than all tokens is as good as infinite
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
