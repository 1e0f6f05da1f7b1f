"""The optimizer of a run, and its state by the names of what it trains: for a checkpoint, or to undo an update."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import filterfalse
from typing import Any

import torch
from torch import Tensor, nn

from playground.config import PPOConfig
from playground.config.engines import ADAM_EPSILON

MOST_WEIGHTS_TO_UNDO = 2**22  # with more, the copies for an update that is broken off would cost memory that counts
TABLES = ("qmap1", "qmap2")  # of bitsandbytes: the same tensor for all weights, which no file of tensors may hold
Weights = Mapping[str, nn.Parameter]


def made(ppo: PPOConfig, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
    """The optimizer that the settings name, of groups of weights; of each, the matrices decay where anything does."""
    if ppo.weight_decay:
        parts = [(group, [*kept(_is_matrix, group["params"])]) for group in groups for kept in (filter, filterfalse)]
        groups = [{**group, "params": weights} for group, weights in parts if weights]
    for group in groups:
        group["weight_decay"] = ppo.weight_decay * all(map(_is_matrix, group["params"]))
    rate, own = ppo.learning_rate, torch.optim
    match ppo.optimizer:
        case "sgd":
            return own.SGD(groups, lr=rate)
        case "adafactor":
            from transformers import Adafactor

            return Adafactor(groups, lr=rate, scale_parameter=False, relative_step=False)
        case "adamw_8bit":
            from bitsandbytes.optim import AdamW8bit  # a second of imports

            return AdamW8bit(groups, lr=rate, eps=ADAM_EPSILON)
    return (own.Adam if ppo.optimizer == "adam" else own.AdamW)(groups, lr=rate, eps=ADAM_EPSILON, fused=True)


def _is_matrix(weight: nn.Parameter) -> bool:
    return weight.ndim > 1


def trained(models: Mapping[str, nn.Module]) -> dict[str, nn.Parameter]:
    """Every parameter that learns, as `role.name`."""
    return {
        f"{role}.{name}": parameter
        for role, model in models.items()
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }


def state_dict(optimizer: torch.optim.Optimizer, weights: Weights) -> dict[str, Tensor]:
    """What the optimizer remembers of each weight, as `role.name/exp_avg` and so on; the tensors themselves. A count
    that is no tensor is one of whole numbers, which no other is."""
    return {
        f"{name}/{key}": value.clone() if key in TABLES else torch.as_tensor(value)
        for name, weight in weights.items()
        if weight in optimizer.state
        for key, value in optimizer.state[weight].items()
    }


def undivided(tensor: Any) -> Tensor:
    """A tensor of which each rank may have a part, whole; then for all ranks together."""
    whole: Tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return whole


def load_state_dict(optimizer: torch.optim.Optimizer, weights: Weights, tensors: Mapping[str, Tensor]) -> None:
    """Let the optimizer remember exactly `tensors`. Raises: KeyError for a weight that is not among `weights`."""
    state: defaultdict[Tensor, Any] = defaultdict(dict)
    for name, value in tensors.items():
        weight, _, key = name.rpartition("/")
        counts = value.dtype == torch.int64
        state[weights[weight]][key] = value.item() if counts else value.to(weights[weight].device)
    optimizer.state = state


def copy_of(weights: Weights) -> dict[str, Tensor]:
    """Their numbers as they are now, by name."""
    return {name: weight.detach().clone() for name, weight in weights.items()}


def put_weights(weights: Weights, others: Mapping[str, Tensor]) -> None:
    """Put other numbers into weights, by name."""
    with torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(others[name])


@contextmanager
def whole_or_nothing(optimizer: torch.optim.Optimizer, weights: Weights, cannot: Callable[[], None]) -> Iterator[None]:
    """Put weights and optimizer back to where they were if what is done inside is broken off. `cannot` is called where
    there are too many weights to keep a copy of."""
    small = sum(weight.numel() for weight in weights.values()) <= MOST_WEIGHTS_TO_UNDO
    before = copy_of(weights) if small else {}
    moments = {name: value.clone() for name, value in state_dict(optimizer, weights).items()} if small else {}
    try:
        yield
    except BaseException:
        if small:
            put_weights(weights, before)
            load_state_dict(optimizer, weights, moments)
        else:
            cannot()
        raise
