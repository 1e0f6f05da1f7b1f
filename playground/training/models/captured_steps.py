"""Writing without Python in the way: a step of a model captured once as a CUDA graph, and replayed for each token.

A graph reads and writes the same memory in each replay. So keys and values lie in tensors of fixed size, of which a
step sees the first rows and columns, both in few sizes; the weights are the model's own, which change in place, or a
copy of them in the type to compute in. On a processor the same steps run as plain calls, which the tests do.
"""

from __future__ import annotations

import copy
import functools
import gc
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache, DynamicLayer, StaticLayer

from playground.setup.estimates.memory import room_for
from playground.training.models.kv_cache import KVCache
from playground.training.models.language_model import LanguageModel

LOOK_EVERY = 8  # tokens; to ask whether all texts have ended waits for the GPU
WARM_UPS = 3
MOST_APART = {True: 1e-4, False: 0.02}  # KL of a captured step to a plain one, in nats; False: in low precision


class FixedLayer(StaticLayer):
    """The first rows and columns of the keys and values of one layer. What is new goes into one column."""

    def __init__(self, keys: Tensor, values: Tensor, column: Tensor) -> None:
        super().__init__(keys.shape[2])
        self.keys, self.values, self.column = keys, values, column
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Keys and values [rows, heads, columns, D] with those of one more token of each row."""
        self.keys.index_copy_(2, self.column, key_states.to(self.keys.dtype))
        self.values.index_copy_(2, self.column, value_states.to(self.values.dtype))
        return self.keys, self.values

    def get_seq_length(self) -> Any:
        """The tokens before this step, as far as a model asks, which is told the positions too."""
        return self.column


class CapturedSteps:
    """The steps of one model and the memory that they share. It lasts as long as the model."""

    def __init__(self, model: LanguageModel) -> None:
        self.checked = False  # a captured step was compared with a plain one
        self.why_not = ""  # why this model writes in plain steps, where it was tried
        self.reported = False  # whether a run has said so
        self.rows = self.columns = 0  # in use
        self._writer, self._casts = with_cast_weights(model)
        self._layers: list[tuple[Tensor, Tensor]] = []
        self._length = 0
        self._steps: dict[tuple[int, int], Callable[[], Tensor]] = {}

    def begin(self, layers: Sequence[Any], mask: Tensor, position: Tensor, longest: int) -> None:
        """Take over what a model has read: its layers of keys and values, which columns are real [B, T], and the
        position of the last token [B, 1]. `longest`: how many tokens will follow."""
        self.rows, self.columns = mask.shape
        rows, self._length = room_for(self.rows, self.columns + longest)
        self._make_room(layers, rows, mask.device)
        for (keys, values), layer in zip(self._layers, layers, strict=True):
            keys.zero_()  # what is masked counts nothing, unless it is not a number
            values.zero_()
            keys[: self.rows, :, : self.columns] = layer.keys
            values[: self.rows, :, : self.columns] = layer.values
        self._mask.fill_(False)
        self._mask[:, :, :, 0] = True  # of rows that are not used
        self._mask[: self.rows, 0, 0, : self.columns] = mask
        self._position[: self.rows] = position
        with torch.no_grad():
            for cast, weight in self._casts:
                cast.copy_(weight)

    def give_up(self, why: str) -> None:
        """From now on this model writes in plain steps; what was held for others is let go."""
        self.why_not = why
        self._steps.clear()
        self._layers, self._casts = [], []
        del self._writer

    def _make_room(self, layers: Sequence[Any], rows: int, device: torch.device) -> None:
        if self._layers:
            most_rows, _, most_columns, _ = self._layers[0][0].shape
            if rows <= most_rows and self._length <= most_columns:
                return
            rows, length = max(rows, most_rows), max(self._length, most_columns)
        else:
            length = self._length
        self._steps.clear()
        self._pool = torch.cuda.graph_pool_handle() if device.type == "cuda" else None  # of the memory of all graphs
        self._layers = []  # before the new ones are made
        for layer in layers:
            keys, values = (
                part.new_zeros(rows, part.shape[1], length, part.shape[3]) for part in (layer.keys, layer.values)
            )
            self._layers.append((keys, values))
        self._mask = torch.zeros(rows, 1, 1, length, dtype=torch.bool, device=device)
        self._ids = torch.zeros(rows, 1, dtype=torch.long, device=device)
        self._position = torch.zeros(rows, 1, dtype=torch.long, device=device)
        self._column = torch.zeros(1, dtype=torch.long, device=device)

    def next_hidden(self, ids: Tensor) -> Tensor:
        """The last hidden state [B, H] after one more token of each row, [B, 1]."""
        self._ids[: self.rows] = ids
        self._position[: self.rows] += 1
        self._mask[:, :, :, self.columns] = True
        self._column.fill_(self.columns)
        self.columns += 1
        size = room_for(self.rows, self._length)
        if size not in self._steps:
            self._steps[size] = self._captured(*size)
        return self._steps[size]()[: self.rows].clone()

    def keep(self, rows: Tensor) -> None:
        """From now on only these rows."""
        self.rows = len(rows)
        for tensor in chain(*self._layers, (self._mask, self._position)):
            tensor[: self.rows] = tensor[rows]

    def _captured(self, rows: int, length: int) -> Callable[[], Tensor]:
        """The step of so many rows and columns, ready to be run again and again."""
        layers: list[Any] = [
            FixedLayer(keys[:rows, :, :length], values[:rows, :, :length], self._column)
            for keys, values in self._layers
        ]
        inputs = {
            "input_ids": self._ids[:rows],
            "attention_mask": self._mask[:rows, :, :, :length],
            "position_ids": self._position[:rows],
            "past_key_values": Cache(layers=layers),
        }
        compute, device = functools.partial(self._compute, inputs), self._mask.device
        return captured(compute, device, self._pool) if device.type == "cuda" else compute

    def _compute(self, inputs: dict[str, Any]) -> Tensor:
        device = self._mask.device.type
        without_keeping = torch.autocast(device, enabled=False, cache_enabled=False)  # a graph cannot know such casts
        with without_keeping, self._writer.mode(), self._writer.steered(None):
            output = self._writer.trunk(**inputs, use_cache=True, return_dict=True)
        hidden: Tensor = output.last_hidden_state[:, -1]
        return hidden


class CapturedCache(KVCache):
    """A KV cache whose steps are captured. The first step of a model is made in both ways; one that is not the same, or
    cannot be captured, leaves the model to plain steps."""

    look_every = LOOK_EVERY

    def __init__(self, model: LanguageModel, steps: CapturedSteps, longest: int) -> None:
        super().__init__(model)
        self._steps, self._longest = steps, longest
        self._captures = False

    def read(self, prompts: list[list[int]], ids: Tensor, mask: Tensor) -> Tensor:
        """As in `KVCache`."""
        hidden = super().read(prompts, ids, mask)
        layers = self._cache.layers
        if not all(type(layer) is DynamicLayer for layer in layers):
            self._steps.give_up("it keeps less than all keys and values")
            return hidden
        try:
            self._steps.begin(layers, self._mask, self._position[:, -1:], self._longest)
        except torch.OutOfMemoryError:
            self._steps.give_up("there is too little memory")
            return hidden
        self._captures = True
        if self._steps.checked:
            self._cache = None
        return hidden

    def next_hidden(self, ids: Tensor) -> Tensor:
        """As in `KVCache`."""
        if not self._captures:
            return super().next_hidden(ids)
        if self._steps.checked:
            return self._steps.next_hidden(ids)
        plain = super().next_hidden(ids)
        hidden = self._checked(ids, plain)
        self._captures = hidden is not None
        return plain if hidden is None else hidden  # the captured one, as where a run is resumed here

    def _checked(self, ids: Tensor, plain: Tensor) -> Tensor | None:
        """What a captured step says, if it is the same as a plain one; else None."""
        steps = self._steps
        try:
            hidden = steps.next_hidden(ids)
            apart = self._apart(plain, hidden)
        except Exception as error:  # whatever the code of a model makes of it
            steps.give_up(f"its step cannot be captured ({type(error).__name__})")
            return None
        if not apart <= MOST_APART[self._model.exact]:
            steps.give_up(f"a captured step was {apart:.2g} nats from a plain one")
            return None
        steps.checked, self._cache = True, None
        return hidden

    def _apart(self, plain: Tensor, other: Tensor) -> float:
        """The mean KL between what two hidden states say of the next token."""
        own, theirs = (self._model.logits(hidden).float().log_softmax(-1) for hidden in (plain, other))
        return float((own.exp() * (own - theirs)).sum(-1).mean())

    def keep(self, rows: Tensor) -> None:
        """As in `KVCache`."""
        if self._cache is not None:
            super().keep(rows)
        if self._captures:
            self._steps.keep(rows)


@functools.cache
def capturing_stream(device: torch.device) -> torch.cuda.Stream:
    """The stream on which steps are captured, always the same one: cuBLAS keeps memory for each."""
    return torch.cuda.Stream(device)


def captured(compute: Callable[[], Tensor], device: torch.device, pool: Any) -> Callable[[], Tensor]:
    """A computation on a GPU as one graph, whose memory is of the `pool`. To run it several times comes to the same as
    once. What waits for the GPU fails before the capture, which would be broken by it."""
    stream, own_stream = capturing_stream(device), torch.cuda.current_stream(device)
    stream.wait_stream(own_stream)
    with torch.cuda.stream(stream):
        for _ in range(WARM_UPS - 1):
            compute()
        usual = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode("error")
        try:
            compute()
        finally:
            torch.cuda.set_sync_debug_mode(usual)
    own_stream.wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    gc.collect()
    gc.disable()  # an older graph that is collected meanwhile breaks a capture
    try:
        with torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
            result = compute()
    finally:
        gc.enable()
        torch.cuda.set_stream(own_stream)  # a capture that fails leaves its own one

    def replay() -> Tensor:
        graph.replay()
        return result

    return replay


def with_cast_weights(model: LanguageModel) -> tuple[LanguageModel, list[tuple[Tensor, Tensor]]]:
    """The same model, in whose trunk the matrices are copies in the type that it computes in, and each copy with its
    original; all other tensors are shared."""
    twin = model.model
    if model.autocast is not None:
        shared_by_id = {id(tensor): tensor for tensor in chain(model.model.parameters(), model.model.buffers())}
        twin = copy.deepcopy(model.model, shared_by_id)
    writer = LanguageModel(twin, exact=model.exact, autocast=model.autocast, adapter_off=model.adapter_off)
    writer.steering = model.steering
    casts: list[tuple[Tensor, Tensor]] = []
    if twin is model.model:
        return writer, casts
    for module, original in zip(writer.trunk.modules(), model.trunk.modules(), strict=True):
        if type(module) is nn.Linear and original.weight.dtype != model.autocast:
            for name, weight in original.named_parameters(recurse=False):
                cast = nn.Parameter(weight.detach().to(model.autocast), requires_grad=False)
                setattr(module, name, cast)
                casts.append((cast, weight))
    return writer, casts
