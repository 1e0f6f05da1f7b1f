"""The real model as a source: found by its bare name, told how to get where it is not here, known before it is."""

import pytest

from playground.config import RunConfig
from playground.errors import InvalidConfig, ModelToGet
from playground.models import real_model
from playground.models.architectures import BY_NAME, FROM_PYPI
from playground.setup import catalog, checks, describe, estimates
from playground.setup.estimates import fitting
from playground.setup.limits import LIMITS, check
from playground.training.models import loading
from tests.model_folders import model_folder, safetensors, write_json

NAME = "smollm2-135m-instruct"


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("PLAYGROUND_MODELS", str(tmp_path / "models"))
    return RunConfig.model_validate({"model": {"source": NAME}, "rewards": [{"kind": "length"}]})


def test_where_the_real_model_is_not_here_every_way_says_how_to_get_it(config, tmp_path):
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


def test_the_needs_of_the_real_model_are_known_before_it_is_here(config):
    assert FROM_PYPI.architecture == BY_NAME[real_model.HUB_NAME].architecture
    assert estimates.estimate(config).download == estimates.Download(NAME, 92, "Apache-2.0", gated=False)
    assert fitting.fit(config).config.model.adapter.kind == "lora"
    assert real_model.MARK in FROM_PYPI.help
    assert describe.in_words("model.source", NAME) == "SmolLM2 135M Instruct, from PyPI"


def test_where_the_real_model_is_here_it_is_a_model_like_others(config, monkeypatch):
    folder = model_folder(real_model.folder())
    assert (catalog.model_folder(NAME), checks.model_problems(checks.needs(config))) == (folder, [])
    monkeypatch.chdir(folder.parent)  # where a folder of that name lies
    assert checks.located(config).model.source == NAME
    assert loading.base_name(NAME, folder) == str(folder.resolve())


@pytest.mark.parametrize("more", ["", "suggested", "hub"])
def test_a_public_page_does_not_allow_the_real_model(config, more):
    assert "model.source" in [problem.field for problem in check(config, LIMITS["space"]._replace(more=more))]
