"""The states of a run divided between its ranks by PyTorch's FSDP2 (`fully_shard`), with sums in the place of averages.

Outside the optimizer's steps every rank has the whole policy: writing, evaluating and saving need no other rank. With
`optimizer` it is whole while learning too; with `full` a pass gathers one layer at a time, and the reference is whole
only while it is asked. FSDP wants every pass with gradients to go through the outermost module
(`LanguageModel.forward`, `Critic.forward`).
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import distribute_tensor

from playground.training.loop.division import Undivided
from playground.training.loop.optimizer_state import undivided
from playground.training.loop.ranks import OtherLost, Ranks, StoppedTogether, answered
from playground.training.models.language_model import Critic, LanguageModel
from playground.training.models.steering_vector import decoder_layers

NETWORK_WORDS = ("gloo", "NCCL")


class FSDPDivision(Undivided):
    """Policy and critic, each rank with its part of every weight, gradient and moment; with `full` the reference too.
    Made by all ranks together, from whole weights that are the same on all."""

    def __init__(
        self, ranks: Ranks, policy: LanguageModel, critic: Critic, reference: LanguageModel, kind: str
    ) -> None:
        assert ranks.device is not None, "only one of several ranks divides anything"
        self._ranks = ranks
        self.equal_passes = kind == "full"
        self._learners: list[nn.Module] = [policy, critic]
        self._references: list[nn.Module] = [reference] if self.equal_passes else []
        warnings.filterwarnings("ignore", message="FSDP2-wrapped module")  # of views, which nothing here changes
        mesh = dist.init_device_mesh(ranks.device.type, (ranks.count,))
        policy.keep_names()
        reference.keep_names()
        for model in (*self._learners, *self._references):
            trunk = model.trunk
            for part in (*(decoder_layers(trunk) if isinstance(trunk, nn.Module) else ()), model):
                divided: Any = fully_shard(part, mesh=mesh, reshard_after_forward=False)
                divided.set_gradient_divide_factor(1.0)
                divided.set_force_sum_reduction_for_comms(True)  # gloo's average is a sum, and NCCL's is none of ours

    @torch.no_grad()
    def begin(self) -> None:
        """Let every rank have whole weights. The first pass tells FSDP which module is the outermost."""
        self._gather(self._learners)
        ids = torch.zeros((1, 1), dtype=torch.long, device=self._ranks.device)
        policy, critic = self._learners
        features, _ = policy(ids, ids == 0)
        critic(ids, ids == 0, features)
        with self.comparing():
            for reference in self._references:
                reference(ids, ids == 0)

    def _gather(self, models: Sequence[nn.Module]) -> None:
        """Let every rank have the whole weights as the optimizer left them."""
        self._ranks.meet()
        with answered():
            for part in _parts(models):
                part.reshard()
                part.unshard()

    @contextlib.contextmanager
    def comparing(self) -> Iterator[None]:
        """See `Undivided`."""
        self._gather(self._references)
        try:
            yield
        finally:
            for part in _parts(self._references):
                part.reshard()

    @contextlib.contextmanager
    def learning(self) -> Iterator[None]:
        """See `Undivided`. Raises: OtherLost, where FSDP finds no other rank."""
        inner = [part for part in _parts(self._learners) if part not in self._learners]
        if self.equal_passes:
            for part in _parts(self._learners):
                part.reshard()
            for part in inner:
                part.set_reshard_after_forward(True)
        try:
            yield
        except StoppedTogether:
            self._put_together(inner)
            raise
        except RuntimeError as error:  # of a pass, in which FSDP exchanges weights and gradients
            if isinstance(error, dist.DistError) or any(word in str(error) for word in NETWORK_WORDS):
                raise OtherLost(str(error).partition("\n")[0]) from error
            raise
        self._put_together(inner)

    def _put_together(self, inner: Sequence[FSDPModule]) -> None:
        for part in inner:
            part.set_reshard_after_forward(False)
        self._gather(self._learners)

    def begin_pass(self, *, last: bool) -> None:
        """Gradients are added up on this rank until the last pass, unless all ranks make as many."""
        for model in self._learners if not self.equal_passes else ():
            assert isinstance(model, FSDPModule)
            model.set_requires_gradient_sync(last)
            model.set_reshard_after_backward(last)

    def end_step(self) -> None:
        """See `Undivided`."""
        if not self.equal_passes:
            self._gather(self._learners)

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """See `Undivided`; by all ranks together, one tensor after the other."""
        whole_tensors = {}
        for name, tensor in tensors.items():
            with answered():
                full = undivided(tensor)
            if self._ranks.rank == 0:
                whole_tensors[name] = full.cpu()
        return whole_tensors

    def divided(self, weights: Mapping[str, nn.Parameter], tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Each rank's part of rank 0's whole tensors of the optimizer, by `role.name/key`."""
        parts = {}
        for name, shape, small in self._ranks.first([_sketch(item) for item in tensors.items()]):
            if small is not None:
                parts[name] = small
                continue
            weight: Any = weights[name.rpartition("/")[0]]
            full = tensors[name] if self._ranks.rank == 0 else torch.empty(shape)
            with answered():
                parts[name] = distribute_tensor(full.to(weight.device), weight.device_mesh, weight.placements)
        return parts


def _sketch(item: tuple[str, Tensor]) -> tuple[str, tuple[int, ...], Tensor | None]:
    """The name and shape of a tensor; a single number, such as a count of steps, is no weight's and goes as it is."""
    name, tensor = item
    return name, tuple(tensor.shape), tensor if tensor.ndim == 0 else None


def _parts(models: Sequence[nn.Module]) -> list[FSDPModule]:
    return [part for model in models for part in model.modules() if isinstance(part, FSDPModule)]
