"""A cache of fixed length, recorded or not, changes nothing: neither tokens nor their probabilities, in any family."""

from __future__ import annotations

import dataclasses
import gc
import weakref

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from playground.config import ModelConfig, SamplingConfig
from playground.models import architectures
from playground.train.data.random_streams import uniforms
from playground.train.loop import sampling
from playground.train.loop.sampling import Keep, left_pad, sample
from playground.train.models import loading
from playground.train.models.kv_cache import FixedCache, GrowingCache, Recorded, cache_for, has_fixed_shapes
from playground.train.models.language_model import LanguageModel, Tokens
from tests.thoroughness import cases
from tests.train import recording, snapshots, tiny
from tests.train.test_estimate_measured import shape_of

CPU = torch.device("cpu")
LONGEST = 10
TEXTS = ["The film was", "A book", "The phone is terrible because the", "She", "hello"] * 4
PLAIN = [family for family in snapshots.FAMILIES if family != "gemma2"]
FORMS = [(family, adapter) for family in PLAIN for adapter in ("none", "lora")]
SOME = [("gpt2", "none"), ("opt", "none"), ("gpt_neox", "lora"), ("llama", "lora"), ("qwen2", "none")]


def loaded(folder, family: str, adapter: str = "none", precision: str = "fp32") -> tuple[LanguageModel, Tokens]:
    """A policy, its adapter not at zero, and a tokenizer many of whose tokens end a completion."""
    snapshots.snapshot(folder, family, own_pad=True)
    config = ModelConfig.model_validate({"precision": precision, "adapter": {"kind": adapter, "r": 4}})
    model, tokens = loading.load(folder, CPU, config, trained=True)
    generator = torch.Generator().manual_seed(3)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.2, generator=generator)
    return model, dataclasses.replace(tokens, stop_ids=tuple(range(10, 60)))


def drawn(model, tokens, monkeypatch, cache):
    monkeypatch.setattr(sampling, "cache_for", cache)
    prompts, draws = [tokens.encode(text) for text in TEXTS], uniforms(list(range(len(TEXTS))), LONGEST)
    return prompts, sample(model, tokens, prompts, draws, SamplingConfig(), keep=Keep(hidden=True))


@pytest.mark.parametrize(("family", "adapter"), cases(FORMS, always=SOME))
@pytest.mark.parametrize("recorded", [False, True])
def test_a_cache_of_fixed_length_draws_the_same_tokens(family, adapter, recorded, tmp_path, monkeypatch):
    """Left-padded prompts of unequal length; episodes end one by one; log-probs as with transformers' own cache."""
    graphs = recording.put_in(monkeypatch)
    model, tokens = loaded(tmp_path / "model", family, adapter)
    assert has_fixed_shapes(model) and model.has_adapter is (adapter == "lora")
    prompts, expected = drawn(model, tokens, monkeypatch, lambda model, mask, longest: GrowingCache(model, mask))
    caches: list[FixedCache] = []

    def fixed(model, mask, longest):
        caches.append(FixedCache(model, mask, longest, recorded=recorded))
        return caches[-1]

    _, found = drawn(model, tokens, monkeypatch, fixed)
    assert len(set(expected.lengths.tolist())) > 2 and len({len(prompt) for prompt in prompts}) > 2
    assert torch.equal(found.completion_ids, expected.completion_ids) and torch.equal(found.mask, expected.mask)
    assert torch.allclose(found.log_probs, expected.log_probs, atol=1e-5)
    assert torch.allclose(found.hidden[found.mask], expected.hidden[expected.mask], atol=1e-4)
    if recorded:
        (graph,) = graphs
        assert graph.replays == int(found.lengths.max()) - 2, "the prompt and the first token are launched"


@pytest.mark.parametrize("kind", architectures.CAUSAL_TYPES)
def test_every_family_has_fixed_shapes_or_is_known_to_look_at_a_window(kind):
    model = LanguageModel(AutoModelForCausalLM.from_config(AutoConfig.for_model(**shape_of(kind, layers=2))).eval())
    assert has_fixed_shapes(model) is (kind not in ("gpt_neo", "mistral", "gemma2", "gemma3_text"))
    ids, mask = left_pad([[1, 3, 4], [5, 6, 7, 8, 9, 3, 4], [1]], 0, CPU)
    fixed, growing = FixedCache(model, mask, 6, recorded=False), GrowingCache(model, mask)
    with torch.no_grad():
        for step in range(7 if has_fixed_shapes(model) else 0):
            step_ids = ids if step == 0 else torch.full((3, 1), 3 + step)
            assert torch.allclose(fixed.next_hidden(step_ids), growing.next_hidden(step_ids), atol=1e-5)


