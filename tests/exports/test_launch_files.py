"""Command files for OpenRLHF and verl: only names that those publish, this run's values, text as data only."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from playground import cli, exports
from playground.config import RunConfig
from playground.exports import launch_settings
from playground.exports.launch_settings import Engine, not_carried
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import ScoreScale
from tests.support import PROJECT, small_config

ENGINES: tuple[Engine, ...] = ("openrlhf", "verl")
SCALE = ScoreScale(mean=2.0, sd=0.5, samples=256)
ALL = {
    "ppo": {"num_updates": 7, "batch_size": 16, "minibatch_size": 8, "micro_batch_size": 4, "num_epochs": 3,
            "learning_rate": 2e-5, "clip_range": 0.15, "value_clip_range": 0.3, "gae_lambda": 0.9, "gamma": 0.99,
            "warmup_updates": 2, "max_grad_norm": 0.7, "update_kl_stop": 0.1, "schedule": "constant"},
    "kl": {"controller": "adaptive", "coef": 0.07, "target": 4.0, "horizon": 99, "estimator": "k3"},
    "model": {"source": "pocket-2m", "adapter": {"kind": "lora", "r": 8, "alpha": 16, "target_modules": ["q_proj"]}},
    "sampling": {"temperature": 0.9, "top_p": 0.8, "train_on_cut": True, "missing_eos_penalty": 0.5},
    "score": {"clip": 3.0},
}  # fmt: skip
SIZES = {"batch_size": 16, "minibatch_size": 8, "micro_batch_size": 4, "samples_per_prompt": 4}
GROUPS = {"method": "grpo", "ppo": {"num_updates": 3, "baseline": "group", **SIZES}}


def published(engine: Engine) -> set[str]:
    """The names that the engine's package has, by the list beside this file."""
    head, *names = (Path(__file__).parent / f"{engine}_arguments.txt").read_text().splitlines()
    assert f"{engine} {launch_settings.VERSIONS[engine]} of PyPI" in head
    return set(names)


def arguments(script: str, engine: Engine) -> dict[str, str]:
    """What the last command of a script is given."""
    words = shlex.split(script[script.rindex("python -m ") :].replace("\\\n", ""))[3:]
    if engine == "verl":
        return dict(word.split("=", 1) for word in words)
    found: dict[str, str] = {}
    for word in words:
        if word.startswith("--"):
            name = word[2:]
            found[name] = ""
        else:
            found[name] = f"{found[name]} {word}".strip()
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("changes", [{}, ALL, GROUPS])
def test_every_argument_is_one_that_is_published(engine: Engine, changes: dict[str, Any]) -> None:
    given = arguments(exports.launch_file(small_config(**changes), engine, SCALE), engine)
    assert len(given) > 25
    assert given.keys() - published(engine) == set()


def test_the_values_are_those_of_the_run() -> None:
    given = arguments(exports.launch_file(small_config(**ALL), "openrlhf", SCALE), "openrlhf")
    told = {
        "rollout.batch_size": "16", "train.batch_size": "8", "train.micro_batch_size": "4", "train.max_epochs": "3",
        "data.max_samples": "112", "actor.adam.lr": "2e-05", "critic.adam.lr": "2e-05", "actor.eps_clip": "0.15",
        "critic.value_clip": "0.3", "algo.advantage.lambd": "0.9", "algo.advantage.gamma": "0.99",
        "algo.advantage.estimator": "gae", "actor.lr_scheduler": "constant_with_warmup", "actor.max_norm": "0.7",
        "algo.kl.init_coef": "0.07", "algo.kl.target": "4.0", "algo.kl.horizon": "99", "algo.kl.estimator": "k3",
        "ds.lora.rank": "8", "ds.lora.alpha": "16", "ds.lora.target_modules": "q_proj", "rollout.temperature": "0.9",
        "rollout.top_p": "0.8", "reward.clip_range": "-3.0 3.0", "actor.adam.betas": "0.9 0.999",
    }  # fmt: skip
    assert told.items() <= given.items()
    given = arguments(exports.launch_file(small_config(**ALL), "verl", SCALE), "verl")
    told = {
        "data.train_batch_size": "16", "actor_rollout_ref.actor.ppo_mini_batch_size": "8", "algorithm.gamma": "0.99",
        "actor_rollout_ref.actor.ppo_epochs": "3", "actor_rollout_ref.actor.clip_ratio_high": "0.15",
        "critic.cliprange_value": "0.3", "algorithm.lam": "0.9", "algorithm.kl_ctrl.type": "adaptive",
        "algorithm.kl_ctrl.target_kl": "4.0", "algorithm.kl_penalty": "k3", "trainer.total_training_steps": "7",
        "actor_rollout_ref.actor.optim.lr_warmup_steps": "2", "actor_rollout_ref.model.target_modules": "[q_proj]",
    }  # fmt: skip
    assert told.items() <= given.items()


