"""Exports: complete, start as exported, and carry text from a configuration as data only."""

from __future__ import annotations

import ast
import contextlib
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import pytest

from playground import exports
from playground.config import RunConfig, yaml_io
from playground.runs.folder.records import ScoreScale
from tests.nights import nightly
from tests.support import PROJECT

SMALL: dict[str, Any] = {
    "name": "small",
    "rewards": [{"kind": "sentiment"}, {"kind": "length", "weight": 0.1, "target": 8}],
    "ppo": {"num_updates": 2, "batch_size": 4, "minibatch_size": 4, "micro_batch_size": 2, "num_epochs": 1},
    "prompts": {"limit": 3},
    "sampling": {"max_new_tokens": 8, "missing_eos_penalty": 0.5},
    "evaluation": {"num_prompts": 2, "every": 2},
    "checkpoint": {"every": 0},
}
SECONDS = 120


def small(**changes: Any) -> RunConfig:
    return yaml_io.from_dict(SMALL | changes)


def literals(pairs: Iterable[tuple[str, ast.expr]]) -> dict[str, Any]:
    """Those that are plain data, by name."""
    found = {}
    for name, value in pairs:
        with contextlib.suppress(ValueError):
            found[name] = ast.literal_eval(value)
    return found


def settings(script: str) -> dict[str, Any]:
    """The arguments of `PPOConfig(...)` in a script that are literals."""
    calls = [node for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Call)]
    call = next(node for node in calls if ast.unparse(node.func) == "PPOConfig")
    return literals((item.arg, item.value) for item in call.keywords)


def constants(script: str) -> dict[str, Any]:
    """Names that a script sets to literals."""
    made = [node for node in ast.parse(script).body if isinstance(node, ast.Assign)]
    return literals((ast.unparse(node.targets[0]), node.value) for node in made)


@pytest.mark.parametrize("scale", [nightly(None), ScoreScale(mean=0.25, sd=2.5)])
def test_the_script_for_trl_starts_as_exported_and_leaves_a_model(tmp_path, scale):
    script, folder = tmp_path / "run_trl.py", tmp_path / "model"
    script.write_text(exports.trl_script(small(), scale), encoding="utf-8")
    answer = subprocess.run(
        [sys.executable, str(script), str(folder)], cwd=PROJECT, capture_output=True, text=True, timeout=SECONDS
    )
    assert answer.returncode == 0, answer.stderr
    logs = [ast.literal_eval(line) for line in answer.stdout.splitlines() if line.startswith("{")]
    assert [log["episode"] for log in logs] == [4, 8]
    assert all(float(log["loss/value_avg"]) > 0 for log in logs)
    assert (folder / "model.safetensors").is_file()
    assert (folder / "tokenizer.json").is_file()
    if scale:
        assert "Scale(mean=0.25, sd=2.5, clip=None)" in answer.stdout


def test_the_script_carries_the_settings_of_the_run():
    changed = {"learning_rate": 3e-5, "clip_range": 0.1, "gamma": 0.9, "value_coef": 0.7, "num_epochs": 3}
    found = settings(exports.trl_script(small(ppo={**SMALL["ppo"], **changed}, kl={"coef": 0.5}, seed=7)))
    taken = {"learning_rate": 3e-5, "cliprange": 0.1, "gamma": 0.9, "vf_coef": 0.7, "num_ppo_epochs": 3, "kl_coef": 0.5}
    given = {"total_episodes": 8, "gradient_accumulation_steps": 2, "seed": 7, "response_length": 8, "bf16": False}
    given |= {"stop_token": "eos", "missing_eos_penalty": 0.5}
    assert {name: found[name] for name in taken | given} == taken | given


def test_the_script_says_what_trl_does_otherwise():
    script = exports.trl_script(small(kl={"controller": "adaptive", "target": 3}))
    for words in ("# - kl.controller: ", "  # the run adapted it towards a KL of 3", "# - TRL does not clip gradients"):
        assert words in script
    assert "adaptive" not in exports.trl_script(small())
    other = exports.trl_script(small(method="rloo", ppo={**SMALL["ppo"], "samples_per_prompt": 4}))
    assert "# - The run took another method (rloo, RLOO)" in other


def test_text_of_a_configuration_is_data_in_the_script_whatever_it_is():
    name = 'it\'s """ {braces} \\ \n\nraise SystemExit(1)'
    words = ['"""', "{x}", "\\", "'); raise SystemExit", "größer"]
    config = small(
        name=name, rewards=[{"kind": "keyword", "words": words}, {"kind": "pattern", "pattern": r"\d{2}\n#"}]
    )
    script = exports.trl_script(config)
    found = constants(script)
    assert [reward.get("words", reward.get("pattern")) for reward in found["REWARDS"]] == [words, r"\d{2}\n#"]
    assert yaml_io.from_dict({"rewards": found["REWARDS"]}).rewards == config.rewards
    assert not [node for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Raise)]
    assert "default" not in found
    assert found["PROMPTS"] == config.prompts.model_dump(mode="json")
