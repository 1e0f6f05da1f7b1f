"""LoRA's layers in fewer operations: the numbers of peft's own, in every mode; and what a model computes in."""

from dataclasses import replace

import pytest
import torch
from peft.tuners import lora as of_peft

from playground.config import ModelConfig
from playground.config.source_settings import SMALL_MODEL
from playground.models.architectures import FROM_PYPI
from playground.setup import devices
from playground.setup.estimates import memory
from playground.training.models import loading, lora
from playground.training.models.language_model import Critic
from playground.training.models.steering_vector import decoder_layers
from tests.nights import cases
from tests.training import snapshots
from tests.training.test_families import LORA

CPU = torch.device("cpu")
IDS = torch.arange(24).view(2, 12)


@pytest.fixture(scope="module", params=cases(["fp32", "bf16"], always=["fp32"]))
def adapted(request, tmp_path_factory):
    """A model whose adapter says something."""
    folder = snapshots.snapshot(tmp_path_factory.mktemp("lora") / "snapshot", "llama", own_pad=True)
    model, _ = loading.load(folder, CPU, ModelConfig(precision=request.param, adapter=LORA), trained=True)
    source = torch.Generator().manual_seed(0)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.1, generator=source)
    return model


def test_an_adapter_without_a_tokenizer_has_that_of_its_base(adapted, tmp_path):
    adapted.save(tmp_path / "adapter")
    model, tokens = loading.load(tmp_path / "adapter", CPU)
    assert torch.allclose(model.hidden(IDS), adapted.hidden(IDS).float(), atol=1e-1 if adapted.autocast else 1e-4)
    assert tokens.encode("a b")


def learned(model):
    """A pass and its gradients."""
    model.zero_grad()
    hidden = model.hidden(IDS)
    hidden.float().pow(2).sum().backward()
    return [hidden.detach(), *[weight.grad.clone() for weight in model.parameters() if weight.grad is not None]]


def test_a_pass_and_its_gradients_are_those_of_peft(adapted):
    layers = [module for module in adapted.modules() if isinstance(module, lora.LeanLinear)]
    ours = learned(adapted)
    for layer in layers:
        layer.__class__ = of_peft.Linear
    learned_by_peft = learned(adapted)
    for layer in layers:
        layer.__class__ = lora.LeanLinear
    assert len(layers) == 14
    assert len(ours) > 14
    assert all(torch.equal(weight, other) for weight, other in zip(ours, learned_by_peft, strict=True))


@pytest.mark.parametrize("adapter", ["none", "lora"])
@pytest.mark.parametrize("family", ["llama", "gpt2", "opt", "gpt_neox", "gemma2"])
def test_layers_that_are_computed_again_give_the_same_pass_gradients_and_texts(family, adapter, tmp_path):
    folder = snapshots.snapshot(tmp_path / "snapshot", family, own_pad=True)
    weights, calls = [], []
    for again in (False, True):
        torch.manual_seed(0)
        how = ModelConfig(gradient_checkpointing=again, adapter=LORA | {"kind": adapter})
        model, _ = loading.load(folder, CPU, how, trained=True)
        critic = Critic(model, separate=True)
        torch.nn.init.ones_(critic.value_head.linear.weight)
        for trunk in (model.trunk, critic.trunk):
            parts = decoder_layers(trunk)[0].named_modules()
            norm = next(module for name, module in parts if "norm" in name or "ln" in name)
            norm.register_forward_hook(lambda *_, again=again: calls.append(again))
        gradients = learned(model)
        critic(IDS, torch.ones_like(IDS).bool(), gradients[0]).pow(2).sum().backward()
        gradients += [weight.grad for weight in critic.parameters() if weight.requires_grad]
        with torch.no_grad():
            _, cache = model.next_hidden(IDS[:, :11], torch.ones(2, 11), torch.arange(11).expand(2, -1), None)
            text, _ = model.next_hidden(IDS[:, 11:], torch.ones(2, 12), torch.full((2, 1), 11), cache)
        weights.append([*gradients, text])
    assert (calls.count(False), calls.count(True)) == (4, 6), "a pass of each trunk, and two of sampling; then twice"
    assert len(weights[0]) > 20
    assert all(torch.equal(weight, other) for weight, other in zip(*weights, strict=True))


@torch.no_grad()
def test_switched_off_and_merged_are_those_of_peft(adapted):
    with adapted.model.disable_adapter():
        base = adapted.hidden(IDS)
    reference = adapted.frozen_copy()
    assert torch.equal(reference.hidden(IDS), base)
    on = adapted.hidden(IDS)
    assert not torch.equal(on, base)
    adapted.model.merge_adapter()
    merged = adapted.hidden(IDS)
    adapted.model.unmerge_adapter()
    torch.testing.assert_close(merged, on, rtol=0, atol=1e-4 if adapted.exact else 0.1)


def test_switching_off_is_undone_where_a_pass_fails(adapted):
    with pytest.raises(KeyError), lora.switched_off(adapted.model):
        raise KeyError
    assert all(not module._disable_adapters for module in adapted.modules() if isinstance(module, lora.LeanLinear))


@pytest.mark.parametrize("has", [True, False])
def test_the_type_that_a_model_computes_in_depends_on_its_size_and_the_processor(monkeypatch, has):
    monkeypatch.setattr(devices, "processor_has_bf16", lambda: has)
    large = torch.bfloat16 if has else torch.float32
    assert loading.compute_type("auto", CPU, SMALL_MODEL) == large
    assert loading.compute_type("auto", CPU, SMALL_MODEL - 1) == torch.float32
    assert loading.compute_type("fp32", CPU, SMALL_MODEL) == torch.float32
    assert loading.compute_type("bf16", CPU, 1) == torch.bfloat16
    for model in (FROM_PYPI.architecture, replace(FROM_PYPI.architecture, parameters=SMALL_MODEL - 1)):
        computing = loading.compute_type("auto", CPU, model.parameters)
        assert memory.number_bytes("auto", "cpu", model) == computing.itemsize
