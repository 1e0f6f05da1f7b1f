"""A reward function in Python that means harm: each is contained, and the process that asked lives on.

Everything happens in a process of its own that stands for a worker: it has a token in its environment and one in its
home. The same attacks run in the whole cage and in one without the kernel's filter of system calls, as on macOS, where
only what the limits promise is tried.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from playground.config import REWARD_CLASSES, PythonReward, local_only, yaml_io
from playground.errors import InvalidConfig, RewardFailed
from playground.rewards import kinds, python_function
from playground.rewards.mixture import Mixture
from playground.rewards.python_function import RUNNER, PythonFunction
from playground.runs.folder.directory import RunDirectory
from playground.setup import checks, limits
from tests.figures import Figure
from tests.support import PROJECT, has_ended, small_config, wait_until

CANARY = "hf_canary_5b1c0de"
HEAD = "def reward(prompt, completion):\n    "
RAW = HEAD + "import ctypes, os\n    libc = ctypes.CDLL(None, use_errno=True)\n    "


def raw(call: str) -> str:
    """A call past Python, straight to the C library; what it says, or minus the error number."""
    return f"{RAW}found = {call}\n    return found if found >= 0 else -ctypes.get_errno()"


COMMON = {  # what the limits alone must hold
    "loops": HEAD + "while True: pass",
    "loops at once": "while True: pass\ndef reward(prompt, completion): return 1",
    "loops in C": HEAD + "return 9 ** 9 ** 9 ** 9",
    "sleeps": HEAD + "import time\n    time.sleep(60)\n    return 1",
    "allocates 10 GB": HEAD + "return len(bytearray(10 << 30))",
    "allocates piece by piece": HEAD + "kept = []\n    while True: kept.append(bytearray(1 << 20))",
    "forks": HEAD
    + "import os, time\n    for _ in range(500):\n        if os.fork() == 0: time.sleep(9) or os._exit(0)",
    "forks past Python": raw("libc.fork()"),
    "connects": raw("libc.socket(2, 1, 0)"),
    "connects with Python": HEAD + "import socket\n    return socket.create_connection(('127.0.0.1', PORT)).fileno()",
    "reads the environment": HEAD + "import os\n    raise ValueError(os.environ['HF_TOKEN'])",
    "reads the parent's environment": HEAD
    + "import os\n    raise ValueError(open(f'/proc/{os.getppid()}/environ').read())",
    "reads a token in the home": HEAD + "raise ValueError(open('HOME/token').read())",
    "reads it past Python": raw("libc.open(b'HOME/token', 0)"),
    "writes to the home": HEAD + "open('HOME/evil', 'w').write('x')\n    return 1",
    "writes past Python": raw("libc.open(b'HOME/evil', 0o101, 0o644)"),
    "runs a program": HEAD + "import os\n    os.execv('/bin/sh', ['sh', '-c', 'echo > HOME/evil'])",
    "leaves a daemon": HEAD
    + "import os, time\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(600)\n    return 1",
    "floods its pipe": HEAD + "import os\n    while True: os.write(4, b'x' * 65536)",
    "closes its pipes": HEAD + "import os\n    os.close(3); os.close(4)\n    while True: pass",
    "forges an answer of the wrong length": HEAD
    + "import os\n    os.write(4, b'{\"values\": [1, 2, 3, 4, 5]}\\n')\n    return 1",
    "forges an answer without end": HEAD + "import os\n    os.write(4, b'[' * 100000 + b'\\n')\n    return 1",
    "forges an answer that is no number": HEAD
    + "import os\n    os.write(4, b'{\"values\": [\"x\", {}]}\\n')\n    return 1",
    "raises": HEAD + "return 1 / 0",
    "raises what cannot be told": HEAD
    + "class Odd(Exception):\n        def __str__(self): raise ValueError\n    raise Odd",
    "raises in code": "raise ValueError('at once')\ndef reward(prompt, completion): return 1",
    "recurses": HEAD + "return reward(prompt, completion)",
    "crashes": RAW + "return libc.strlen(ctypes.c_void_p(1))",
    "exits": HEAD + "raise SystemExit(0)",
    "exits at once": HEAD + "import os\n    os._exit(0)",
    "returns NaN": HEAD + "return float('nan')",
    "returns infinity": HEAD + "return float('inf')",
    "returns a text": HEAD + "return 'high'",
    "returns an object": HEAD + "class Sly(float): pass\n    return [Sly(1)]",
    "returns too much": HEAD + "return 10 ** 400",
    "returns the wrong count": "def reward(prompts, completions):\n    return [1.0]",
    "returns one number for all": "def reward(prompts, completions):\n    return 1.0",
    "returns a list without end": "import itertools\n"
    "def reward(prompts, completions):\n    return list(itertools.count())",
    "imports a package": HEAD + "import torch\n    return 1",
    "imports the playground": HEAD + "import playground\n    return 1",
    "raises its limits": HEAD
    + "import resource\n    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))\n    return 1",
}  # fmt: skip
FILTERED = {  # what only the filter of system calls holds, or another user
    "kills its parent": raw("libc.kill(os.getppid(), 9)"),
    "asks whether it may kill everybody": raw("libc.kill(-1, 0)"),  # signal 0 harms nobody, should it be let through
    "watches its parent": raw("libc.ptrace(16, os.getppid(), 0, 0)"),
    "deletes a file": raw("libc.unlink(b'HOME/token')"),
    "renames a file": raw("libc.rename(b'HOME/token', b'HOME/gone')"),
    "makes a folder": raw("libc.mkdir(b'HOME/evil', 0o755)"),
    "leaves its session": raw("libc.setsid()"),
    "starts a thread past Python": raw("libc.syscall(56, 0x10900, 0, 0, 0, 0)"),
}
TOLD = {  # by what it must be stopped, and not by the clock
    "allocates 10 GB": "MemoryError", "floods its pipe": "wrote more than it may", "loops": "took longer than 0.5 s",
}  # fmt: skip
HARMLESS = {"prints a flood": HEAD + "print('x' * 10 ** 7)\n    return len(completion)"}

WORKER = """
import json, os, sys
from pathlib import Path
from playground.errors import PlaygroundError
from playground.rewards import python_function
from playground.rewards.mixture import Mixture

