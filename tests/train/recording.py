"""CUDA graphs without CUDA: operations are written down while they are recorded, and done again when played back.

As in CUDA, what is recorded does not happen; what Python decides meanwhile is decided once and for all; played back,
the same operations read and write the same tensors; and reading a number, or making a tensor from one of Python's,
while recording is an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from playground.train.models import kv_cache

FORBIDDEN = {"_local_scalar_dense", "nonzero", "lift_fresh", "unique", "masked_select", "equal"}


class Stream:
    """Nothing is out of order here."""

    def __init__(self, device: object = None) -> None:
        pass

    def wait_stream(self, other: object) -> None:
        pass


class Graph:
    """torch.cuda.CUDAGraph."""

    def __init__(self) -> None:
        self.operations: list[tuple[Any, Any, Any, list[Tensor]]] = []
        self.replays = 0

    @torch.no_grad()
    def replay(self) -> None:
        self.replays += 1
        for function, arguments, options, outputs in self.operations:
            again = [leaf for leaf in tree_leaves(function(*arguments, **options)) if isinstance(leaf, Tensor)]
            for old, new in zip(outputs, again, strict=True):
                if old.data_ptr() != new.data_ptr():  # else it is a view, or was changed in place
                    old.copy_(new)


class Recorder(TorchDispatchMode):
    """Writes operations down, and undoes at the end what they did to tensors that were there before."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._graph = graph
        self._before: list[tuple[Tensor, Tensor]] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = function.overloadpacket.__name__
        if name in FORBIDDEN:
            raise RuntimeError(f"operation not permitted when stream is capturing: {name}\nand more lines")
        options = kwargs or {}
        for position, argument in enumerate(function._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write and position < len(args):
                self._before.append((args[position], args[position].clone()))
        result = function(*args, **options)
        outputs = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        self._graph.operations.append((function, args, options, outputs))
        return result

    def undo(self) -> None:
        for changed, before in reversed(self._before):
            changed.copy_(before)


@contextlib.contextmanager
def recording(graph: Graph, stream: object = None, capture_error_mode: str = "global") -> Iterator[None]:
    """torch.cuda.graph."""
    recorder = Recorder(graph)
    try:
        with recorder:
            yield
    finally:
        recorder.undo()


def put_in(monkeypatch: Any) -> list[Graph]:
    """In CUDA's place. Returns the graphs, as they are made."""
    made: list[Graph] = []

    def new() -> Graph:
        made.append(Graph())
        return made[-1]

    monkeypatch.setattr(kv_cache, "stream_for_recording", Stream)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "CUDAGraph", new)
    monkeypatch.setattr(torch.cuda, "graph", recording)
    return made
