"""Tiny models from configs and a stub tokenizer, for tests that need the machinery and not the language."""

from types import SimpleNamespace

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from playground.rewards.mixture import Mixture
from playground.training.data.prompts import Prompt
from playground.training.loop.scoring import Scorer
from playground.training.loop.trainer import PPOTrainer
from playground.training.models.language_model import LanguageModel, Tokens, switch_dropout_off
from tests.support import config_with
from tests.training import snapshots

VOCABULARY = 20
COMMON = {"vocab_size": VOCABULARY, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
FAMILIES = snapshots.SHAPES["tiny"]


class StubTokenizer:
    """Token 3 is "a", 4 is "b", ...; special tokens have no text."""

    def __call__(self, text):
        return SimpleNamespace(input_ids=[1] + [3 + ord(letter) - ord("a") for letter in text])

    def decode(self, ids, **options):
        return "".join(chr(ord("a") + i - 3) for i in ids if i > 2)

    def convert_ids_to_tokens(self, token):
        return f"<{token}>"

    def save_pretrained(self, folder):
        """Nothing to save."""


def tokens(pad_is_eos=False):
    return Tokens(StubTokenizer(), pad_id=2 if pad_is_eos else 0, eos_id=2)


def model(family="llama", seed=0, spread=3.0):
    torch.manual_seed(seed)
    made = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **COMMON, **FAMILIES[family]))
    switch_dropout_off(made)
    return LanguageModel(snapshots.spread_out(made, spread))


def prompts(*texts):
    return [Prompt(text, tokens().encode(text)) for text in texts]


def ppo(**settings):
    return {f"ppo__{name}": value for name, value in settings.items()}


def config(**changes):
    """A small configuration; keyword `ppo__num_epochs=2` sets ppo.num_epochs."""
    sizes = {"num_updates": 4, "batch_size": 8, "minibatch_size": 4, "micro_batch_size": 2, "num_epochs": 2}
    data = {"rewards": [{"kind": "keyword", "words": ["a"]}], "ppo": sizes | {"learning_rate": 1e-3}}
    return config_with(data | {"sampling": {"max_new_tokens": 8}, "kl": {"coef": 0.1}}, changes)


def count_letter():
    """A reward of the tiny world: how often the letter "a" occurs."""
    return Mixture({"letter": (1.0, lambda prompts, completions, **_: [float(c.count("a")) for c in completions])})


def trainer(family="llama", pad_is_eos=False, texts=("abc", "b", "ddddddd", "fg"), kind=PPOTrainer, **changes):
    """A trainer of a kind, by default PPO's, whose reward counts the letter "a"."""
    settings, policy = config(**changes), model(family)
    parts = policy, policy.frozen_copy(), tokens(pad_is_eos), prompts(*texts), Scorer(settings, count_letter())
    return kind(settings, *parts)


def figures(metrics):
    """What neither a clock nor the machine decides."""
    return {name: value for name, value in metrics if not name.startswith(("seconds", "memory"))}


def weights(model):
    return [parameter.detach().clone() for parameter in model.parameters()]


@torch.no_grad()
def plain_log_probs(model, prompt, completion, temperature=1.0):
    """Whole distributions of the tokens of a completion by a plain forward without padding, [C, V]."""
    logits = model(input_ids=torch.cat([torch.tensor(prompt), completion]).unsqueeze(0)).logits[0]
    return (logits[len(prompt) - 1 : -1].float() / temperature).log_softmax(-1)
