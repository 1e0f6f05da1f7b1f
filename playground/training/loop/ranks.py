"""What a process of a run shares with the others that compute it, over torch.distributed; one alone shares nothing.

Sums, never averages: a minibatch's loss is divided by all its tokens before the gradients are added, so that N ranks
learn what one would have learned. All meet on the CPU (gloo), where an exchange may wait for days (a paused run does)
and fails at once where a rank has gone; so nothing waits inside NCCL. `rank_processes` makes one of several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


class OtherLost(Exception):
    """Another rank does not answer: its process has ended, or the network between is gone."""


class StoppedTogether(Exception):
    """All ranks break off what they do at the same place, because rank 0 is to end the run."""


class Ranks:
    """One of the processes; rank 0 holds the run's folder. Every method is called by all ranks, in the same order, and
    may raise OtherLost."""

    def __init__(self, rank: int = 0, count: int = 1, device: torch.device | None = None) -> None:
        self.rank, self.count, self.device = rank, count, device
        self.divides = False  # True once no rank can save by itself, as each has a part of the states
        self.asked: Exception | None = None  # why rank 0 is to break off

    @property
    def share(self) -> slice:
        """Which rows of a batch are this rank's."""
        return slice(self.rank, None, self.count)

    def deal(self, total: int, first: Sequence[int] = ()) -> list[int]:
        """Which of `total` questions this rank answers; those in `first` are all rank 0's."""
        if self.count == 1:
            return list(range(total))
        others = [row for row in range(total) if row not in set(first)]
        end = max(0, -(-total // self.count) - len(first))
        if self.rank == 0:
            return [*first, *others[:end]]
        return others[end:][self.rank - 1 :: self.count - 1]

    def minibatch(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """This rank's part of the rows of a minibatch, as long as the others'. `lengths` [B]: of every row's text."""
        if self.count == 1:
            return rows
        order = torch.argsort(lengths[rows].cpu(), stable=True)
        return rows[order][self.share]

    def exchange(self, mine: Any) -> list[Any]:
        """Plain data of every rank, by rank. As pickles: the ranks of a run trust one another."""
        of_all = [mine] * self.count
        if self.count > 1:
            with answered():
                dist.all_gather_object(of_all, mine)
        return of_all

    def meet(self) -> None:
        """Wait on the CPU until all ranks are here."""
        with answered():
            dist.all_reduce(torch.zeros(1))

    def break_off_if_asked(self) -> None:
        """Where the states are divided a run ends at such places only, on all ranks. Raises: StoppedTogether."""
        if self.divides and self.first(self.asked is not None):
            raise StoppedTogether

    def first(self, data: Any = None) -> Any:
        """What rank 0 gives all: plain data."""
        return self.exchange(data if self.rank == 0 else None)[0]

    def gather(self, tensors: Mapping[str, Tensor], total: int) -> dict[str, Tensor]:
        """The rows of all ranks, [total, C, ...] each, from `share` of them, whose C may differ."""
        parts = self.exchange({name: tensor.to("cpu", copy=True) for name, tensor in tensors.items()})
        found = {}
        for name, mine in tensors.items():
            shape = [max(sizes) for sizes in zip(*(part[name].shape[1:] for part in parts), strict=True)]
            whole = torch.zeros((total, *shape), dtype=mine.dtype)
            for rank, part in enumerate(parts):
                whole[(slice(rank, None, self.count), *map(slice, part[name].shape[1:]))] = part[name]
            found[name] = whole.to(mine.device)
        return found

    def sum_gradients(self, optimizer: torch.optim.Optimizer, sums: dict[str, Tensor], largest: str) -> None:
        """Add up the gradients of all ranks, and the numbers in `sums`; of the one named `largest` take the largest."""
        if self.count == 1:
            return
        weights = [weight for group in optimizer.param_groups for weight in group["params"]]
        weights = [] if self.divides else weights  # FSDP has added them up
        for weight in weights:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
        added = [name for name in sums if name != largest]
        numbers = torch.stack([sums[name].double() for name in added])
        self.meet()
        with answered():
            under_way = [dist.all_reduce(tensor, async_op=True) for tensor in (*(w.grad for w in weights), numbers)]
            under_way.append(dist.all_reduce(sums[largest], dist.ReduceOp.MAX, async_op=True))
            for work in under_way:
                work.wait()
        sums.update(zip(added, numbers, strict=True))

    def broadcast(self, tensors: Sequence[Tensor]) -> None:
        """Put rank 0's numbers into the tensors of all."""
        if self.count == 1:
            return
        self.meet()
        with answered(), torch.no_grad():
            for tensor in tensors:
                whole = tensor.detach().to(self.device).contiguous()
                dist.broadcast(whole, 0)
                tensor.copy_(whole)


ALONE = Ranks()


@contextmanager
def answered() -> Iterator[None]:
    """Raises: OtherLost, where torch.distributed says in its own words that a peer has gone."""
    try:
        yield
    except (RuntimeError, OSError) as error:  # DistBackendError and its kin are RuntimeErrors
        if type(error).__name__ == "OutOfMemoryError":
            raise
        raise OtherLost(str(error).partition("\n")[0]) from error
