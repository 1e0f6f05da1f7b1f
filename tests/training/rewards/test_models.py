"""Learned rewards: what is loaded, what is refused and why, and scores that depend on the example alone."""

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification

from playground.config import KeywordReward, ModelReward
from playground.errors import ModelNotFound, RewardModelUnusable
from playground.training.rewards import learned_rewards as reward_models
from playground.training.rewards import score_models as reward_loading
from tests.training.rewards import reward_tokenizers as tokenizers
from tests.training.snapshots import kept

CPU = torch.device("cpu")
SHAPE = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 128}
WIDE = {**SHAPE, "intermediate_size": 128}
GROUPED = {**WIDE, "num_key_value_heads": 2}
FAMILIES: dict[str, tuple[Any, dict[str, Any]]] = {
    "gpt2": (tokenizers.gpt2, {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 128}),
    "llama": (tokenizers.llama, GROUPED),
    "qwen2": (tokenizers.qwen, {**GROUPED, "pad_token_id": 0, "eos_token_id": 0}),  # padding is the end
    "gpt_neox": (tokenizers.gpt2, WIDE),
    "opt": (tokenizers.gpt2, {**SHAPE, "ffn_dim": 128, "word_embed_proj_dim": 64}),
    "bert": (tokenizers.bert, WIDE),
    "roberta": (tokenizers.roberta, WIDE),
}
PROMPTS = ["What is good?", "The traveller asked about seven old maps. " * 3, "", "Review of the film:", "maps"]
COMPLETIONS = [" A kind word.", " x", " Those drawings were moved upstairs during winter.", "", " winter winter"]


def saved(folder, family="gpt2", kind=AutoModelForSequenceClassification, **more):
    """A random model of a family with its tokenizer, as a hub snapshot has them; scores far enough apart to tell."""
    make_tokenizer, shape = FAMILIES[family]
    tokenizer = make_tokenizer()
    torch.manual_seed(0)
    shape = {**shape, "vocab_size": len(tokenizer) + 3, "num_labels": 1, **more}
    return kept(folder, kind.from_config(AutoConfig.for_model(family, **shape)), tokenizer)


def loaded(folder, **changes):
    return reward_models.load(ModelReward(source=str(folder), **changes), CPU)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_score_is_that_of_the_plain_model_whatever_else_is_in_the_batch(family, tmp_path):
    model = loaded(saved(tmp_path, family))
    together = model(PROMPTS, COMPLETIONS)
    plain = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    assert len({round(score, 4) for score in together}) > 3, "scores of a random model differ"
    for prompt, completion, score in zip(PROMPTS, COMPLETIONS, together, strict=True):
        encoded = model.format.encoded(prompt, completion)
        inputs = {"input_ids": torch.tensor([encoded.ids])}
        if family == "bert":
            inputs["token_type_ids"] = torch.tensor([encoded.types])
        assert score == pytest.approx(plain(**inputs).logits.item(), abs=1e-5)


def test_labels_are_chosen_by_name_or_number_and_read_as_asked(tmp_path):
    names = {0: "negative", 1: "neutral", 2: "positive"}
    saved(tmp_path, "bert", num_labels=3, id2label=names, label2id={name: number for number, name in names.items()})
    logit = loaded(tmp_path, label="positive")(PROMPTS, COMPLETIONS)
    assert loaded(tmp_path, label="2")(PROMPTS, COMPLETIONS) == logit
    rows = [loaded(tmp_path, label=name)(PROMPTS, COMPLETIONS) for name in names.values()]
    odds = loaded(tmp_path, label="positive", output="log-odds")(PROMPTS, COMPLETIONS)
    chance = loaded(tmp_path, label="positive", output="probability")(PROMPTS, COMPLETIONS)
    for number in range(len(PROMPTS)):
        weights = [math.exp(row[number]) for row in rows]
        share = weights[2] / sum(weights)
        assert chance[number] == pytest.approx(share, rel=1e-4)
        assert odds[number] == pytest.approx(math.log(share / (1 - share)), rel=1e-3)
    with pytest.raises(RewardModelUnusable, match="0: negative"):
        loaded(tmp_path, label="great")


def test_a_model_that_writes_text_is_refused_before_its_weights_are_read(tmp_path, monkeypatch):
    saved(tmp_path, "gpt2", AutoModelForCausalLM)
    monkeypatch.setattr(AutoModelForSequenceClassification, "from_pretrained", None)
    with pytest.raises(RewardModelUnusable, match=r"writes text \(GPT2LMHeadModel\), so"):
        loaded(tmp_path)


def larger_tokenizer(folder):
    tokenizer = tokenizers.gpt2()
    tokenizer.add_tokens([f"<extra {number}>" for number in range(20)])
    tokenizer.save_pretrained(folder)


def torn(folder):
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])


def unknown(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "marvel"}))


@pytest.mark.parametrize(
    ("damage", "settings", "reason"),
    [
        (larger_tokenizer, {}, r"has \d+ tokens, more than the \d+ of the model"),
        (torn, {}, "are damaged"),
        (unknown, {}, "not supported"),
        (lambda folder: None, {"max_length": 500}, "room for 128 tokens, not for 500"),
    ],
)
def test_unfit_folders_are_refused_with_the_reason(tmp_path, damage, settings, reason):
    damage(saved(tmp_path))
    with pytest.raises((ModelNotFound, RewardModelUnusable), match=reason):
        loaded(tmp_path, **settings)


@pytest.mark.parametrize(("bits", "smaller"), [("int8", 0.55), ("nf4", 0.45)])
def test_fewer_bits_hold_less_and_order_nearly_the_same(bits, smaller, tmp_path):
    saved(tmp_path, "llama")
    full, few = loaded(tmp_path), loaded(tmp_path, quantization=bits)
    assert few.network.model.score.weight.dtype == torch.float32, "the head stays whole"
    assert few.network.model.get_memory_footprint() < smaller * full.network.model.get_memory_footprint()
    completions = [f" {text}{number}" for number in range(6) for text in COMPLETIONS]
    scores = full(PROMPTS * 6, completions), few(PROMPTS * 6, completions)
    assert scores[0] != scores[1]
    assert np.corrcoef(*scores)[0, 1] > 0.8


def test_the_builder_loads_one_network_once_and_leaves_rules_alone(tmp_path, monkeypatch):
    saved(tmp_path, "bert", num_labels=2)
    counted, load = [], reward_loading.load
    monkeypatch.setattr(reward_loading, "load", lambda *args: counted.append(args) or load(*args))
    build = reward_models.builder(CPU)
    first, second = (build(ModelReward(source=str(tmp_path), label=label, weight=2)) for label in ("0", "1"))
    assert len(counted) == 1
    assert first(["a"], ["b"]) != second(["a"], ["b"])
    assert build(KeywordReward(words=("old",)))(prompts=[""], completions=["old maps"]) == [1.0]
