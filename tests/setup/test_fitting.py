"""What fits a chosen model: its own preset's settings or those of the model most like it, and nothing that a person has
brought is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playground.config import RunConfig, yaml_io
from playground.setup import catalog, devices
from playground.setup.devices import Device
from playground.setup.estimates import fitting
from tests.model_folders import model_folder

BIG = Device("cpu", "Processor", 64 * 10**9, 64 * 10**9)


@pytest.fixture(autouse=True)
def roomy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "available", lambda: [BIG])


def with_model(preset: str, source: str, **changes: Any) -> RunConfig:
    base = catalog.preset(preset).model_dump(mode="json")
    return yaml_io.from_dict({**base, **changes, "model": {**base["model"], "source": source}})


def test_a_suggested_model_gets_the_settings_of_its_preset() -> None:
    own = catalog.preset("smollm2-135m-instruct")
    found = fitting.fit(with_model("kinder-reviews", own.model.source))
    assert (found.like, found.own) == ("SmolLM2 135M Instruct", True)
    for part in ("model", "prompts", "rewards"):
        assert getattr(found.config, part) == getattr(own, part), part
    sizes = ("batch_size", "minibatch_size", "micro_batch_size", "learning_rate")
    assert [getattr(found.config.ppo, name) for name in sizes] == [getattr(own.ppo, name) for name in sizes]
    assert found.config.sampling == own.sampling
    assert found.config.evaluation.num_prompts == 16
    assert found.config.ppo.num_epochs == own.ppo.num_epochs
    assert found.preset == own.name
    assert (
        found.config.kl == catalog.preset("kinder-reviews").kl
    )  # the KL penalty is the point of the person, not the model's
    assert fitting.fit(found.config).config == found.config


@pytest.mark.parametrize(("template", "like"), [(True, "SmolLM2 135M Instruct"), (False, "Pythia 70M")])
def test_any_other_model_gets_those_of_the_one_most_like_it(tmp_path: Path, template: bool, like: str) -> None:
    folder = model_folder(tmp_path / "mine")
    if template:
        (folder / "chat_template.jinja").write_text("{{ messages[0]['content'] }}")
    found = fitting.fit(with_model("kinder-reviews", str(folder)))
    assert (found.like, found.own) == (like, False)
    assert found.config.prompts.template == ("chat" if template else "plain")
    assert found.config.model.source == str(folder)


def test_what_a_person_has_brought_stays() -> None:
    mine = {"source": "typed", "typed": ["One of mine", "Another"]}
    rewards = [{"kind": "expression", "expression": "words(completion)"}]
    found = fitting.fit(with_model("kinder-reviews", "openai-community/gpt2", prompts=mine, rewards=rewards)).config
    assert found.prompts.typed == ("One of mine", "Another")
    assert found.prompts.template == "plain"
    assert found.rewards[0].kind == "expression"


def test_claims_and_what_judges_them_go_with_any_chat_model() -> None:
    ours = catalog.preset("chat-claims")
    found = fitting.fit(with_model("chat-claims", "TinyLlama/TinyLlama-1.1B-Chat-v1.0")).config
    assert (found.prompts, found.rewards) == (ours.prompts, ours.rewards)


def test_a_method_keeps_the_batch_that_it_needs() -> None:
    config = with_model("without-critic", "openai-community/gpt2")  # eight for each prompt
    found = fitting.fit(config).config
    assert found.method == "rloo"
    assert found.ppo.batch_size % found.ppo.samples_per_prompt == 0
    sizes = {"batch_size": 48, "minibatch_size": 48, "micro_batch_size": 48, "samples_per_prompt": 6}
    odd = with_model("without-critic", "openai-community/gpt2", ppo=config.ppo.model_dump() | sizes)
    assert fitting.fit(odd).config.ppo.batch_size == 48  # 16 is no multiple of 6