@pytest.mark.parametrize("adapter", ["none", "lora"])
def test_under_autocast_keys_and_values_are_kept_in_the_type_that_attention_computes_in(adapter, tmp_path):
    model, tokens = loaded(tmp_path / "model", "qwen2", adapter, "bf16")
    ids, mask = left_pad([tokens.encode(text) for text in TEXTS], tokens.pad_id, CPU)
    fixed, growing = FixedCache(model, mask, 4, recorded=False), GrowingCache(model, mask)
    with torch.no_grad():
        for step in range(5):
            step_ids = ids if step == 0 else torch.full((len(ids), 1), 20 + step)
            found, expected = fixed.next_hidden(step_ids), growing.next_hidden(step_ids)
            assert torch.allclose(found.float(), expected.float(), atol=0.05 * float(expected.abs().max()))
    assert {layer.keys.dtype for layer in fixed._cache.layers} == {torch.bfloat16}
    assert {layer.values.dtype for layer in fixed._cache.layers} == {torch.bfloat16}


def test_a_gpu_gets_the_cache_of_fixed_length_and_a_cpu_the_one_that_shrinks(monkeypatch, tmp_path):
    model = tiny.model()
    mask = torch.ones(2, 3, dtype=torch.bool)
    assert isinstance(cache_for(model, mask, 4), GrowingCache)
    sliding, _ = loading.load(snapshots.snapshot(tmp_path / "sliding", "gemma2", own_pad=True), CPU)
    monkeypatch.setattr(LanguageModel, "device", torch.device("cuda"))
    assert isinstance(cache_for(model, mask, 4), FixedCache)
    assert isinstance(cache_for(sliding, mask, 4), GrowingCache), "its window slides"
    model.trunk.config.quantization_config = {"load_in_8bit": True}
    assert isinstance(cache_for(model, mask, 4), GrowingCache)


def test_what_is_played_back_is_not_overwritten_by_the_next_call(monkeypatch):
    recording.put_in(monkeypatch)
    number, calls = torch.tensor([1.0]), []

    def twice():
        calls.append(1)
        return number * 2

    step = Recorded(CPU)
    found = []
    for value in (1.0, 2.0, 3.0, 4.0):
        number.fill_(value)
        found.append(step(twice))
    assert [float(item) for item in found] == [2.0, 4.0, 6.0, 8.0]
    assert len(calls) == 2, "once to warm up, once to record"


def test_what_cannot_be_recorded_is_called_as_it_is_and_says_why(monkeypatch, capsys):
    recording.put_in(monkeypatch)
    number = torch.tensor([1.0])
    step = Recorded(CPU)
    found = []
    for value in (1.0, 2.0, 3.0, 4.0):
        number.fill_(value)
        found.append(float(step(lambda: number * float(number))))
    assert found == [1.0, 4.0, 9.0, 16.0]
    assert "_local_scalar_dense" in step.refused
    assert capsys.readouterr().out.count(step.refused) == 1


def test_nothing_of_a_cache_outlives_it(monkeypatch):
    """Python looks for circles when it likes, not when the memory of a GPU runs out."""
    graphs = recording.put_in(monkeypatch)
    _, mask = left_pad([[1, 3], [1, 3, 4, 5]], 0, CPU)
    cache = FixedCache(tiny.model(), mask, 6, recorded=True)
    with torch.no_grad():
        for step in range(4):
            cache.next_hidden(torch.full((2, 4 if step == 0 else 1), 3))
    graphs.clear()  # of which CUDA keeps no list
    gone = [weakref.ref(cache), weakref.ref(cache._cache.layers[0].keys)]
    gc.disable()
    try:
        del cache
        assert [item() for item in gone] == [None, None]
    finally:
        gc.enable()
