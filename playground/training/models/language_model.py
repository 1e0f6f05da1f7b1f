"""A causal language model taken apart into trunk and LM head, and the value head on top. loading.py makes them."""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from playground.config.source_settings import SMALL_MODEL
from playground.errors import InvalidConfig, Problem
from playground.setup import devices
from playground.training.models import time_limit
from playground.training.models.steering_vector import SteeringVector, behind, decoder_layers, layer_of
from playground.training.models.token_tree import TokenTree, tree_of

CAPTURING = ("cuda",)  # types of device
CALL_OVERHEAD_OPERATIONS = 1.2e9
LEAST_CALL_OVERHEAD_TOKENS = 40  # every weight is read: measured on 135M weights 20 in fp32, 53 in bf16
FINGERPRINT_CHARACTERS = 16
TOKENIZER_FAILS = "The tokenizer of this model cannot be used"


@dataclass(frozen=True)
class Tokens:
    """The tokenizer and the special ids that sampling needs."""

    tokenizer: Any
    pad_id: int
    eos_id: int
    stop_ids: tuple[int, ...] = ()  # further tokens that end a completion, such as the end of a turn in a chat model

    @property
    def ends(self) -> tuple[int, ...]:
        """All tokens that end a completion."""
        return (self.eos_id, *self.stop_ids)

    def encode(self, text: str) -> list[int]:
        """Token ids of a prompt, with whatever the tokenizer puts in front (bos) and nothing behind."""
        with self.limited():
            ids = list(self.tokenizer(text).input_ids)
            return ids[:-1] if self._adds_end and ids else ids

    def ids_of(self, completion: str) -> list[int]:
        """Token ids of a completion as a text, with nothing in front and nothing behind."""
        with self.limited():
            return list(self.tokenizer(completion, add_special_tokens=False).input_ids)

    def decode(self, ids: list[int], after: list[int] | None = None) -> str:
        """The text of token ids, without special tokens. `after`: the tokens in front of them; a tokenizer of the
        sentencepiece kind keeps the space at the beginning of a word only where something stands before it."""
        if after and self._drops_first_space:
            anchor = after[-1:]
            return self._text(anchor + ids)[len(self._text(anchor)) :]
        return self._text(ids)

    def _text(self, ids: list[int]) -> str:
        with self.limited():
            return str(self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def limited(self) -> contextlib.AbstractContextManager[None]:
        """Around what a stranger's tokenizer does; see `time_limit`."""
        return time_limit.limited(TOKENIZER_FAILS, getattr(self.tokenizer, "name_or_path", None))

    @functools.cached_property
    def _adds_end(self) -> bool:
        return list(self.tokenizer("a").input_ids)[-1:] == [self.eos_id]

    @functools.cached_property
    def _drops_first_space(self) -> bool:
        ids = self.encode("a a")
        return self._text(ids[-1:]) == "a" and self._text(ids).endswith(" a")


class LanguageModel(nn.Module):
    """A causal language model of transformers or peft as trunk and LM head, so that logits are computed only where they
    are needed.

    Args:
        exact: False where the same tokens get slightly different numbers in another batch (bf16, 8 and 4 bits).
        autocast: the type to compute in where it is not that of the weights. adapter_off: without its adapter.
    """

    def __init__(
        self, model: Any, *, exact: bool = True, autocast: torch.dtype | None = None, adapter_off: bool = False
    ) -> None:
        super().__init__()
        self.model = model
        self.exact, self.autocast, self.adapter_off = exact, autocast, adapter_off
        self.steering: SteeringVector | None = None  # what every pass adds to the residual stream
        self.captured_steps: Any = None  # of `captured_steps`, once texts were written on a GPU
        causal = model.get_base_model() if hasattr(model, "peft_config") else model
        self.trunk = causal.base_model
        self.lm_head = causal.get_output_embeddings()
        self._transform_logits = logit_transform(causal.config)
        self._recomputed = recomputed_layers(self.trunk)
        self._names: list[str] | None = None  # of its numbers, where FSDP divides them
        self.earlier: dict[str, Tensor] = {}  # weights that stand in for those of the same name in every pass

    def keep_names(self) -> None:
        """Before the weights are divided: `state_dict` divides them again, so it is not asked any more."""
        self._names = list(self.model.state_dict())

    def numbers(self) -> dict[str, Any]:
        """Every number of the model by its name, as a checkpoint has them."""
        if self._names is None:
            return dict(self.model.state_dict())
        parts = self.model.named_parameters(remove_duplicate=False), self.model.named_buffers(remove_duplicate=False)
        tensors = {name: tensor for part in parts for name, tensor in part}
        return {name: tensors[name].detach() for name in self._names}

    @property
    def has_adapter(self) -> bool:
        """True where only LoRA's matrices are trained."""
        return hasattr(self.model, "peft_config")

    @property
    def hidden_size(self) -> int:
        """H, what the LM head reads."""
        return int(self.lm_head.in_features)

    @property
    def residual_size(self) -> int:
        """What the layers read and write; mostly the same."""
        return int(self.trunk.config.hidden_size)

    @property
    def vocabulary(self) -> int:
        """V, how many logits the LM head gives."""
        return int(self.lm_head.out_features)

    @property
    def context_length(self) -> int:
        """Most tokens of prompt and completion together."""
        return int(getattr(self.model.config, "max_position_embeddings", 1024))

    @functools.cached_property
    def is_small(self) -> bool:
        """True for models like the pocket ones, which are more overhead than arithmetic."""
        return sum(parameter.numel() for parameter in self.parameters()) < SMALL_MODEL

    @functools.cached_property
    def call_overhead_tokens(self) -> float:
        """How many tokens of work cost as much time as one more call (on a CPU core about 0.01 s a forward and backward
        pass of a small model against 10^11 operations a second); infinite on a GPU."""
        if self.device.type != "cpu":
            return math.inf
        operations = 6 * sum(parameter.numel() for parameter in self.parameters())  # of a token
        return max(CALL_OVERHEAD_OPERATIONS / operations, LEAST_CALL_OVERHEAD_TOKENS)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.model.parameters()).device

    @property
    def may_capture(self) -> bool:
        """True where a step of writing may become a CUDA graph: all of the model is on one GPU that stays, in weights
        that are not quantized, and attends by PyTorch's own function."""
        stays = self.device.type in CAPTURING and not devices.on_zero_gpu()
        whole = self._names is None and getattr(self.model, "hf_quantizer", None) is None
        return stays and whole and self.trunk.config._attn_implementation == "sdpa"

    @functools.cached_property
    def reads_trees(self) -> bool:
        """True where what several texts begin with can be read once: a model that is more arithmetic than overhead, in
        fp32 on a processor, which attends to all tokens by PyTorch's own function and knows places by rotations."""
        if self.is_small or not self.exact or self.device.type != "cpu" or not hasattr(self.trunk, "rotary_emb"):
            return False
        config = self.trunk.config
        kinds = getattr(config, "layer_types", None) or []
        has_window = not kinds and bool(getattr(config, "sliding_window", None))
        return {*kinds} <= {"full_attention"} and not has_window and config._attn_implementation == "sdpa"

    @contextlib.contextmanager
    def mode(self) -> Iterator[None]:
        """What every pass runs in: the type of the numbers, and the adapter on or off."""
        with contextlib.ExitStack() as stack:
            if self.autocast is not None:
                stack.enter_context(torch.autocast(self.device.type, self.autocast))
            if self.adapter_off:
                from playground.training.models import lora  # a second of imports

                stack.enter_context(lora.switched_off(self.model))
            if self.earlier:
                stack.enter_context(self._as_earlier())
            yield

    @contextlib.contextmanager
    def _as_earlier(self) -> Iterator[None]:
        """Passes with earlier weights. They change places and are not copied: a backward pass finds its own again."""
        weights = {name: weight for name, weight in self.model.named_parameters() if name in self.earlier}
        now = {name: weight.data for name, weight in weights.items()}
        for name, weight in weights.items():
            weight.data = self.earlier[name]
        try:
            yield
        finally:
            for name, weight in weights.items():
                weight.data = now[name]

    @contextlib.contextmanager
    def cast_once(self) -> Iterator[None]:
        """Within it all passes share the weights as they were first cast to the type to compute in: autocast keeps
        them until the outermost context ends. For passes without gradients, while the weights stay as they are."""
        weights = self.model.parameters() if self.autocast is not None else ()
        frozen = [weight for weight in weights if not weight.requires_grad and weight.dtype == torch.float32]
        for weight in frozen:
            weight.requires_grad_(True)  # of others autocast keeps no cast
        try:
            with torch.autocast(self.device.type, enabled=False):
                yield
        finally:
            for weight in frozen:
                weight.requires_grad_(False)

    def steer(self, vector: SteeringVector | None) -> None:
        """From now on every pass has the vector in it; None for none. Raises: InvalidConfig, if it does not fit."""
        if vector is not None:
            layer, width = layer_of(self.trunk, vector.layer), self.residual_size
            if vector.values.shape != (width,):
                sentence = f"The steering vector has {vector.values.numel()} numbers, and this model needs {width}."
                raise InvalidConfig([Problem("model.source", f"{sentence} They do not belong together.")])
            vector = SteeringVector(layer, vector.values.to(self.device), vector.strength)
        self.steering, self.captured_steps = vector, None

    @contextlib.contextmanager
    def steered(self, where: Tensor | None) -> Iterator[None]:
        """A pass with the vector at some positions, [B, T] booleans; None for all. Of strength 0 it is none."""
        vector = self.steering
        if vector is None or not vector.strength:
            yield
            return
        with behind(decoder_layers(self.trunk)[vector.layer - 1], lambda residual: vector.added(residual, where)):
            yield

    @torch.no_grad()
    def residual(self, ids: Tensor, layer: int) -> Tensor:
        """The residual stream [B, T, H] behind a layer (the first is 1) of right-padded token ids [B, T]."""
        residuals: list[Tensor] = []

        def kept(residual: Tensor) -> Tensor:
            residuals.append(residual)
            return residual

        with behind(decoder_layers(self.trunk)[layer - 1], kept):
            self.hidden(ids)
        return residuals[0]

    def hidden(self, ids: Tensor, writes: Tensor | None = None) -> Tensor:
        """Last hidden states [B, T, H] of right-padded token ids [B, T]; a causal model needs no mask for these.
        `writes` [B, T]: where the next token is the model's own, which is where it is steered; None for everywhere."""
        if writes is not None and self.reads_trees:
            tree = tree_of(ids, writes)
            if self._is_cheaper(tree):
                return self._hidden_of_tree(tree)
        with self.mode(), self.steered(writes), checkpointing(self._recomputed):
            return self.trunk(input_ids=ids, use_cache=False, return_dict=True).last_hidden_state

    def _hidden_of_tree(self, tree: TokenTree) -> Tensor:
        """The last hidden states [B, T, H] of the rows of a tree, where the model writes or something before that."""
        inputs = {"input_ids": tree.ids, "position_ids": tree.positions, "attention_mask": tree.attended}
        with self.mode(), self.steered(tree.marks), checkpointing(self._recomputed):
            states = self.trunk(**inputs, use_cache=False, return_dict=True).last_hidden_state
        return states[0].index_select(0, tree.places.flatten()).unflatten(0, tree.places.shape)

    def _is_cheaper(self, tree: TokenTree) -> bool:
        """Whether a pass over a tree takes fewer operations than one over its rows: it has fewer tokens, of which each
        attends to all."""
        (texts, longest), size, attention = tree.places.shape, tree.ids.shape[1], self._attention_share
        return size * (1 + attention * size) < texts * longest * (1 + attention * longest)

    @functools.cached_property
    def _attention_share(self) -> float:
        """Operations with which a token attends to another one, as a share of those of its products with weights."""
        layers = decoder_layers(self.trunk)
        weights = sum(weight.numel() for layer in layers for weight in layer.parameters())
        return 2 * self.residual_size * len(layers) / weights

    def next_hidden(self, ids: Tensor, mask: Tensor, position_ids: Tensor, cache: Any) -> tuple[Tensor, Any]:
        """One step of sampling: the last hidden state [B, H], and the KV cache with these tokens in it; None at first.
        `ids`, `position_ids` [B, t]: of the tokens that are not in it yet. `mask` [B, T]: the real of all so far."""
        writes = None  # the only position, or of a prompt the last
        if ids.shape[1] > 1:
            writes = torch.zeros_like(ids, dtype=torch.bool)
            writes[:, -1] = True
        with self.mode(), self.steered(writes):
            inputs = {"input_ids": ids, "attention_mask": mask.long(), "position_ids": position_ids}
            output = self.trunk(**inputs, past_key_values=cache, use_cache=True, return_dict=True)
        return output.last_hidden_state[:, -1], output.past_key_values

    def forward(self, ids: Tensor, predicts: Tensor) -> tuple[Tensor, Tensor]:
        """Features [N, H] and logits [N, V] of the N positions that predict a completion token; see `hidden`."""
        hidden = self.hidden(ids, predicts)[predicts]
        return hidden, self.logits(hidden)

    def logits(self, hidden: Tensor) -> Tensor:
        """[..., H] -> [..., V]."""
        with self.mode():
            return self._transform_logits(self.lm_head(hidden))

    def frozen_copy(self) -> LanguageModel:
        """The reference: the model as it is now, never to be trained. Where an adapter is trained it is this very model
        with the adapter off, which begins at zero."""
        if self.has_adapter:
            return LanguageModel(self.model, exact=self.exact, autocast=self.autocast, adapter_off=True)
        return LanguageModel(copy.deepcopy(self.model), exact=self.exact, autocast=self.autocast).frozen()

    def moving_copy(self) -> LanguageModel:
        """A reference that is this model as it is now, until `keep_weights_of` makes it another."""
        copied = LanguageModel(self.model, exact=self.exact, autocast=self.autocast)
        copied.steering = self.steering
        copied.keep_weights_of(self)
        return copied

    def keep_weights_of(self, other: LanguageModel) -> None:
        """Every pass from now on has the trained weights that the other model has now."""
        trained = {name: weight for name, weight in other.model.named_parameters() if weight.requires_grad}
        self.earlier = {name: weight.detach().clone() for name, weight in trained.items()}

    def fingerprint(self) -> str:
        """The beginning of a SHA-256 of the weights as they are, without those of an adapter that is off."""
        digest = hashlib.sha256()
        for name, weight in sorted(self.numbers().items()):
            if not (self.adapter_off and ".lora_" in name):
                kept = weight.detach().to("cpu", copy=True)  # FSDP cannot free what NumPy has seen
                digest.update(kept.contiguous().flatten().view(torch.uint8).numpy())
        return digest.hexdigest()[:FINGERPRINT_CHARACTERS]

    def save(self, folder: Path) -> None:
        """Write what was trained, as transformers or peft reads it, and beside it what it is steered by."""
        options: dict[str, Any] = {"save_embedding_layers": False} if self.has_adapter else {}
        if self._names is not None:
            options["state_dict"] = self.numbers()
        self.model.save_pretrained(folder, **options)
        if self.steering is not None:
            self.steering.save(folder)

    def frozen(self) -> LanguageModel:
        """This model, from now on without gradients."""
        return self.requires_grad_(False).eval()


