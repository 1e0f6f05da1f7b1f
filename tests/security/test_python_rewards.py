"""A reward function in Python that goes wrong: each way ends in a sentence, and the process that asked lives on.

Everything happens in a process of its own that stands for a worker, with a token in its environment.
"""

from __future__ import annotations

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

from playground.config import PythonReward, local_only, yaml_io
from playground.errors import InvalidConfig, RewardFailed
from playground.rewards import mixture
from playground.rewards.python_function import RUNNER, PythonFunction
from playground.runs.folder.directory import RunDirectory
from playground.setup import checks
from tests.figures import Figure
from tests.support import PROJECT, has_ended, small_config, wait_until

CANARY = "hf_canary_5b1c0de"
HEAD = "def reward(prompt, completion):\n    "
MANY = "def reward(prompts, completions):\n    "
WRITING = "with tempfile.TemporaryFile() as file:\n        while True: file.write(b'x' * (1 << 24))"
WRONG = {
    "loops": HEAD + "while True: pass",
    "loops at once": "while True: pass\ndef reward(prompt, completion): return 1",
    "allocates 10 GB": HEAD + "return len(bytearray(10 << 30))",
    "writes a file without end": "import tempfile\n" + HEAD + WRITING,
    "reads the environment": HEAD + "import os\n    raise ValueError(os.environ['HF_TOKEN'])",
    "floods its pipe": HEAD + "import os\n    while True: os.write(4, b'x' * 65536)",
    "writes no answer to its pipe": HEAD + "import os\n    os.write(4, b'[' * 100000 + b'\\n')\n    return 1",
    "raises in code": "raise ValueError('at once')\ndef reward(prompt, completion): return 1",
    "crashes": HEAD + "import ctypes\n    return ctypes.CDLL(None).strlen(ctypes.c_void_p(1))",
    "exits": HEAD + "raise SystemExit(0)",
    "exits at once": HEAD + "import os\n    os._exit(0)",
    "returns too much": HEAD + "return 10 ** 400",
    "returns a list without end": "import itertools\n" + MANY + "return list(itertools.count())",
    "imports the playground": HEAD + "import playground\n    return 1",
}
SAID = {  # by what it must be stopped, and not by the clock
    "allocates 10 GB": "MemoryError",
    "floods its pipe": "wrote something other",
    "writes a file without end": "File too large",
    "loops": "took longer than 0.5 s",
    "loops at once": "took longer than 2 s",
}
WORKER = """
import json, sys
from pathlib import Path
from playground.errors import PlaygroundError
from playground.rewards import python_function
from playground.rewards.mixture import Mixture

python_function.RUNNER, python_function.LOAD_SECONDS, python_function.ATTEMPTS = Path(sys.argv[1]), 2.0, 1
for name, code in json.load(sys.stdin).items():
    reward = python_function.PythonFunction(code, 30.0 if "writes a file" in name else 0.5)  # its own limit ends it
    try:
        said = "value", Mixture({"python": (1.0, reward)})(["p", "q"], ["one", "two2"]).totals
    except PlaygroundError as error:
        said = "contained", str(error)
    reward.close()
    print(json.dumps([name, *said]), flush=True)
"""
ENVIRONMENT = {"PYTHONPATH": str(PROJECT), "HF_TOKEN": CANARY, "PATH": os.environ["PATH"]}


def test_whatever_goes_wrong_in_a_function_is_described_and_the_worker_lives(tmp_path: Path, figure: Figure) -> None:
    runner = Path(shutil.copy(RUNNER, tmp_path))
    functions = {**WRONG, "prints a flood": HEAD + "print('x' * 10 ** 7)\n    return len(completion)"}
    command, given = [sys.executable, "-c", WORKER, str(runner)], json.dumps(functions)
    child = subprocess.run(command, input=given, capture_output=True, text=True, timeout=240, env=ENVIRONMENT)
    found = {name: answer for name, *answer in map(json.loads, child.stdout.splitlines())}
    assert found.keys() == functions.keys() and child.returncode == 0, child.stderr[-800:]
    assert found.pop("prints a flood") == ["value", [3.0, 4.0]]
    for name, (how, said) in found.items():
        assert how == "contained" and SAID.get(name, "") in said, f"{name}: {said}"
        assert CANARY not in said and "Traceback" not in said and len(said) < 700, f"{name}: {said}"

    def left_behind() -> list[psutil.Process]:
        return [one for one in psutil.process_iter(["cmdline"]) if str(runner) in (one.info["cmdline"] or ())]

    wait_until(lambda: not left_behind())
    figure("Python rewards that loop, allocate, crash, exit, flood or forge", len(WRONG), len(WRONG))


