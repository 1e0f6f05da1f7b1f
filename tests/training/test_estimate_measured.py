"""The memory estimate against what torch itself keeps for the backward pass."""

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM

from playground.config import yaml_io
from playground.models import architectures
from playground.setup.estimates import memory
from playground.training.models.language_model import LanguageModel, switch_dropout_off
from tests.nights import cases
from tests.training import snapshots

COMMON = {"vocab_size": 20, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "max_position_embeddings": 64}
SHAPES = snapshots.SHAPES["estimates"]


def saved_bytes(model, rows, width):
    """What autograd keeps of one forward pass, weights left out."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    saved = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            saved[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model.hidden(torch.randint(3, 20, (rows, width)))
    return sum(storage.nbytes() for storage in saved.values())


CAUSAL_TYPES = [name for name, family in architectures.FAMILIES.items() if family.use == "policy"]
CASES = [(kind, lora) for kind in CAUSAL_TYPES for lora in (False, True)]
BY_DAY = [(kind, lora) for kind in ("gpt2", "gpt_neox", "llama", "gemma2") for lora in (False, True)]


@pytest.mark.parametrize(("kind", "lora"), cases(CASES, always=BY_DAY))
def test_the_memory_that_a_layer_keeps_for_the_backward_pass_is_estimated_within_a_quarter(kind, lora):
    config = yaml_io.from_dict({"rewards": [{"kind": "length"}]})
    measured, expected = [], []
    for layers in (2, 3):
        depth = {"gpt2": "n_layer", "gpt_neo": "num_layers"}.get(kind, "num_hidden_layers")
        more = {"attention_types": [[["global"], layers]]} if kind == "gpt_neo" else {}
        settings = {**COMMON, **SHAPES.get(kind, SHAPES["llama"]), depth: layers, **more}
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **settings))
        switch_dropout_off(model)
        if lora:
            adapter = LoraConfig(r=1, target_modules="all-linear", task_type="CAUSAL_LM", fan_in_fan_out=kind == "gpt2")
            model = get_peft_model(model, adapter).eval()
        measured.append(saved_bytes(LanguageModel(model), rows=2, width=31))
        shape = architectures.architecture(model.config.to_dict(), 0)
        expected.append(memory.graph(config, shape, tokens=2 * 31, each=4))
    assert expected[1] - expected[0] == pytest.approx(measured[1] - measured[0], rel=0.25)
