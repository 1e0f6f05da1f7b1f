"""The real model as a source: found by its bare name, told how to get where it is not here, known before it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from playground.config import RunConfig
from playground.errors import InvalidConfig, ModelToGet
from playground.exports import card
from playground.models import real_model
from playground.models.architectures import BY_NAME, FROM_PYPI
from playground.setup import catalog, checks, describe, estimates
from playground.setup.estimates import fitting
from playground.setup.limits import LIMITS, SUGGESTED, check
from playground.training.models import loading
from playground.ui.train import form_parts
from tests.model_folders import model_folder, safetensors, write_json

NAME = "smollm2-135m-instruct"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunConfig:
    monkeypatch.setenv("PLAYGROUND_MODELS", str(tmp_path / "models"))
    return RunConfig.model_validate({"model": {"source": NAME}, "rewards": [{"kind": "length"}]})


def test_where_it_is_not_here_every_way_says_how_to_get_it(config: RunConfig, tmp_path: Path) -> None:
    how = "get it once, with `make real-model`"
    with pytest.raises(ModelToGet, match=how):
        catalog.model_folder(NAME)
    for ask in (lambda: checks.check(config), lambda: checks.require_in_reach(config)):
        with pytest.raises(InvalidConfig, match=f"model.source: {NAME} is not on this machine yet .92 MB.: {how}"):
            ask()
    with pytest.raises(ModelToGet, match=how):  # a worker downloads nothing in its place
        checks.fetch(checks.needs(config))
    assert not checks.asks_hub(config)
    assert not catalog.is_hub_id(NAME)
    adapter = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "target_modules": ["q_proj"], "r": 4, "lora_alpha": 8}
    (tmp_path / "adapter").mkdir()
    write_json(tmp_path / "adapter" / "adapter_config.json", {**adapter, "base_model_name_or_path": NAME})
    (tmp_path / "adapter" / "adapter_model.safetensors").write_bytes(safetensors({"a": [4, 8]}))
    with pytest.raises(ModelToGet, match=f"needs its base model. {NAME} is not on this machine"):
        catalog.adapter_base(tmp_path / "adapter")


def test_its_needs_are_known_before_it_is_here(config: RunConfig) -> None:
    assert FROM_PYPI.architecture == BY_NAME[real_model.HUB_NAME].architecture
    found = estimates.estimate(config)
    assert found.download == estimates.Download(NAME, 92, "Apache-2.0", gated=False)
    assert fitting.fit(config).config.model.adapter.kind == "lora"
    assert real_model.MARK in FROM_PYPI.help


def test_where_it_is_here_it_is_a_model_like_others(config: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model_folder(real_model.folder())
    assert catalog.model_folder(NAME) == folder
    assert checks.model_problems(checks.needs(config)) == []
    monkeypatch.chdir(folder.parent)  # where a folder of that name lies
    assert checks.located(config).model.source == NAME
    assert loading.base_name(NAME, folder) == str(folder.resolve())


def test_the_page_lists_it_and_a_public_one_does_not_allow_it(config: RunConfig, tmp_path: Path) -> None:
    assert (f"{FROM_PYPI.label} (92 MB)", NAME) in form_parts.model_choices(tmp_path)
    assert describe.in_words("model.source", NAME) == "SmolLM2 135M Instruct, from PyPI"
    for more in ("", "suggested", "hub"):
        capped = LIMITS["space"]._replace(more=more)
        assert NAME not in [name for _, name in form_parts.model_choices(tmp_path, capped)] or more == "hub"
        assert "model.source" in [problem.field for problem in check(config, capped)]
    assert NAME not in SUGGESTED


def test_a_card_says_what_it_is_and_names_no_base_of_the_hub(config: RunConfig) -> None:
    front = card.front_matter(config, card.Written("adapter", 3, 100, "fp32"))
    assert "base_model" not in front
    assert "license: apache-2.0" in front
    assert json.dumps(real_model.HUB_NAME) not in front
