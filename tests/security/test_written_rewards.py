"""Rewards that strangers write. An expression that tries to get out, or to cost too much, is refused or stopped; what
is meant well is computed. A function in Python that goes wrong ends in a sentence, and the process that asked lives on:
in a process of its own that stands for a worker, with a token in its environment."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from playground.config import ExpressionReward, PythonReward, local_only, yaml_io
from playground.errors import InvalidConfig, RewardFailed
from playground.rewards import mixture
from playground.rewards.python_function import RUNNER, PythonFunction
from playground.runs.folder.directory import RunDirectory
from playground.setup import checks
from tests.security import DATA, table
from tests.support import PROJECT, data_beside, has_ended, small_config, wait_until

SECONDS = 1.0  # of computing, for each
MOST_BYTES = 64_000_000  # more of address space, over all of them: the system gives them no more
TABLES = table("expressions")
NESTED = [before * times + middle + behind * times for before, middle, behind, times in TABLES["nested"]]
SEARCHES = [f"matches_count(completion, r'{pattern}')" for pattern in TABLES["patterns"]]
ATTACKS = [*(text for kind in ("out", "tricks", "bombs", "numbers") for text in TABLES[kind]), *NESTED, *SEARCHES]

CHILD = (DATA / "evaluate.py.txt").read_text(encoding="utf-8")


def test_no_attack_on_the_language_gets_out_or_costs_more_than_a_second(tmp_path, figure):
    assert len(set(ATTACKS)) >= 120
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(MOST_BYTES)],
        input=json.dumps(ATTACKS),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(PROJECT), "PATH": ""},
    )
    outcomes = [json.loads(line) for line in child.stdout.splitlines()]
    assert len(outcomes) == len(ATTACKS), f"it ended at {ATTACKS[len(outcomes)]!r:.80}: {child.stderr[-500:]}"
    for source, (how, answer, seconds) in zip(ATTACKS, outcomes, strict=True):
        outcome = f"{source[:80]!r}: {how} after {seconds:.2f} s: {answer[:200]}"
        assert how in ("refused", "stopped"), outcome
        assert seconds < SECONDS, outcome
        assert len(answer) < 600, outcome
        assert "Traceback" not in answer, outcome
    assert list(tmp_path.iterdir()) == []
    figure("expression escapes and bombs, each within 1 s and 64 MB", len(ATTACKS), len(outcomes))


@pytest.mark.parametrize(("expression", "by_hand"), TABLES["meant_well"])
def test_what_is_meant_well_gives_what_a_person_computes_by_hand(expression, by_hand, figure):
    prompts, completions = zip(*TABLES["texts"], strict=True)
    scores = mixture.build(ExpressionReward(expression=expression))(prompts=prompts, completions=completions)
    assert scores == pytest.approx(by_hand)
    figure("expressions equal to a computation by hand", 1, 1)


CANARY = "hf_canary_5b1c0de"
HEAD = "def reward(prompt, completion):\n    "
WRONG = data_beside(__file__, "data/python_rewards.yaml")
FLOOD = {"code": HEAD + "print('x' * 10 ** 7)\n    return len(completion)"}
WORKER, ORPHAN = ((DATA / f"{name}.py.txt").read_text(encoding="utf-8") for name in ("worker", "orphan"))
ENVIRONMENT = {"PYTHONPATH": str(PROJECT), "HF_TOKEN": CANARY, "PATH": os.environ["PATH"]}


def test_whatever_goes_wrong_in_a_function_is_described_and_the_worker_lives(tmp_path, figure):
    runner = Path(shutil.copy(RUNNER, tmp_path))
    command, functions = [sys.executable, "-c", WORKER, str(runner)], json.dumps({**WRONG, "flood": FLOOD})
    child = subprocess.run(command, input=functions, capture_output=True, text=True, env=ENVIRONMENT)
    assert child.returncode == 0, child.stderr[-800:]
    answers = {name: answer for name, *answer in map(json.loads, child.stdout.splitlines())}
    assert answers.pop("flood") == ["value", [3.0, 4.0]]
    assert answers.keys() == WRONG.keys()
    for name, (how, message) in answers.items():
        outcome = f"{name}: {message}"
        assert how == "contained", outcome
        assert WRONG[name].get("said", "") in message, outcome
        assert CANARY not in message, outcome
        assert "Traceback" not in message, outcome
        assert len(message) < 700, outcome

    def left_behind():
        return [
            process for process in psutil.process_iter(["cmdline"]) if str(runner) in (process.info["cmdline"] or ())
        ]

    wait_until(lambda: not left_behind())
    figure("Python rewards that loop, allocate, crash, exit, flood or forge", len(WRONG), len(answers))


def test_a_function_that_loops_does_not_outlive_a_worker_that_is_killed():
    child = subprocess.Popen([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert child.stdout is not None
    pid = int(child.stdout.readline())
    started = psutil.Process(pid).cpu_times().user
    wait_until(lambda: psutil.Process(pid).cpu_times().user > started + 0.3)  # it loops now, and reads nothing
    child.kill()
    child.wait()
    child.stdout.close()
    try:
        wait_until(lambda: has_ended(pid))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_an_idle_function_leaves_no_zombie_and_no_thread_behind():
    process = psutil.Process()
    threads, children = set(threading.enumerate()), set(process.children())  # those of earlier tests, dead ones too
    for _ in range(3):
        reward = PythonFunction(HEAD + "return 1", 300.0)
        assert reward(["p"], ["c"]) == [1.0]
        del reward  # without close
    wait_until(lambda: set(process.children()) <= children and set(threading.enumerate()) <= threads)


REWARDS = [{"kind": "python", "code": HEAD + "return 1"}]


def worker(outputs):
    """The worker itself, which has the mode from its environment."""
    run = RunDirectory.create(outputs, small_config(rewards=REWARDS), "run")
    command = [sys.executable, "-m", "playground.worker", str(run.path)]
    answer = subprocess.run(command, cwd=PROJECT, capture_output=True)
    assert answer.returncode == 1
    assert run.metrics() == []
    assert run.samples() == []
    raise RewardFailed(run.status().message)


@pytest.mark.parametrize("mode", ["classroom", "space", "nonsense"])
def test_a_function_is_refused_in_the_other_modes_even_by_a_direct_call(outputs, mode, monkeypatch):
    outputs.mkdir()
    spec = PythonReward(code=HEAD + "return 1")
    monkeypatch.setenv(local_only.MODE, mode)
    attempts = [
        lambda: mixture.build(spec),
        lambda: PythonFunction(spec.code, 1.0),
        lambda: checks.check(small_config(judges=REWARDS)),
        lambda: checks.check(small_config(rewards=REWARDS)),
    ]
    for attempt in [*attempts, *[lambda: worker(outputs)] * (mode == "space")]:
        with pytest.raises((RewardFailed, InvalidConfig), match="can only be used in local mode"):
            attempt()
    monkeypatch.setenv(local_only.MODE, "local")
    assert mixture.build(spec)(prompts=["p"], completions=["c"]) == [1.0]


def test_a_file_is_neither_read_nor_run_there(tmp_path, monkeypatch):
    file = tmp_path / "secret.py"
    file.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\ndef reward(completion): return 1")
    for named in ({"file": str(file)}, {"function": "tests.conftest:reward"}):
        monkeypatch.setenv(local_only.MODE, "space")
        config = yaml_io.from_dict({"rewards": [{"kind": "python", **named}]})
        assert config.rewards[0].code == ""
        with pytest.raises(InvalidConfig, match="can only be used in local mode"):
            checks.check(config)
    monkeypatch.setenv(local_only.MODE, "local")
    assert "return 1" in yaml_io.from_dict({"rewards": [{"kind": "python", "file": str(file)}]}).rewards[0].code
    assert not (tmp_path / "ran").exists()  # nor is it run where it is only read


def test_a_pattern_without_a_limit_of_time_is_refused_there_too(monkeypatch):
    config = yaml_io.from_dict({"rewards": [{"kind": "pattern", "pattern": "(a+)+$"}]})
    for mode in ("local", "classroom"):  # in a class the host decides
        monkeypatch.setenv(local_only.MODE, mode)
        checks.check(config)
    monkeypatch.setenv(local_only.MODE, "space")
    with pytest.raises(InvalidConfig, match="matches_count"):
        checks.check(config)
    with pytest.raises(RewardFailed, match="matches_count"):
        mixture.build(config.rewards[0])
