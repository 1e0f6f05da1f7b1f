"""What a trainer asks of how the states of training are divided between ranks; here they are not. fsdp_division.py
divides them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from torch import Tensor


class Undivided:
    """Every rank has all of weights, gradients and moments."""

    equal_passes = False  # True where all ranks have to make as many passes as each other

    def learning(self) -> contextlib.AbstractContextManager[Any]:
        """Around the optimizer's steps of an update."""
        return contextlib.nullcontext()

    def comparing(self) -> contextlib.AbstractContextManager[Any]:
        """Around passes of the reference."""
        return contextlib.nullcontext()

    def begin_pass(self, *, last: bool) -> None:
        """Before a pass with gradients. `last`: of an optimizer step."""

    def end_step(self) -> None:
        """The optimizer has made its step."""

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Tensors of the optimizer, on rank 0."""
        return dict(tensors)