python_function.RUNNER = Path(sys.argv[1])
for name, code in json.load(sys.stdin).items():
    reward = python_function.PythonFunction(code, 0.5)
    try:
        told = "value", Mixture({"python": (1.0, reward)})(["p", "q"], ["one", "two2"]).totals
    except PlaygroundError as error:
        told = "contained", str(error)
    reward.close()
    print(json.dumps([name, *told, reward.held]), flush=True)
print("alive", flush=True)
"""


@pytest.fixture
def home() -> Iterator[Path]:
    """A home that everybody may read and write, whoever the function has become: nothing but the cage protects it."""
    with tempfile.TemporaryDirectory(prefix="open-home-") as made:
        folder = Path(made)
        folder.chmod(0o777)
        (folder / "token").write_text(CANARY)
        (folder / "token").chmod(0o666)
        yield folder


@pytest.fixture
def port() -> Iterator[int]:
    """A port of this machine at which somebody listens."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def environment(home: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(PROJECT), "HOME": str(home), "HF_TOKEN": CANARY, "PATH": os.environ["PATH"],
            "TMPDIR": str(home)}  # fmt: skip


def attempted(attacks: dict[str, str], home: Path, port: int, runner: Path) -> dict[str, tuple[str, Any, list[str]]]:
    """Name -> how it went, what was said, what held. The process that asks must live to the end."""
    places = {"HOME": str(home), "PORT": str(port)}
    written = {}
    for name, code in attacks.items():
        for word, place in places.items():
            code = code.replace(word + "/", place + "/") if word != "PORT" else code.replace(word, place)
        written[name] = code
    child = subprocess.run(
        [sys.executable, "-c", WORKER, str(runner)], input=json.dumps(written), capture_output=True, text=True,
        timeout=240, cwd=home, env=environment(home),
    )  # fmt: skip
    *lines, last = child.stdout.splitlines() or [""]
    assert last == "alive", f"after {lines[-1:]}: exit {child.returncode}, {child.stderr[-800:]}"
    weak = sum("system calls" not in held for *_, held in map(json.loads, lines))
    assert child.stderr.count("is held less tightly here") == weak, "the log says so once for each function"
    return {name: (how, told, held) for name, how, told, held in map(json.loads, lines)}


