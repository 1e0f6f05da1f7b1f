"""Tiny models from configs and a stub tokenizer, for tests that need the machinery and not the language."""

from __future__ import annotations

from types import SimpleNamespace

import torch
from transformers import AutoModelForCausalLM, GPT2Config, GPTNeoXConfig, LlamaConfig, Qwen2Config

from playground.rewards.mixture import Mixture
from playground.training.data.prompts import Prompt
from playground.training.loop.scoring import Scorer
from playground.training.loop.trainer import PPOTrainer
from playground.training.models.language_model import LanguageModel, Tokens, switch_dropout_off
from tests.support import config_with

VOCABULARY = 20
COMMON = {"vocab_size": VOCABULARY, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
SHAPE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
SHAPE["max_position_embeddings"] = 64
FAMILIES = {
    "llama": lambda: LlamaConfig(**COMMON, **SHAPE, num_key_value_heads=2, tie_word_embeddings=True),
    "qwen2": lambda: Qwen2Config(**COMMON, **SHAPE, num_key_value_heads=2),
    "gpt2": lambda: GPT2Config(**COMMON, n_embd=32, n_layer=2, n_head=4, n_positions=64),
    "gpt_neox": lambda: GPTNeoXConfig(**COMMON, **SHAPE, hidden_dropout=0.1, attention_dropout=0.1),
}


class StubTokenizer:
    """Token 3 is "a", 4 is "b", ...; special tokens have no text."""

    def __call__(self, text: str) -> SimpleNamespace:
        return SimpleNamespace(input_ids=[1] + [3 + ord(letter) - ord("a") for letter in text])

    def decode(self, ids: list[int], **options: bool) -> str:
        return "".join(chr(ord("a") + i - 3) for i in ids if i > 2)

    def convert_ids_to_tokens(self, token: int) -> str:
        return f"<{token}>"

    def save_pretrained(self, folder: object) -> None:
        """Nothing to save."""


def tokens(pad_is_eos: bool = False) -> Tokens:
    return Tokens(StubTokenizer(), pad_id=2 if pad_is_eos else 0, eos_id=2)


def model(family: str = "llama", seed: int = 0, spread: float = 3.0) -> LanguageModel:
    """A random model whose distributions are far from uniform (weights scaled by `spread`), absolute positions too."""
    torch.manual_seed(seed)
    made = AutoModelForCausalLM.from_config(FAMILIES[family]())
    switch_dropout_off(made)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if parameter.ndim == 2 or "wpe" in name:
                parameter.mul_(spread)
    return LanguageModel(made)


def prompts(*texts: str) -> list[Prompt]:
    return [Prompt(text, tokens().encode(text)) for text in texts]


def config(**changes: object) -> object:
    """A small configuration; keyword `ppo__num_epochs=2` sets ppo.num_epochs."""
    ppo = {"num_updates": 4, "batch_size": 8, "minibatch_size": 4, "micro_batch_size": 2, "num_epochs": 2}
    data: dict = {"rewards": [{"kind": "keyword", "words": ["a"]}], "ppo": ppo | {"learning_rate": 1e-3}}
    return config_with(data | {"sampling": {"max_new_tokens": 8}, "kl": {"coef": 0.1}}, changes)


def count_letter(letter: str = "a") -> Mixture:
    """A reward of the tiny world: how often a letter occurs."""
    return Mixture({"letter": (1.0, lambda prompts, completions, **_: [float(c.count(letter)) for c in completions])})


def trainer(family: str = "llama", pad_is_eos: bool = False, mixture: Mixture | None = None, **changes) -> PPOTrainer:
    made = config(**changes)
    policy = model(family)
    scorer = Scorer(made, mixture or count_letter())
    return PPOTrainer(
        made, policy, policy.frozen_copy(), tokens(pad_is_eos), prompts("abc", "b", "ddddddd", "fg"), scorer
    )
