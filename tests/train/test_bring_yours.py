"""A model of one's own, from the first look at it to a trial update, with a chat template and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from playground.config import yaml_io
from playground.runs import history, preflight, trial
from playground.runs.model_service import ModelService
from playground.setup.estimates import fitting
from tests.forking import Forker
from tests.thoroughness import thorough
from tests.train import snapshots

PROMPTS = ["The film was slow", "The phone is terrible because", "What is 3 plus 4?", "A book on the table", "She said"]


@pytest.mark.usefixtures("service_here")
@pytest.mark.parametrize(("family", "chat"), [thorough("gpt2", False), ("qwen2", True)])
def test_a_model_of_ones_own_goes_all_the_way(
    tmp_path: Path, outputs: Path, forker: Forker, family: str, chat: bool
) -> None:
    tokenizer = snapshots.byte_level(own_pad=chat, chat=chat)
    folder = snapshots.snapshot(tmp_path / "mine", family, own_pad=chat, tokenizer=tokenizer)
    data = {"model": {"source": str(folder), "adapter": {"kind": "lora", "r": 2}}, "rewards": [{"kind": "length"}]}
    data |= {"prompts": {"source": "typed", "typed": PROMPTS}, "sampling": {"max_new_tokens": 4}}
    data |= {"ppo": {"num_updates": 4, "batch_size": 4, "minibatch_size": 4, "micro_batch_size": 2}}
    chosen = yaml_io.from_dict(data)
    config = fitting.fit(chosen, outputs).config
    assert config.prompts.typed == tuple(PROMPTS)
    known = dict(preflight.about_model(config, outputs)["facts"])
    assert known["Found"] == "a folder of this machine" and known["What it is"].startswith(family)
    assert ("its own chat template" in known["Prompts go in"]) == chat
    service = ModelService()
    seen = preflight.prompts_read(config, service)
    assert seen["form"] == ("chat" if chat else "plain")
    assert ("<|im_start|>" in [piece["text"] for piece in seen["seen"][0]]) == chat
    *_, answered = preflight.answers(config, outputs, service)
    assert len(answered["samples"]) == len(answered["rewards"][0]["values"]) == 8
    service.close()
    *_, made = trial.make(chosen, outputs, forker.spawn)  # with LoRA
    assert made["state"] == "done" and made["seconds_per_update"] > 0, made
    assert history.list_runs(outputs) == [] and len(trial.timed(outputs)) == 1
