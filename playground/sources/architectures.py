"""The measures of a model that decide about memory, under whatever names its family's configuration uses.

Knows names and numbers; no torch, and no transformers, whose configurations would bring it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playground.errors import ModelNotFound

# model_type -> what is so where config.json does not say: are input and output embeddings one matrix?
_TIED = ("gpt2", "opt", "gpt_neo", "gemma", "gemma2", "gemma3_text", "smollm3")
_UNTIED = ("gpt_neox", "llama", "mistral", "qwen2", "qwen3", "phi")
CAUSAL_TYPES = dict.fromkeys(_TIED, True) | dict.fromkeys(_UNTIED, False)
ENCODER_TYPES = ("bert", "roberta", "xlm-roberta", "distilbert", "deberta-v2", "modernbert", "electra", "albert")
GATED_MLP = {"llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "smollm3", "modernbert"}
NUMBERS = {  # our name -> the names that architectures give it, in the order in which they are tried
    "hidden_size": ("hidden_size", "n_embd", "dim", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers"),
    "heads": ("num_attention_heads", "n_head", "num_heads", "n_heads"),
    "vocabulary": ("vocab_size",),
}
CONTEXT_NAMES = ("max_position_embeddings", "n_positions", "n_ctx")
INTERMEDIATE_NAMES = ("intermediate_size", "ffn_dim", "n_inner", "hidden_dim")


@dataclass(frozen=True)
class Architecture:
    """The measures of a model that decide about memory and time.

    `parameters` counts a shared embedding once. `gated` means a feed-forward with three matrices instead of two.
    """

    model_type: str
    hidden_size: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    intermediate_size: int
    vocabulary: int
    context_length: int
    tied: bool
    parameters: int

    @property
    def gated(self) -> bool:
        """Three matrices in the feed-forward part (gate, up, down) instead of two."""
        return self.model_type in GATED_MLP

    @property
    def linear_parameters(self) -> int:
        """Weights of all matrices inside the layers: what quantization shrinks and what a token is multiplied with."""
        attention = 2 * self.head_size * (self.heads + self.kv_heads)
        return self.layers * self.hidden_size * (attention + (3 if self.gated else 2) * self.intermediate_size)

    @property
    def embedding_parameters(self) -> int:
        """Weights of one embedding matrix, which is also the size of the LM head."""
        return self.vocabulary * self.hidden_size


SEVEN_BILLION = Architecture("llama", 4096, 32, 32, 32, 128, 11_008, 32_000, 4096, False, 6_738_415_616)  # Llama 2


def architecture(config: Mapping[str, Any], parameters: int, where: str = "config.json") -> Architecture:
    """The measures that a configuration names, under whatever names its family uses.

    Args:
        parameters: how many weights there are; a configuration alone does not say. where: for error messages.

    Raises:
        ModelNotFound: if a measure is missing or makes no sense.
    """
    kind = str(config.get("model_type"))
    numbers = {name: _number(config, names, where) for name, names in NUMBERS.items()}
    hidden, heads = numbers["hidden_size"], numbers["heads"]
    grouped = kind not in ("gpt2", "opt", "gpt_neo", "gpt_neox", *ENCODER_TYPES)
    return Architecture(
        model_type=kind,
        kv_heads=_number(config, ("num_key_value_heads",), where, heads) if grouped else heads,
        head_size=_number(config, ("head_dim",), where, max(1, hidden // heads)),
        intermediate_size=_number(config, INTERMEDIATE_NAMES, where, 4 * hidden),
        context_length=_number(config, CONTEXT_NAMES, where, 1024),
        tied=bool(config.get("tie_word_embeddings", CAUSAL_TYPES.get(kind, True))),
        parameters=parameters,
        **numbers,
    )


def _number(config: Mapping[str, Any], names: tuple[str, ...], where: str, default: int | None = None) -> int:
    for name in names:
        value = config.get(name)
        if value is None:
            continue
        if type(value) is not int or not 0 < value < 10**9:
            raise ModelNotFound(f"{where} has {name}: {str(value)[:40]}, which makes no sense: get the file again.")
        return value
    if default is None:
        raise ModelNotFound(f"{where} does not say {names[0]}: get the file again.")
    return default
