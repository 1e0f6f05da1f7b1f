"""A direction in the residual stream, added behind one decoder layer while a model writes: no weight is changed.
`LanguageModel` applies it, `loading` finds its file beside the weights, `loop/untrained.py` makes it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from playground.errors import InvalidConfig, ModelNotFound, Problem

FILE = "steering.safetensors"


class SteeringVector(NamedTuple):
    """What is added behind a layer (the first is 1): `strength` times `values` [H]."""

    layer: int
    values: Tensor
    strength: float

    def added(self, residual: Tensor, where: Tensor | None) -> Tensor:
        """The residual stream [B, T, H] with the vector in it; `where` [B, T]: True = there, None = everywhere."""
        shift = (self.strength * self.values).to(residual.dtype)
        return residual + (shift if where is None else where.unsqueeze(-1) * shift)

    def save(self, folder: Path) -> None:
        """Write it beside the weights."""
        facts = {"layer": str(self.layer), "strength": repr(self.strength)}
        save_file({"vector": self.values.float().contiguous().cpu()}, folder / FILE, facts)


def read(folder: Path) -> SteeringVector | None:
    """The vector that lies in a folder; None without one. Raises: ModelNotFound, if it is damaged."""
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        with safe_open(str(path), framework="pt") as file:
            facts = file.metadata() or {}
            return SteeringVector(int(facts["layer"]), file.get_tensor("vector"), float(facts["strength"]))
    except Exception as error:  # safetensors has an error of its own for each damage, and a bare one for some
        raise ModelNotFound(
            f"The steering vector {path} is damaged. Take {FILE} away to load the model without it."
        ) from error


def decoder_layers(trunk: nn.Module) -> nn.ModuleList:
    """The layers of a transformer's trunk, whatever its family calls them. Raises: InvalidConfig, if none are found."""
    depth = getattr(getattr(trunk, "config", None), "num_hidden_layers", 0)
    for module in trunk.modules():
        if isinstance(module, nn.ModuleList) and len(module) == depth > 0:
            return module
    kind = type(trunk).__name__
    sentence = f"The decoder layers of this model ({kind}) were not found, so it cannot be steered. Choose another."
    raise InvalidConfig([Problem("model.source", sentence)])


def layer_of(trunk: nn.Module, wanted: int | None) -> int:
    """A layer by its number; None for the middle one. Raises: InvalidConfig, if there is none of that number."""
    depth = len(decoder_layers(trunk))
    if wanted is not None and not 1 <= wanted <= depth:
        sentence = f"The model has {depth} layers: give one from 1 to {depth} (got {wanted}), or none for the middle."
        raise InvalidConfig([Problem("steering.layer", sentence)])
    return wanted or (depth + 1) // 2


@contextlib.contextmanager
def behind(layer: nn.Module, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Within it, what comes out of a layer, [B, T, H], is what `change` makes of it."""

    def hook(module: nn.Module, inputs: object, output: Tensor | tuple[Tensor, ...]) -> Tensor | tuple[Tensor, ...]:
        if isinstance(output, tuple):
            return (change(output[0]), *output[1:])
        return change(output)

    handle = layer.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()
