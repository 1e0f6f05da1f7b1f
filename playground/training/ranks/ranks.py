"""What a process of a run shares with the others that compute it. This is one alone, which shares with nobody.

Trainer, evaluation and scoring are written for any number of ranks: each does its part of the rows, and what they have
found is put together. `many.ManyRanks` does that between processes; here the part is all of it. Knows torch; nothing
of PPO, runs or files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


class Ranks:
    """One process alone. Every method is what `many.ManyRanks` does between several; they are called by all ranks, in
    the same order.

    Attributes:
        rank: the number of this process; rank 0 holds the run's folder. count: how many there are. device: where this
            one computes; None where the configuration says it.
    """

    rank = 0
    count = 1
    device: torch.device | None = None

    @property
    def share(self) -> slice:
        """Which rows of a batch are this rank's."""
        return slice(self.rank, None, self.count)

    def deal(self, total: int, first: Sequence[int] = ()) -> list[int]:
        """Which of `total` questions this rank answers; those in `first` are all rank 0's."""
        return list(range(total))

    def minibatch(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """This rank's part of the rows of a minibatch, as long as the others'. `lengths` [B]: of every row's text."""
        return rows

    def gather(self, tensors: Mapping[str, Tensor], total: int) -> dict[str, Tensor]:
        """The rows of all ranks, [total, C, ...] each, from `share` of them, whose C may differ."""
        return dict(tensors)

    def sum_gradients(self, optimizer: torch.optim.Optimizer, sums: dict[str, Tensor], largest: str) -> None:
        """Add up the gradients of all ranks, and the numbers in `sums`; of the one named `largest` take the largest."""

    def exchange(self, mine: Any) -> list[Any]:
        """Plain data (as JSON has it) of every rank, by rank."""
        return [mine]

    def first(self, told: Any = None) -> Any:
        """What rank 0 tells: plain data."""
        return told

    def broadcast(self, tensors: Sequence[Tensor]) -> None:
        """Put rank 0's numbers into everybody's tensors."""

    def between(self) -> None:
        """To be called often: raises once another rank has left."""


ALONE = Ranks()
