"""The state of an optimizer by the names of what it trains: for a checkpoint, or to undo a part of an update."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

MOST_WEIGHTS_TO_UNDO = 2**22  # with more, the copies for an update that is broken off would cost memory that counts
Weights = Mapping[str, nn.Parameter]


def trained(models: Mapping[str, nn.Module]) -> dict[str, nn.Parameter]:
    """Every parameter that learns, as `role.name`."""
    return {
        f"{role}.{name}": parameter
        for role, model in models.items()
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }


def state_dict(optimizer: torch.optim.Optimizer, weights: Weights) -> dict[str, Tensor]:
    """What the optimizer remembers of each weight, as `role.name/exp_avg` and so on; the tensors themselves."""
    return {
        f"{name}/{key}": value
        for name, weight in weights.items()
        if weight in optimizer.state
        for key, value in optimizer.state[weight].items()
    }


def load_state_dict(optimizer: torch.optim.Optimizer, weights: Weights, tensors: Mapping[str, Tensor]) -> None:
    """Let the optimizer remember exactly `tensors`. Raises: KeyError for a weight that is not among `weights`."""
    state: defaultdict[Tensor, Any] = defaultdict(dict)
    for name, value in tensors.items():
        weight, _, key = name.rpartition("/")
        state[weights[weight]][key] = value.to(weights[weight].device)
    optimizer.state = state


@contextmanager
def whole_or_nothing(optimizer: torch.optim.Optimizer, weights: Weights, cannot: Callable[[], None]) -> Iterator[None]:
    """Put weights and optimizer back to where they were if what is done inside is broken off. `cannot` is called where
    there are too many weights to keep a copy of."""
    small = sum(weight.numel() for weight in weights.values()) <= MOST_WEIGHTS_TO_UNDO
    before = {name: weight.detach().clone() for name, weight in weights.items()} if small else {}
    moments = {name: value.clone() for name, value in state_dict(optimizer, weights).items()} if small else {}
    try:
        yield
    except BaseException:
        if small:
            with torch.no_grad():
                for name, weight in weights.items():
                    weight.copy_(before[name])
            load_state_dict(optimizer, weights, moments)
        else:
            cannot()
        raise
