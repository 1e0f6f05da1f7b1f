"""Loading a causal language model and taking it apart into trunk and LM head, with a value head on top.

Knows torch and transformers; nothing of PPO, rewards or runs.
"""

from __future__ import annotations

import copy
import functools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from playground.errors import ModelNotFound

CALL_OVERHEAD_OPERATIONS = 1.2e9


@dataclass(frozen=True)
class Tokens:
    """The tokenizer and the special ids that sampling needs."""

    tokenizer: Any
    pad_id: int
    eos_id: int

    def encode(self, text: str) -> list[int]:
        """Token ids of a prompt, with whatever the tokenizer puts in front (bos) and nothing behind."""
        return list(self.tokenizer(text).input_ids)

    def decode(self, ids: list[int]) -> str:
        """The text of token ids, without special tokens."""
        return str(self.tokenizer.decode(ids, skip_special_tokens=True))


class LanguageModel(nn.Module):
    """A causal language model as trunk and LM head, so that logits are computed only where they are needed."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.trunk = model.base_model
        self.lm_head = model.get_output_embeddings()

    @property
    def hidden_size(self) -> int:
        """H."""
        return int(self.model.config.hidden_size)

    @property
    def context_length(self) -> int:
        """Most tokens of prompt and completion together."""
        return int(getattr(self.model.config, "max_position_embeddings", 1024))

    @functools.cached_property
    def call_overhead_tokens(self) -> float:
        """How many tokens of work cost as much time as the fixed cost of one more call; infinite on a GPU.

        On a CPU core (measured: about 0.01 s a forward and backward pass against 10^11 operations a second) padding a
        small model's batch is cheap and cutting it up is not; with a large model it is the other way round.
        """
        if self.device.type != "cpu":
            return math.inf
        return CALL_OVERHEAD_OPERATIONS / (6 * sum(parameter.numel() for parameter in self.parameters()))

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.model.parameters()).device

    def hidden(self, ids: Tensor) -> Tensor:
        """Last hidden states [B, T, H] of right-padded token ids [B, T].

        A causal model never looks ahead, so padding behind needs no mask, and positions are simply 0, 1, 2, ...
        """
        return self.trunk(input_ids=ids, use_cache=False, return_dict=True).last_hidden_state

    def frozen_copy(self) -> LanguageModel:
        """The same weights, never to be trained: the reference."""
        return LanguageModel(copy.deepcopy(self.model)).frozen()

    def frozen(self) -> LanguageModel:
        """This model, from now on without gradients."""
        return self.requires_grad_(False).eval()


class Critic(nn.Module):
    """What estimates the return of each token: a linear value head, 0 at the start, on somebody's features.

    Shared: on the policy's features, without sending a gradient back; with a stiff KL penalty the returns are mostly
    noise, and a value loss that reaches the policy's trunk wrecks it. Separate: on the features of a trunk of its own,
    a copy of the policy's, which learns with it.
    """

    def __init__(self, policy: LanguageModel, *, separate: bool = False) -> None:
        super().__init__()
        self.trunk = copy.deepcopy(policy.trunk).requires_grad_(True) if separate else None
        self.value_head = ValueHead(policy.hidden_size)
        self.to(policy.device)

    @property
    def separate(self) -> bool:
        """True where it has a trunk of its own."""
        return self.trunk is not None

    def forward(self, ids: Tensor, predicts: Tensor, policy_hidden: Tensor) -> Tensor:
        """Values [N] of the N positions that predict a completion token.

        Args:
            ids [n, T], predicts [n, T]: see `sampling.Packed`. policy_hidden [N, H]: the policy's features there.
        """
        if self.trunk is None:
            return self.value_head(policy_hidden.detach())
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


def positions(mask: Tensor) -> Tensor:
    """Position of each token among the real ones, [B, T]; padding in front gets 0."""
    return (mask.long().cumsum(1) - 1).clamp(min=0)


def load(folder: Path, device: torch.device) -> tuple[LanguageModel, Tokens]:
    """A model folder (config.json, tokenizer.json, *.safetensors) -> model in float32 with dropout off, and tokenizer.

    Raises:
        ModelNotFound: if the folder cannot be loaded, with the reason.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        model: Any = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, local_files_only=True, trust_remote_code=False, use_safetensors=True
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ModelNotFound(f"Cannot load the model in {folder}: {str(error).strip().splitlines()[0]}") from error
    if tokenizer.eos_token_id is None:
        raise ModelNotFound(f"The tokenizer in {folder} has no end-of-sequence token, so no completion could ever end.")
    rows = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > rows:
        raise ModelNotFound(
            f"The tokenizer in {folder} has {len(tokenizer)} tokens, more than the {rows} of the model. "
            "They do not belong together."
        )
    switch_dropout_off(model)
    pad = tokenizer.pad_token_id
    tokens = Tokens(tokenizer, tokenizer.eos_token_id if pad is None else pad, tokenizer.eos_token_id)
    language_model = LanguageModel(model.to(device))
    _check_head(language_model, folder)
    return language_model, tokens


def sizes(model: LanguageModel) -> dict[str, int]:
    """How many weights there are: `parameters` in all, `trained_parameters`, and `matrix_parameters`, those that every
    token is multiplied with (looking a token up in an embedding is no arithmetic; a tied LM head is)."""
    every = {id(parameter): _numel(parameter) for parameter in model.parameters()}
    trained = {id(parameter): parameter.numel() for parameter in model.parameters() if parameter.requires_grad}
    matrices = {
        id(parameter): _numel(parameter)
        for module in model.modules()
        if not isinstance(module, nn.Embedding)
        for parameter in module.parameters(recurse=False)
    }
    return {
        "parameters": sum(every.values()),
        "trained_parameters": sum(trained.values()),
        "matrix_parameters": sum(matrices.values()),
    }


def _numel(parameter: nn.Parameter) -> int:
    """Numbers in a weight, also where bitsandbytes packs two into a byte (nf4)."""
    state = getattr(parameter, "quant_state", None)
    return math.prod(state.shape) if state is not None and hasattr(state, "shape") else parameter.numel()


def switch_dropout_off(model: Any) -> None:
    """No dropout in RL: the probability of a token must be the same number each time it is asked for."""
    model.eval()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        for name in ("attention_dropout", "dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)


@torch.no_grad()
def _check_head(model: LanguageModel, folder: Path) -> None:
    """Some architectures scale or cap logits after the head; taking those apart would train on wrong probabilities."""
    ids = torch.arange(4, device=model.device).unsqueeze(0)
    whole = model.model(input_ids=ids).logits
    if not torch.allclose(whole, model.lm_head(model.hidden(ids)), atol=1e-3, rtol=1e-3):
        kind = model.model.config.model_type
        raise ModelNotFound(
            f"The model in {folder} (`{kind}`) changes its logits after the LM head; it is not supported."
        )
