"""What an update learns from: texts that are late, written with the weights of some updates ago as asynchronous
trainers have them, and which texts of a batch are left out. The trainer calls it; knows nothing of losses."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from playground.config import PPOConfig
from playground.ppo.advantages import groups_that_differ
from playground.training.loop.optimizer_state import copy_of, put_weights

NAMES = "earlier/"  # before the names of these weights in a checkpoint


class EarlierWeights:
    """All that is trained as it was at the start of the last updates, as many as texts are late."""

    def __init__(self, staleness: int) -> None:
        self._kept: deque[dict[str, Tensor]] = deque(maxlen=staleness)  # the oldest first

    @contextmanager
    def in_place_of(self, weights: Mapping[str, nn.Parameter]) -> Iterator[dict[str, Tensor]]:
        """Within it the weights are the oldest that are kept, while there are none those of now. Gives a copy of those
        of now, which are put back at the end."""
        now = copy_of(weights)
        if self._kept:
            put_weights(weights, self._kept[0])
        try:
            yield now
        finally:
            put_weights(weights, now)

    def keep(self, weights: dict[str, Tensor]) -> None:
        """For later updates."""
        self._kept.append(weights)

    def state(self) -> dict[str, Tensor]:
        """For a checkpoint."""
        return {
            f"{NAMES}{age}/{name}": weight for age, weights in enumerate(self._kept) for name, weight in weights.items()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What `state` gave among these tensors is kept again; returns the others."""
        for age in range(self._kept.maxlen or 0):
            start = f"{NAMES}{age}/"
            weights = {name.removeprefix(start): kept for name, kept in tensors.items() if name.startswith(start)}
            if weights:
                self._kept.append(weights)
        return {name: tensor for name, tensor in tensors.items() if not name.startswith(NAMES)}


def learned_from(ppo: PPOConfig, ended: Tensor, scores: Sequence[float]) -> Tensor:
    """Which episodes are learned from, [B]: all, unless settings leave some out. `ended`: [B], by themselves."""
    kept = torch.ones(len(ended), dtype=torch.bool)
    if ppo.overlong == "mask":
        kept &= ended.cpu()
    if ppo.drop_alike_groups:
        kept &= groups_that_differ(torch.tensor(scores, dtype=torch.float64), ppo.samples_per_prompt)
    return kept
