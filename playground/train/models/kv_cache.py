"""The keys and values of all tokens so far, while a model writes one token more, again and again.

On the CPU a cache that grows and drops episodes that have ended; on a GPU one of fixed length, so that a step is always
the same work on the same addresses and can be recorded once (a CUDA graph) and played back with one launch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, StaticLayer

from playground.train.models.language_model import LanguageModel, positions


def cache_for(model: LanguageModel, prompt_mask: Tensor, longest: int) -> GrowingCache | FixedCache:
    """The cache for completions of at most `longest` tokens behind prompts with this mask [B, P], on this device.

    On a GPU sampling waits for the processor that launches thousands of short kernels a step. There, rows that go on
    after their end cost nearly nothing, and another shape would cost another recording; so the batch stays as it is.
    """
    if model.device.type == "cuda" and has_fixed_shapes(model):
        return FixedCache(model, prompt_mask, longest)
    return GrowingCache(model, prompt_mask)


def has_fixed_shapes(model: LanguageModel) -> bool:
    """True where each layer keeps plain keys and values of all tokens, and a step never looks into its numbers.

    Not so with a sliding window (Gemma 2), and not for weights of bitsandbytes, whose 8 bits pick outliers out.
    """
    trunk = model.trunk
    return (
        bool(getattr(trunk, "_can_compile_fullgraph", False))
        and getattr(trunk.config, "quantization_config", None) is None
        and all(type(layer) is DynamicLayer for layer in DynamicCache(config=trunk.config).layers)
    )


class GrowingCache:
    """transformers' own: one column more with each token. Rows can leave it; each time all of it is copied."""

    def __init__(self, model: LanguageModel, prompt_mask: Tensor) -> None:
        self._model, self._mask, self._position = model, prompt_mask, positions(prompt_mask)
        self._cache: Any = None

    def next_hidden(self, ids: Tensor) -> Tensor:
        """The last hidden state [B, H] after these tokens: first the prompts [B, P], then one more of each, [B, 1]."""
        if self._cache is not None:
            self._mask = torch.cat([self._mask, torch.ones_like(self._mask[:, :1])], dim=1)
            self._position = self._position[:, -1:] + 1
        hidden, self._cache = self._model.next_hidden(ids, self._mask, self._position, self._cache)
        return hidden

    def keep(self, rows: Tensor) -> None:
        """From now on only these rows."""
        self._cache.batch_select_indices(rows)
        self._mask, self._position = self._mask[rows], self._position[rows]


class FixedCache:
    """Room for prompt and completion from the beginning: every step after the prompt has the same shapes and addresses.

    The mask [B, P + C] says that all of the completion is real from the beginning; what is not written yet lies in the
    future, where a causal model does not look.

    Args:
        recorded: play steps back instead of launching them, which takes a GPU.
    """

    def __init__(
        self, model: LanguageModel, prompt_mask: Tensor, longest: int, *, recorded: bool | None = None
    ) -> None:
        self._model = model
        batch, width = prompt_mask.shape
        self._mask = torch.cat([prompt_mask, prompt_mask.new_ones(batch, longest)], dim=1)
        self._position = positions(prompt_mask)
        self._ids: Tensor | None = None
        depth = len(DynamicCache(config=model.trunk.config).layers)
        self._cache = Cache(layers=[FixedLayer(width + longest, model.autocast) for _ in range(depth)])
        recorded = model.device.type == "cuda" if recorded is None else recorded
        self._recorded = Recorded(model.device) if recorded else None

    def next_hidden(self, ids: Tensor) -> Tensor:
        """See `GrowingCache`."""
        if self._ids is None:
            hidden, _ = self._model.next_hidden(ids, self._mask, self._position, self._cache)
            self._ids, self._position = ids[:, -1:].clone(), self._position[:, -1:].clone()
            return hidden
        self._ids.copy_(ids)
        self._position.add_(1)
        return self._launch() if self._recorded is None else self._recorded(self._launch)

    @property
    def refused(self) -> str:
        """Why its steps could not be recorded; empty if they were, or if they were not to be."""
        return "" if self._recorded is None else self._recorded.refused

    def _launch(self) -> Tensor:
        assert self._ids is not None
        return self._model.next_hidden(self._ids, self._mask, self._position, self._cache)[0]


class FixedLayer(StaticLayer):
    """Keys and values of one layer in one type: under autocast they come in two, and attention computes in the lower.

    Args:
        length: tokens. kind: autocast's type; None for the type in which they come.
    """

    def __init__(self, length: int, kind: torch.dtype | None) -> None:
        super().__init__(max_cache_len=length)
        self._kind = kind

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **options: Any) -> tuple[Tensor, Tensor]:
        """Write the newest columns; returns all."""
        kind = self._kind or key_states.dtype
        return super().update(key_states.to(kind), value_states.to(kind), *args, **options)


class Recorded:
    """A function of tensors that stay where they are, recorded as a CUDA graph and played back.

    The first call runs it on a stream of its own, in which libraries make what they need; the second records; it and
    all later ones play back. A function that cannot be recorded (it looks into its numbers) is called as it is.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._warm = False
        self._graph: torch.cuda.CUDAGraph | None = None
        self._output: Tensor | None = None
        self.refused = ""  # why it could not be recorded

    def __call__(self, function: Callable[[], Tensor]) -> Tensor:
        """The function's result. It is given each time and not kept: kept, it and its owner would hold each other, and
        the memory of both, until Python looks for circles."""
        if not self._warm:
            self._warm = True
            return self._beside(function)
        if self._graph is None and not self.refused:
            self._record(function)
        if self._graph is None:
            return function()
        assert self._output is not None
        self._graph.replay()
        return self._output.clone()  # the next call writes into the same memory

    def _beside(self, function: Callable[[], Tensor]) -> Tensor:
        stream, current = stream_for_recording(self._device), torch.cuda.current_stream(self._device)
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            output = function()
        current.wait_stream(stream)
        return output

    def _record(self, function: Callable[[], Tensor]) -> None:
        graph, stream = torch.cuda.CUDAGraph(), stream_for_recording(self._device)
        try:
            # the outer one, because the inner one leaves its stream in place where recording fails; only what this
            # thread does can spoil it
            with (
                torch.cuda.stream(stream),
                torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"),
            ):
                self._output = function()
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:  # what CUDA forbids while it records
            self.refused = str(error).strip().splitlines()[0]
            print(f"A step of sampling cannot be recorded as a CUDA graph, so each is launched: {self.refused}")
            return
        self._graph = graph


@functools.cache
def stream_for_recording(device: torch.device) -> torch.cuda.Stream:
    """One for each device and no more: libraries keep tens of MB for every stream that they have seen."""
    return torch.cuda.Stream(device)
