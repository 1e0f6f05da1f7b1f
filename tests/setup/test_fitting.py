"""What fits a chosen model: its own preset's settings or those of the model most like it, and nothing that a person has
brought is lost."""

import pytest

from playground.config import yaml_io
from playground.setup import catalog, devices
from playground.setup.devices import Device
from playground.setup.estimates import fitting
from tests.model_folders import model_folder

BIG = Device("cpu", "Processor", 64 * 10**9, 64 * 10**9)


@pytest.fixture(autouse=True)
def roomy(monkeypatch):
    monkeypatch.setattr(devices, "available", lambda: [BIG])


def with_model(preset, source, **changes):
    base = catalog.preset(preset).model_dump(mode="json")
    return yaml_io.from_dict({**base, **changes, "model": {**base["model"], "source": source}})


def test_a_suggested_model_gets_the_settings_of_its_preset():
    own = catalog.preset("smollm2-135m-instruct")
    base = with_model("kinder-reviews", own.model.source)
    fit = fitting.fit(base)
    assert (fit.like, fit.own, fit.preset) == ("SmolLM2 135M Instruct", True, own.name)
    for part in ("model", "prompts", "rewards", "sampling"):
        assert getattr(fit.config, part) == getattr(own, part), part
    for name in ("batch_size", "minibatch_size", "micro_batch_size", "learning_rate", "num_epochs"):
        assert getattr(fit.config.ppo, name) == getattr(own.ppo, name), name
    assert fit.config.evaluation.num_prompts == 16
    assert fit.config.kl == base.kl  # the KL penalty is the point of the person, not the model's
    assert fitting.fit(fit.config).config == fit.config


@pytest.mark.parametrize(("template", "like"), [(True, "SmolLM2 135M Instruct"), (False, "Pythia 70M")])
def test_any_other_model_gets_those_of_the_one_most_like_it(tmp_path, template, like):
    folder = model_folder(tmp_path / "mine")
    if template:
        (folder / "chat_template.jinja").write_text("{{ messages[0]['content'] }}")
    fit = fitting.fit(with_model("kinder-reviews", str(folder)))
    assert (fit.like, fit.own) == (like, False)
    assert fit.config.prompts.template == ("chat" if template else "plain")
    assert fit.config.model.source == str(folder)


def test_prompts_and_rewards_that_a_person_has_brought_stay():
    mine = {"source": "typed", "typed": ["One of mine", "Another"]}
    rewards = [{"kind": "expression", "expression": "words(completion)"}]
    config = fitting.fit(with_model("kinder-reviews", "openai-community/gpt2", prompts=mine, rewards=rewards)).config
    assert (config.prompts.typed, config.prompts.template) == (("One of mine", "Another"), "plain")
    assert config.rewards[0].kind == "expression"
    claims = catalog.preset("chat-claims")
    config = fitting.fit(with_model("chat-claims", "TinyLlama/TinyLlama-1.1B-Chat-v1.0")).config
    assert (config.prompts, config.rewards) == (claims.prompts, claims.rewards)


def test_a_method_keeps_the_batch_that_it_needs():
    base = with_model("without-critic", "openai-community/gpt2")  # eight for each prompt
    config = fitting.fit(base).config
    assert config.method == "rloo"
    assert config.ppo.batch_size % config.ppo.samples_per_prompt == 0
    sizes = {"batch_size": 48, "minibatch_size": 48, "micro_batch_size": 48, "samples_per_prompt": 6}
    odd = with_model("without-critic", "openai-community/gpt2", ppo=base.ppo.model_dump() | sizes)
    assert fitting.fit(odd).config.ppo.batch_size == 48  # 16 is no multiple of 6
