"""LoRA's layers of peft, without what a run here has no use for: the same numbers in fewer operations.

peft looks for other kinds of adapters in every call, converts what goes in and what comes out, and walks through the
whole model to switch an adapter off. Measured on a model of 135 million weights in bf16: a pass over 960 tokens takes
0.40 instead of 0.52 s, a step of sampling with the adapter off 43 instead of 69 ms.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from peft.tuners import lora
from peft.tuners.lora.layer import LoraLayer
from torch import Tensor, add
from torch.nn.functional import linear

NAME = "default"  # the only adapter that a model has here


class LeanLinear(lora.Linear):
    """A linear layer with one adapter and no dropout: x W + scaling x A B."""

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        result = self.base_layer(x)
        if self._disable_adapters or self.merged:
            return result
        first: Any = self.lora_A[NAME].weight
        second: Any = self.lora_B[NAME].weight
        return add(result, linear(linear(x, first), second), alpha=self.scaling[NAME])


def lean(model: Any) -> Any:
    """A model of peft whose plain linear layers are such ones; quantized and transposed ones stay as they are."""
    for module in model.modules():
        if type(module) is lora.Linear:
            module.__class__ = LeanLinear
    return model


@contextlib.contextmanager
def switched_off(model: Any) -> Iterator[None]:
    """Passes without the adapter."""
    layers = [module for module in model.modules() if isinstance(module, LoraLayer)]
    for layer in layers:
        layer._disable_adapters = True
    try:
        yield
    finally:
        for layer in layers:
            layer._disable_adapters = False