class Critic(nn.Module):
    """What estimates the return of each token: a linear value head on the policy's features, without sending a gradient
    back (a value loss that reaches the policy's trunk wrecks it), or on those of a trunk of its own."""

    def __init__(self, policy: LanguageModel, *, separate: bool = False) -> None:
        super().__init__()
        self.trunk = copy.deepcopy(policy.trunk) if separate else None
        if self.trunk is not None and not policy.has_adapter:  # with one, it trains an adapter of its own
            self.trunk.requires_grad_(True)
        self._mode = policy.mode
        self._recomputed = recomputed_layers(self.trunk) if self.trunk is not None else []
        self.value_head = ValueHead(policy.hidden_size)
        self.to(policy.device)

    @property
    def separate(self) -> bool:
        """True where it has a trunk of its own."""
        return self.trunk is not None

    def forward(self, ids: Tensor, predicts: Tensor, policy_hidden: Tensor) -> Tensor:
        """Values [N] of the N positions that predict a completion token: ids and predicts [n, T] as in
        `sampling.Packed`, and the policy's features there [N, H]."""
        if self.trunk is None:
            return self.value_head(policy_hidden.detach())
        with self._mode(), checkpointing(self._recomputed):
            hidden = self.trunk(input_ids=ids, use_cache=False, return_dict=True).last_hidden_state
        return self.value_head(hidden[predicts])


