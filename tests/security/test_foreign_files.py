"""Scripts and logs of strangers (`import`, `diagnose --log`): none takes long, fills the memory or ends in a fault."""

from __future__ import annotations

import json
import time

import pytest

from playground.errors import InvalidConfig
from playground.imports import importing, judging, log_files

SECONDS = 5.0  # of processor time for each; what is refused or cut takes tenths at most
PPO = "from trl import PPOConfig\nconfig = PPOConfig({})\n"
SHELL = "python ppo.py --kl_coef 0.05 --batch_size {}\n"
MANY_TEXTS = f"s = '{'x' * 700_000}'\na = [{'s,' * 900}]\n"
NESTED_IFS = "".join(" " * depth + "if a:\n" for depth in range(90)) + " " * 90 + f"x = [{'1,' * 60_000}]\n"
SCRIPTS = {
    "a long text a thousand times": ("py", MANY_TEXTS + PPO.format("exp_name=a, steps=[a]")),
    "the same as a text": ("py", MANY_TEXTS + "b = str(a)\n" + PPO.format("learning_rate=b")),
    "a number of thousands of digits": ("py", PPO.format(f"batch_size=0x{'f' * 6000}")),
    "a number beyond all floats": ("py", PPO.format(f"learning_rate={'1' * 400}")),
    "a power of a power": ("py", PPO.format("learning_rate=2**10**9, steps=9**64**9")),
    "a key that cannot be one": ("py", PPO.format("learning_rate={[1]: 2}")),
    "conditions in conditions": ("py", PPO.format("steps=1") + NESTED_IFS),
    "thousands of settings": (
        "py",
        PPO.format("steps=1") + f"LoraConfig({','.join(f'r{i}=1' for i in range(20_000))})",
    ),
    "thousands of names": ("yaml", "stage: ppo\n" + "".join(f"learning_rat{i}: 1\n" for i in range(4500))),
    "a hexadecimal number": ("yaml", f"stage: ppo\nlearning_rate: 0x{'f' * 9000}\n"),
    "digits": ("sh", SHELL.format("1" * 60_000 + "x")),
    "a whole number": ("sh", SHELL.format("1" * 5000)),
    "a variable in a variable": ("sh", SHELL.format("'" + "${a:-" * 15_000 + "'")),
    "a name that repeats": ("sh", "x" + "-ppo" * 20_000 + "! " + SHELL.format(1)),
    "a word without end": ("sh", SHELL.format("x" * 1_500_000)),
    "lines without end": ("sh", "a\n" * 400_000 + SHELL.format(1)),
}


@pytest.mark.parametrize("what", SCRIPTS)
def test_a_script_takes_no_time_and_no_memory(what, tmp_path):
    kind, text = SCRIPTS[what]
    path = tmp_path / f"script.{kind}"
    path.write_text(text)
    began = time.process_time()
    try:
        found = importing.read(path)
        told = found.yaml_text(path.name) + str(found.report())
    except InvalidConfig as error:
        told = str(error)
    assert time.process_time() - began < SECONDS
    assert len(told) < 100_000


def test_code_that_a_script_brings_along_is_pointed_out(tmp_path):
    path = tmp_path / "script.py"
    code = "def reward(prompt, completion):\n    return 1.0\n"
    rewards = [{"kind": "python", "code": code}]
    path.write_text(f"from playground.rewards import mixture\nREWARDS = {rewards!r}\n" + PPO.format("steps=1"))
    text = importing.read(path).yaml_text("script.py")
    assert code.splitlines()[1].strip() in text
    assert text.splitlines()[1].startswith("# Fill in or check: rewards: the")


LOGS = {
    "rows.csv": "clip_fraction\n" + "1\n" * 2_000_000,
    "columns.csv": ",".join(f"a{i}" for i in range(10_000)) + "\n" + "1\n" * 20_000,
    "rows.jsonl": "{}\n" * 2_000_000,
    "rows.json": "[" + "{}," * 11_000_000 + "{}]",
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_is_read_no_farther_than_its_bounds(name, tmp_path, monkeypatch):
    path = tmp_path / name
    path.write_text(LOGS[name])
    made, numbers = [], log_files._numbers
    monkeypatch.setattr(log_files, "_numbers", lambda row: made.append(len(row)) or numbers(row))
    with pytest.raises(InvalidConfig, match=r"more than|No column"):
        judging.read(path)
    assert len(made) <= log_files.MOST_ROWS + 1
    assert sum(made) < 1_000_000


def test_a_log_of_many_numbers_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(log_files, "MOST_NUMBERS", 100)
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps({"step": step, "clip_fraction": 0.1}) + "\n" for step in range(60)))
    with pytest.raises(InvalidConfig, match="numbers"):
        judging.read(path)
