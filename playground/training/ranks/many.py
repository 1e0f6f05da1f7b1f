"""Several processes that compute one run together: what `ranks.Ranks` promises, over torch.distributed.

Sums, never averages: a minibatch's loss is divided by all its tokens before the gradients are added, so that N ranks
learn what one would have learned, whichever got the longer texts. Nobody waits for one that has gone: before anything
is exchanged every rank says on the CPU whether it goes on, and where one does not, all leave at the same point, with
its reason. That exchange may wait for days (a paused run does), while nothing waits inside NCCL.

Knows torch; nothing of PPO, runs or files. `family.joined` makes one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from playground.training.ranks.leaving import OtherLeft, OtherLost, Told
from playground.training.ranks.ranks import Ranks

BUCKET_BYTES = 64 * 2**20  # of gradients that are summed at once
LOOK_SECONDS = 0.2
LEAVING = "leaving"  # the key in the store by which a rank calls the others out of what they compute
CPU = torch.device("cpu")


class Step(IntEnum):
    """What a rank is about to do. All say the same, unless one leaves."""

    LEAVE = 0
    GATHER = 1
    SUM = 2
    EXCHANGE = 3
    FIRST = 4
    BROADCAST = 5


class ManyRanks(Ranks):
    """One of several.

    Args:
        store: where a rank says that it leaves. explained: what to tell the others of an error.
    """

    def __init__(
        self, store: dist.Store, rank: int, count: int, device: torch.device, explained: Callable[[BaseException], Told]
    ) -> None:
        self.rank, self.count, self.device = rank, count, device
        self._store, self._explained = store, explained
        self._looked = 0.0
        self._apart = False  # from the moment at which this rank has left, or found that others have

    # -- leaving ------------------------------------------------------------------------------------------------------

    def between(self) -> None:
        """Raises: OtherLeft, once another rank has called."""
        now = time.monotonic()
        if now - self._looked > LOOK_SECONDS:
            self._looked = now
            if self._called():
                raise OtherLeft

    @contextmanager
    def leaving_together(self) -> Iterator[None]:
        """Around all that ranks do together: whatever ends it for one ends it for all.

        Raises:
            OtherLeft, with the reasons; OtherLost.
        """
        try:
            yield
        except OtherLeft as error:
            raise (OtherLeft(self._leave(None)) if not error.told else error) from None
        except OtherLost:
            raise
        except BaseException as error:
            with suppress(OtherLost):
                self._leave(self._explained(error))
            raise

    def _called(self) -> bool:
        try:
            return self._store.check([LEAVING])
        except RuntimeError as error:  # the process that keeps the store has gone
            raise OtherLost(str(error)) from error

    def _leave(self, told: Told | None) -> dict[int, Told]:
        """Say that this rank goes no further, and why; hear who else does not. Once."""
        if self._apart:
            return {}
        with self._answered():
            self._store.set(LEAVING, "1")
        self._say(Step.LEAVE)
        return self._reasons(told)

    def _agree(self, step: Step) -> None:
        """Go on to an exchange with everybody, or not at all."""
        said = self._say(step)
        if Step.LEAVE in said:
            raise OtherLeft(self._reasons(None))
        assert set(said) == {step}, f"the ranks are out of step: {said}"

    def _say(self, step: Step) -> list[int]:
        said = [torch.zeros(1, dtype=torch.int64) for _ in range(self.count)]
        with self._answered():
            dist.all_gather(said, torch.tensor([step], dtype=torch.int64))
        return [int(one) for one in said]

    def _reasons(self, mine: Told | None) -> dict[int, Told]:
        self._apart = True
        return {rank: told for rank, told in enumerate(self._all(mine)) if told}

    @contextmanager
    def _answered(self) -> Iterator[None]:
        """Raises: OtherLost, where torch.distributed says in its own words that a peer has gone."""
        try:
            yield
        except (RuntimeError, OSError) as error:  # DistBackendError and its kin are RuntimeErrors
            if type(error).__name__ == "OutOfMemoryError":
                raise
            self._apart = True
            raise OtherLost(str(error).partition("\n")[0]) from error

    # -- rows ---------------------------------------------------------------------------------------------------------

    def deal(self, total: int, first: Sequence[int] = ()) -> list[int]:
        """See `Ranks`. The rest is dealt so that all get about as many."""
        others = [row for row in range(total) if row not in set(first)]
        fair = -(-total // self.count)
        end = max(0, fair - len(first))
        if self.rank == 0:
            return [*first, *others[:end]]
        return others[end:][self.rank - 1 :: self.count - 1]

    def minibatch(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """See `Ranks`."""
        order = torch.argsort(lengths[rows].cpu(), stable=True)
        return rows[order][self.share]

    # -- exchanges ----------------------------------------------------------------------------------------------------

    def gather(self, tensors: Mapping[str, Tensor], total: int) -> dict[str, Tensor]:
        """See `Ranks`."""
        self._agree(Step.GATHER)
        widths = torch.tensor([tensor.shape[1] if tensor.ndim > 1 else 0 for tensor in tensors.values()])
        with self._answered():
            dist.all_reduce(widths, dist.ReduceOp.MAX)
            return {
                name: self._gathered(tensor, int(width), total)
                for (name, tensor), width in zip(tensors.items(), widths, strict=True)
            }

    def _gathered(self, mine: Tensor, width: int, total: int) -> Tensor:
        each = -(-total // self.count)
        shape = (each, width, *mine.shape[2:]) if mine.ndim > 1 else (each,)
        padded = torch.zeros(shape, dtype=mine.dtype, device=mine.device)
        padded[tuple(map(slice, mine.shape))] = mine
        bits = padded.view(torch.uint8) if mine.dtype == torch.bool else padded
        parts = [torch.empty_like(bits) for _ in range(self.count)]
        dist.all_gather(parts, bits)
        return torch.stack(parts, 1).flatten(0, 1)[:total].view(mine.dtype)

    def sum_gradients(self, optimizer: torch.optim.Optimizer, sums: dict[str, Tensor], largest: str) -> None:
        """See `Ranks`."""
        self._agree(Step.SUM)
        weights = [weight for group in optimizer.param_groups for weight in group["params"]]
        gradients = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights]
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient
        with self._answered():
            for bucket in buckets(gradients):
                flat = torch.cat([gradient.flatten() for gradient in bucket])
                dist.all_reduce(flat)
                for gradient, whole in zip(bucket, flat.split([one.numel() for one in bucket]), strict=True):
                    gradient.copy_(whole.view_as(gradient))
            added = [name for name in sums if name != largest]
            numbers = torch.stack([sums[name].double() for name in added])
            dist.all_reduce(numbers)
            dist.all_reduce(sums[largest], dist.ReduceOp.MAX)
        sums.update(zip(added, numbers, strict=True))

    def exchange(self, mine: Any) -> list[Any]:
        """See `Ranks`."""
        self._agree(Step.EXCHANGE)
        return self._all(mine)

    def _all(self, mine: Any) -> list[Any]:
        """JSON, not pickle: what comes from another process is data."""
        text = torch.frombuffer(bytearray(json.dumps(mine).encode()), dtype=torch.uint8)
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.count)]
        with self._answered():
            dist.all_gather(sizes, torch.tensor([len(text)]))
            padded = torch.zeros(int(max(sizes)), dtype=torch.uint8)
            padded[: len(text)] = text
            parts = [torch.empty_like(padded) for _ in range(self.count)]
            dist.all_gather(parts, padded)
        return [json.loads(bytes(part[:size].tolist())) for part, size in zip(parts, sizes, strict=True)]

    def first(self, told: Any = None) -> Any:
        """See `Ranks`."""
        self._agree(Step.FIRST)
        return self._all(told if self.rank == 0 else None)[0]

    def broadcast(self, tensors: Sequence[Tensor]) -> None:
        """See `Ranks`."""
        self._agree(Step.BROADCAST)
        with self._answered(), torch.no_grad():
            for tensor in tensors:
                whole = tensor.detach().to(self.device).contiguous()
                dist.broadcast(whole, 0)
                tensor.copy_(whole)


def buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Tensors in groups of one type and of about `BUCKET_BYTES`, in their order."""
    bucket: list[Tensor] = []
    size = 0
    for tensor in tensors:
        if bucket and (size + tensor.nbytes > BUCKET_BYTES or tensor.dtype != bucket[0].dtype):
            yield bucket
            bucket, size = [], 0
        bucket.append(tensor)
        size += tensor.nbytes
    if bucket:
        yield bucket