ORPHAN = f"""
import threading, time
from playground.rewards.python_function import PythonFunction
reward = PythonFunction({HEAD + "while True: pass"!r}, 60.0)
threading.Thread(target=reward, args=(["p"], ["c"]), daemon=True).start()
while reward.process is None:
    time.sleep(0.01)
print(reward.process.pid, flush=True)
time.sleep(600)
"""


def test_a_function_that_loops_does_not_outlive_a_worker_that_is_killed() -> None:
    child = subprocess.Popen([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert child.stdout is not None
    pid = int(child.stdout.readline())
    started = psutil.Process(pid).cpu_times().user
    wait_until(lambda: psutil.Process(pid).cpu_times().user > started + 0.3)  # it loops now, and reads nothing
    child.kill()
    child.wait(30)
    child.stdout.close()
    try:
        wait_until(lambda: has_ended(pid))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_an_idle_function_leaves_no_zombie_and_no_thread_behind() -> None:
    mine = psutil.Process()
    threads, children = set(threading.enumerate()), set(mine.children())  # those of earlier tests, dead ones too
    for _ in range(3):
        reward = PythonFunction(HEAD + "return 1", 5.0)
        assert reward(["p"], ["c"]) == [1.0]
        del reward  # without close
    wait_until(lambda: set(mine.children()) <= children and set(threading.enumerate()) <= threads)


REWARDS = [{"kind": "python", "code": HEAD + "return 1"}]


def worker(outputs: Path, mode: str) -> None:
    run = RunDirectory.create(outputs, small_config(rewards=REWARDS), f"run-{mode}")
    command = [sys.executable, "-m", "playground.worker", str(run.path)]
    shared = {**os.environ, local_only.MODE: mode, "HF_HUB_OFFLINE": "1"}
    answer = subprocess.run(command, cwd=PROJECT, timeout=120, capture_output=True, env=shared)
    assert answer.returncode == 1
    assert run.metrics() == []
    assert run.samples() == []
    raise RewardFailed(run.status().message)


@pytest.mark.parametrize("mode", ["classroom", "space", "nonsense"])
def test_it_is_refused_in_the_other_modes_even_by_a_direct_call(outputs: Path, mode: str, monkeypatch) -> None:
    outputs.mkdir()
    spec = PythonReward(code=HEAD + "return 1")
    monkeypatch.setenv(local_only.MODE, mode)
    attempts = [
        lambda: mixture.build(spec),
        lambda: PythonFunction(spec.code, 1.0),
        lambda: checks.check(small_config(judges=REWARDS)),
        lambda: checks.check(small_config(rewards=REWARDS)),
    ]
    for attempt in [*attempts, *[lambda: worker(outputs, mode)] * (mode == "space")]:
        with pytest.raises((RewardFailed, InvalidConfig), match="can only be used in local mode"):
            attempt()
    monkeypatch.setenv(local_only.MODE, "local")
    assert mixture.build(spec)(prompts=["p"], completions=["c"]) == [1.0]


def test_a_pattern_without_a_limit_of_time_is_refused_there_too(monkeypatch: pytest.MonkeyPatch) -> None:
    config = yaml_io.from_dict({"rewards": [{"kind": "pattern", "pattern": "(a+)+$"}]})
    for mode in ("local", "classroom"):  # in a class the host decides
        monkeypatch.setenv(local_only.MODE, mode)
        checks.check(config)
    monkeypatch.setenv(local_only.MODE, "space")
    with pytest.raises(InvalidConfig, match="matches_count"):
        checks.check(config)
    with pytest.raises(RewardFailed, match="matches_count"):
        mixture.build(config.rewards[0])