def test_groups_are_counted_in_prompts() -> None:
    config = small_config(**GROUPS)
    given = arguments(exports.launch_file(config, "openrlhf"), "openrlhf")
    assert (given["rollout.batch_size"], given["train.batch_size"], given["rollout.n_samples_per_prompt"]) == (
        "4",
        "8",
        "4",
    )
    assert given["algo.advantage.estimator"] == "group_norm" and "critic.adam.lr" not in given
    given = arguments(exports.launch_file(config, "verl"), "verl")
    assert (given["data.train_batch_size"], given["actor_rollout_ref.actor.ppo_mini_batch_size"]) == ("4", "2")
    assert given["algorithm.adv_estimator"] == "grpo" and "critic.model.path" not in given


def test_what_does_not_carry_over_is_said() -> None:
    config = small_config(**ALL)
    script = exports.launch_file(config, "verl")
    for field in ("missing_eos_penalty 0.5", "update_kl_stop 0.1", "value_coef 0.1", "set SCALE in rewards.py"):
        assert field in script
    assert all(f"# - {ascii(sentence)[1:-1]}\n" in script for sentence in not_carried(config, "verl"))
    assert "took another road (method dpo" in exports.launch_file(small_config(method="dpo"), "openrlhf")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "evil", ["$(touch evil)\n`touch evil`", "'; touch evil; '", "END_OF_REWARDS\ntouch evil", "a\\'b"]
)
def test_text_of_a_run_is_never_run(engine: Engine, evil: str, tmp_path: Path) -> None:
    config = small_config(name=evil, rewards=[{"kind": "keyword", "words": [evil]}], model={"source": f"x{evil}"})
    script = tmp_path / "script.sh"
    script.write_text(exports.launch_file(config, engine, SCALE))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").write_text("#!/bin/sh\nexit 0\n")  # in the place of Python: only the shell is tried
    (tmp_path / "bin/python").chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", str(script)], cwd=tmp_path, env={"PATH": path, "PLAYGROUND": "."}, capture_output=True, timeout=240
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert not (tmp_path / "evil").exists()
    compile((tmp_path / "rewards.py").read_text(), "rewards.py", "exec")


def test_the_rewards_and_prompts_beside_it_are_those_of_the_run(tmp_path: Path) -> None:
    config = small_config(rewards=[{"kind": "keyword", "words": ["good"]}], prompts={"limit": 8})
    script = exports.launch_file(config, "openrlhf", SCALE)
    rewards = re.search(r"<<'END_OF_REWARDS'\n(.*)END_OF_REWARDS\n", script, re.DOTALL)
    assert rewards
    (tmp_path / "rewards.py").write_text(rewards[1])
    told = """
import json, runpy, sys

for path in ("prompts.jsonl", "prompts.parquet"):
    sys.argv = ["rewards.py", path]
    made = runpy.run_path("rewards.py", run_name="__main__")
import pandas

rows = pandas.read_parquet("prompts.parquet")
scores = made["reward_func"](["A film. good", "A film. bad"], ["A film."] * 2, None)["rewards"].tolist()
score = made["compute_score"]("", " good", "", {"prompt": "A film."})
print(json.dumps([scores, score, len(rows), rows["extra_info"][0]["prompt"]]))
"""
    done = subprocess.run(
        [sys.executable, "-c", told], cwd=tmp_path, env={**os.environ, "PLAYGROUND": str(PROJECT)}, text=True,
        capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    by_openrlhf, by_verl, num_rows, first = json.loads(done.stdout.splitlines()[-1])
    with_word = config_score(config, "A film.", " good")
    assert by_openrlhf == [with_word, config_score(config, "A film.", " bad")] and by_verl == with_word
    lines = [json.loads(line)["prompt"] for line in (tmp_path / "prompts.jsonl").read_text().splitlines()]
    assert len(lines) == num_rows == config.ppo.num_updates * config.ppo.batch_size and lines[0] == first


def config_score(config: RunConfig, prompt: str, completion: str) -> float:
    """By hand: a keyword reward counts a word once or not at all, and the scale is (raw - 2) / 0.5."""
    return (float("good" in completion) - 2.0) / 0.5


def test_the_command_line_writes_one(outputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunDirectory.create(outputs, small_config(), "one")
    with pytest.raises(SystemExit) as left:
        cli.main(["export", str(run.path), "--as", "verl", "--output", str(tmp_path / "go.sh")])
    assert left.value.code == 0
    assert (
        (tmp_path / "go.sh")
        .read_text()
        .startswith("#!/usr/bin/env bash\n# The run finish, for verl (pip install verl==0.9.1)")
    )
    assert f"PLAYGROUND={PROJECT} bash {tmp_path}/go.sh" in capsys.readouterr().err