def check(found: dict[str, tuple[str, Any, list[str]]], attacks: dict[str, str], home: Path) -> int:
    """How many of the attacks were contained: told in a sentence, or refused with an error number."""
    contained = 0
    for name, words in TOLD.items():
        assert name not in attacks or words in found[name][1], found[name]
    for name in attacks:
        how, told, _ = found[name]
        refused = how == "value" and all(value < 0 for value in told)
        assert refused or how == "contained", f"{name}: {told}"
        assert CANARY not in str(told) and "Traceback" not in str(told), f"{name}: {told}"
        assert len(str(told)) < 700, name
        contained += 1
    assert [path.name for path in home.iterdir()] == ["token"]
    assert (home / "token").read_text() == CANARY
    return contained


def left_behind(runner: Path) -> list[psutil.Process]:
    """Every process on this machine that still runs this copy of the runner."""
    return [process for process in psutil.process_iter(["cmdline"]) if str(runner) in (process.info["cmdline"] or ())]


QUICK = (
    "allocates 10 GB", "forks past Python", "connects", "reads the environment", "reads it past Python",
    "writes past Python", "kills its parent", "deletes a file", "returns NaN", "exits at once", "loops",
    "floods its pipe",
)  # fmt: skip


def test_the_attacks_that_would_hurt_most_are_contained(home: Path, port: int) -> None:
    attacks = {name: {**COMMON, **FILTERED}[name] for name in QUICK}
    assert check(attempted(attacks, home, port, RUNNER), attacks, home) == len(QUICK)


@pytest.mark.slow
def test_every_attack_on_the_whole_cage_is_contained(home: Path, port: int, tmp_path: Path, figure: Figure) -> None:
    attacks = {**COMMON, **FILTERED}
    runner = Path(shutil.copy(RUNNER, tmp_path))
    found = attempted({**attacks, **HARMLESS}, home, port, runner)
    if sys.platform == "linux":
        assert "system calls" in found["raises"][2], "the kernel takes no filter of system calls here"
    assert found["prints a flood"][:2] == ("value", [3.0, 4.0])
    contained = check(found, attacks, home)
    wait_until(lambda: not left_behind(runner))
    figure("Python rewards that loop, allocate, fork, connect, read, write, kill or forge", len(attacks), contained)


@pytest.mark.slow
def test_the_limits_alone_hold_what_they_promise(home: Path, port: int, tmp_path: Path, figure: Figure) -> None:
    source = RUNNER.read_text(encoding="utf-8")
    filtered = "if linux and _allow_few_system_calls(libc):"
    assert source.count(filtered) == 1
    runner = tmp_path / "python_runner.py"
    runner.write_text(source.replace(filtered, "if False:"), encoding="utf-8")
    found = attempted(COMMON, home, port, runner)
    assert "system calls" not in found["raises"][2]
    contained = check(found, COMMON, home)
    wait_until(lambda: not left_behind(runner))
    figure("Python rewards of these kinds, without the filter of system calls", len(COMMON), contained)


