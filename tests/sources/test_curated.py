"""The suggested models: their measures are those of the real architectures, counted on no memory at all."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from playground.setup import estimates
from playground.setup.catalog import preset
from playground.setup.devices import Device
from playground.sources import architectures
from playground.sources.curated import BY_NAME, CURATED, HubModel


def config_of(model: HubModel) -> dict[str, Any]:
    """The config.json of a suggested model, as far as the measures go."""
    made = model.architecture
    names = {"vocab_size": made.vocabulary, "tie_word_embeddings": made.tied, "model_type": made.model_type}
    if made.model_type == "gpt2":
        return {**names, "n_embd": made.hidden_size, "n_layer": made.layers, "n_head": made.heads,
                "n_positions": made.context_length}  # fmt: skip
    common = {**names, "hidden_size": made.hidden_size, "num_hidden_layers": made.layers,
              "num_attention_heads": made.heads, "intermediate_size": made.intermediate_size,
              "max_position_embeddings": made.context_length}  # fmt: skip
    if made.model_type == "gpt_neox":
        return common
    return {**common, "num_key_value_heads": made.kv_heads, "head_dim": made.head_size}


@pytest.mark.parametrize("name", BY_NAME)
def test_the_number_of_weights_is_that_of_the_architecture(name: str) -> None:
    model = BY_NAME[name]
    config = config_of(model)
    with torch.device("meta"):
        made = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config))
    assert sum(weight.numel() for weight in made.parameters()) == model.architecture.parameters
    assert architectures.architecture(config, model.architecture.parameters) == model.architecture


def test_each_suggestion_is_there_once_with_words_and_licence() -> None:
    assert len(BY_NAME) == len(CURATED) == len({model.preset for model in CURATED})
    assert all(model.help.endswith(".") and model.licence and model.download_mb > 100 for model in CURATED)


@pytest.mark.parametrize("model", CURATED, ids=lambda model: model.preset)
def test_every_preset_shows_its_estimate_without_a_network(model: HubModel) -> None:
    gpu = Device("cuda:0", "NVIDIA A100", 80 * 10**9, 80 * 10**9)
    found = estimates.estimate(preset(model.preset), device=gpu)
    assert found.download is not None and found.download.source == model.name
    assert found.verdict == "fits" and found.total > 2 * model.architecture.parameters