class ValueHead(nn.Module):
    """A linear map from features to the expected return, 0 at the start."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(hidden_size, 1)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        """[..., H] -> [...], in float32."""
        return self.linear(hidden.float()).squeeze(-1)


def logit_transform(config: Any) -> Callable[[Tensor], Tensor]:
    """What an architecture does to its logits after the LM head: Gemma 2 caps them, Granite and Cohere scale them."""
    cap = getattr(config, "final_logit_softcapping", None)
    divisor, factor = getattr(config, "logits_scaling", None), getattr(config, "logit_scale", None)
    if cap:
        return lambda logits: torch.tanh(logits / cap) * cap
    if divisor or factor:
        return lambda logits: logits * ((factor or 1.0) / (divisor or 1.0))
    return lambda logits: logits


def recomputed_layers(trunk: nn.Module) -> list[nn.Module]:
    """The layers whose inside is computed again in a backward pass instead of being kept; none unless that is on."""
    return [module for module in trunk.modules() if getattr(module, "gradient_checkpointing", False)]


@contextlib.contextmanager
def checkpointing(layers: list[nn.Module]) -> Iterator[None]:
    """Around a pass: layers are recomputed where there are gradients. transformers asks each whether it is training;
    one that is gets no KV cache, so it is not while texts are written."""
    for layer in layers:
        layer.training = torch.is_grad_enabled()
    yield
    for layer in layers:
        layer.training = False


def positions(mask: Tensor) -> Tensor:
    """Position of each token among the real ones, [B, T]; padding in front gets 0."""
    return (mask.long().cumsum(1) - 1).clamp(min=0)


def switch_dropout_off(model: Any) -> None:
    """No dropout in RL: the probability of a token must be the same number each time it is asked for."""
    model.eval()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        for name in ("attention_dropout", "dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