def test_what_holds_is_found_out_by_trying(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert set(python_function.cage()) >= ({"limits", "system calls"} if sys.platform == "linux" else {"limits"})
    monkeypatch.setattr(python_function, "RUNNER", tmp_path / "missing.py")
    with pytest.raises(RewardFailed, match="ended its process"):
        python_function.cage()


ORPHAN = f"""
import threading, time
from playground.rewards.python_function import PythonFunction
reward = PythonFunction({HEAD + "while True: pass"!r}, 60.0)
threading.Thread(target=reward, args=(["p"], ["c"]), daemon=True).start()
while reward._process is None or not reward.held:
    time.sleep(0.01)
print(reward._process.process.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_function_that_loops_does_not_outlive_a_worker_that_is_killed(home: Path, how: int) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True, env=environment(home), cwd=home
    )
    assert child.stdout is not None
    pid = int(child.stdout.readline())
    started = psutil.Process(pid).cpu_times().user
    wait_until(lambda: psutil.Process(pid).cpu_times().user > started + 0.3)  # it loops now, and reads nothing
    child.send_signal(how)
    child.wait(30)
    child.stdout.close()
    try:
        wait_until(lambda: has_ended(pid))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert [path.name for path in home.iterdir()] == ["token"]  # its own folder has gone too


def test_an_idle_function_leaves_no_zombie_and_no_thread_behind() -> None:
    import threading

    mine = psutil.Process()
    threads, children = set(threading.enumerate()), set(mine.children())  # those of earlier tests, dead ones too
    for _ in range(3):
        reward = PythonFunction(HEAD + "return 1", 5.0)
        assert reward(["p"], ["c"]) == [1.0]
        del reward  # without close: what nobody holds any more is ended
    wait_until(lambda: set(mine.children()) <= children)
    wait_until(lambda: set(threading.enumerate()) <= threads)


def test_a_function_that_keeps_failing_is_not_started_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    started = 0

    def failing(*_: Any) -> Any:
        nonlocal started
        started += 1
        raise OSError("no more processes")

    monkeypatch.setattr("playground.rewards.python_function._spawn", failing)
    monkeypatch.setattr("threading.excepthook", lambda _: None)
    reward = PythonFunction(HEAD + "return 1", 1.0)
    for _ in range(10):
        with pytest.raises(RewardFailed):
            reward(["p"], ["c"])
    assert started == 6
    with pytest.raises(RewardFailed, match="is not started again"):
        reward(["p"], ["c"])


CODE = HEAD + "return 1"
REWARDS = [{"kind": "python", "code": CODE}]
SHARED = ["classroom", "space", "Space", "local ", "nonsense"]


def refusals(outputs: Path, mode: str) -> dict[str, Callable[[], Any]]:
    """Every way to a function in Python that does not ask a page."""
    config = small_config(rewards=REWARDS)
    spec = PythonReward(code=CODE)

    def worker() -> None:
        run = RunDirectory.create(outputs, config, f"run-{len(list(outputs.glob('*')))}")
        answer = subprocess.run(
            [sys.executable, "-m", "playground.training.process.worker", str(run.path)], cwd=PROJECT, timeout=120,
            capture_output=True, env={**os.environ, local_only.MODE: mode, "HF_HUB_OFFLINE": "1"},
        )  # fmt: skip
        assert answer.returncode == 1 and run.metrics() == [] and run.samples() == []
        raise RewardFailed(run.status().message)

    return {
        "kinds.build": lambda: kinds.build(spec),
        "PythonFunction": lambda: PythonFunction(CODE, 1.0),
        "Mixture": lambda: Mixture.from_config(config.rewards),
        "judges": lambda: checks.check(small_config(judges=REWARDS)),
        "checks": lambda: checks.check(config),
        "worker": worker,
    }


def test_it_is_refused_in_the_other_modes_even_by_a_direct_call(
    outputs: Path, monkeypatch: pytest.MonkeyPatch, figure: Figure
) -> None:
    outputs.mkdir()
    tried = refused = 0
    for mode in SHARED:
        monkeypatch.setenv(local_only.MODE, mode)
        for name, attempt in refusals(outputs, mode).items():
            if name == "worker" and mode not in ("classroom", "space"):
                continue
            tried += 1
            with pytest.raises((RewardFailed, InvalidConfig)) as caught:
                attempt()
            assert "can only be used in local mode" in str(caught.value), (mode, name)
            refused += 1
    monkeypatch.setenv(local_only.MODE, "local")
    assert kinds.build(PythonReward(code=CODE))(prompts=["p"], completions=["c"]) == [1.0]
    figure("Python rewards refused outside local mode, by page, check, worker and direct call", tried, refused)


def test_what_the_process_refuses_is_what_the_page_says_it_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    assert local_only.MODE == limits.MODE_VARIABLE
    for mode in limits.MODES:
        monkeypatch.setenv(local_only.MODE, mode)
        refused = {kind for kind in REWARD_CLASSES if local_only.refusal(kind)}
        assert refused == limits.LIMITS[mode].refused_rewards


def test_a_pattern_without_a_limit_of_time_is_refused_there_too(monkeypatch: pytest.MonkeyPatch) -> None:
    config = yaml_io.from_dict({"rewards": [{"kind": "pattern", "pattern": "(a+)+$"}]})
    checks.check(config)
    monkeypatch.setenv(local_only.MODE, "classroom")
    checks.check(config)  # the host decides there
    monkeypatch.setenv(local_only.MODE, "space")
    with pytest.raises(InvalidConfig, match="matches_count"):
        checks.check(config)
    with pytest.raises(RewardFailed, match="matches_count"):
        kinds.build(config.rewards[0])
