"""A reward function of one's own, in Python: the end that starts its process, times it, and trusts nothing of it.

The process (`python_runner`) has an empty environment, an empty folder and a session of its own. It starts with the
first batch, answers many, and is killed when it takes too long, says too much, or is not needed any more. `rules`
builds these; where a playground serves others it does not.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playground.config import local_only
from playground.errors import RewardFailed

RUNNER = Path(__file__).with_name("python_runner.py")
MEMORY_BYTES = 512 << 20
CPU_SECONDS = 3600  # of one process in all; what ends a loop when nobody is left who would
START_SECONDS = 60.0  # a busy machine takes its time, and only our own code runs until then
MAX_ANSWER_BYTES = 1 << 20
ATTEMPTS = 2  # of one batch: a second one where the process died, or had no luck with the clock
MAX_STARTS = 6  # of one function, in all
READ_AT_ONCE = 1 << 16
LESS_TIGHT = (
    "this system cannot filter system calls, so the function could delete files of yours and signal your processes. "
    "Use only code that you have read (docs/rewards.md)."
)
FILTER = "system calls"  # what `python_runner.shut` calls the part of the cage that not every system has

_log = logging.getLogger(__name__)


class _Ended(Exception):
    """The process did not answer as it should; the text is the sentence for it."""


class PythonFunction:
    """The function that a piece of code defines, as a reward in TRL's calling convention.

    Attributes:
        held: after the first batch, what the process gave away; see `python_runner.shut`.
    """

    def __init__(self, code: str, time_limit: float) -> None:
        """Raises RewardFailed where this process serves others."""
        if refusal := local_only.refusal("python"):
            raise RewardFailed(refusal)
        self._code, self._time_limit = code, time_limit
        self._process: _Process | None = None
        self._starts = 0
        self.held: list[str] = []

    def __call__(self, prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[float | None]:
        """One number or None for each completion.

        Raises:
            RewardFailed: the function raised, took too long, ended its process, or returned something else.
        """
        request = {"prompts": list(prompts), "completions": list(completions)}
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer = self._running().ask(request, self._time_limit)
                return _checked(answer, len(completions))
            except _Ended as error:
                self.close()
                if attempt == ATTEMPTS:
                    raise RewardFailed(_sentence(str(error), self._time_limit, len(completions))) from None
        raise AssertionError("not reached")

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _running(self) -> _Process:
        """The process with the code in it. Raises `_Ended`, or RewardFailed if the code itself fails."""
        if self._process is None:
            if self._starts >= MAX_STARTS:
                raise RewardFailed(
                    f"The process of the reward `python` had to be started {MAX_STARTS} times and is not started "
                    "again. Test the function on the Rewards page."
                )
            self._starts += 1
            self._process = _Process()
            self.held = self._process.begin()
            if FILTER not in self.held and self._starts == 1:
                _log.warning("The reward `python` is held less tightly here: %s", LESS_TIGHT)
            _check_error(self._process.ask({"code": self._code}, self._time_limit))
        return self._process


def cage() -> list[str]:
    """What a process of a Python reward gives away on this machine, by trying; see `python_runner.shut`.

    Raises:
        RewardFailed: no such process can be started.
    """
    try:
        process = _Process()
        try:
            return process.begin()
        finally:
            process.close()
    except _Ended as error:
        raise RewardFailed(
            f"A reward `python` cannot be used here: the program that is started for it {error}."
        ) from None


class _Process:
    """One process: its pipes, its folder, and the thread that waits for its end."""

    def __init__(self) -> None:
        started: list[subprocess.Popen[bytes]] = []
        ready = threading.Event()
        folder = tempfile.mkdtemp(prefix="playground-reward-")

        def live() -> None:
            """Start it and wait for its end, in a thread of its own: the kernel kills it when this thread ends, so
            that none outlives us; and it never stays behind as a zombie."""
            try:
                started.append(_spawn(folder))
            finally:
                ready.set()
            started[0].wait()
            shutil.rmtree(folder, ignore_errors=True)

        threading.Thread(target=live, name="reward-process", daemon=True).start()
        ready.wait()
        if not started:
            shutil.rmtree(folder, ignore_errors=True)
            raise _Ended("could not be started")
        self.process = started[0]
        assert self.process.stdin is not None and self.process.stdout is not None
        self._requests, self._answers = self.process.stdin, self.process.stdout
        os.set_blocking(self._requests.fileno(), False)
        os.set_blocking(self._answers.fileno(), False)
        self._rest = b""
        self._finalizer = weakref.finalize(self, _end, self.process, folder)  # also when we leave

    def begin(self) -> list[str]:
        """Tell it its limits; what holds. Raises `_Ended`."""
        held = self.ask({"memory_bytes": MEMORY_BYTES, "cpu_seconds": CPU_SECONDS}, START_SECONDS).get("held")
        return [str(name) for name in held] if isinstance(held, list) else []

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send one line, get one line. Raises `_Ended`."""
        answer = self._exchange(json.dumps(request).encode("ascii") + b"\n", time.monotonic() + seconds)
        try:
            found = json.loads(answer)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise _Ended("wrote something else to its pipe than an answer")
        return found

    def close(self) -> None:
        """Kill it, with all that it may have started."""
        self._finalizer()

    def _exchange(self, data: bytes, deadline: float) -> bytes:
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            selector.register(self._requests, selectors.EVENT_WRITE)
            while b"\n" not in self._rest:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise _Ended("took longer")
                for key, _ in selector.select(left):
                    if key.fileobj is self._answers:
                        self._read()
                    else:
                        data = self._write(data)
                        if not data:
                            selector.unregister(self._requests)
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _write(self, data: bytes) -> bytes:
        try:
            return data[os.write(self._requests.fileno(), data[:READ_AT_ONCE]) :]
        except BlockingIOError:
            return data
        except BrokenPipeError:
            raise _Ended(self._how_it_ended()) from None

    def _read(self) -> None:
        try:
            more = os.read(self._answers.fileno(), READ_AT_ONCE)
        except BlockingIOError:
            return
        if not more:
            raise _Ended(self._how_it_ended())
        self._rest += more
        if len(self._rest) > MAX_ANSWER_BYTES:
            raise _Ended("wrote more than it may")

    def _how_it_ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1)
        code = self.process.returncode
        if code is None:
            return "closed its pipe"
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"ended its process (by the signal {signal.Signals(-code).name})"
        return f"ended its process (exit code {code})"


def _spawn(folder: str) -> subprocess.Popen[bytes]:
    # -I: no PYTHON* variables, nothing of the user's folder. -S: no packages. -B: no files written.
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", "-X", "utf8", str(RUNNER)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        bufsize=0, env={}, cwd=folder, start_new_session=True, close_fds=True,
    )  # fmt: skip


def _end(process: subprocess.Popen[bytes], folder: str) -> None:
    """Kill the process and its group; the thread that waits for it clears up behind it."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # its own session: the group has its number
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    shutil.rmtree(folder, ignore_errors=True)


def _checked(answer: dict[str, Any], count: int) -> list[float | None]:
    _check_error(answer)
    values = answer.get("values")
    if not isinstance(values, list):
        raise _Ended("wrote something else to its pipe than an answer")
    if len(values) != count:
        raise RewardFailed(
            f"The function of the reward `python` returned {len(values)} values for {count} completions. It must "
            "return one number or None for each."
        )
    for value in values:
        if value is not None and not isinstance(value, (int, float)):
            raise RewardFailed(
                f"The function of the reward `python` returned {str(value)[:60]} for a completion; it must be a number "
                "or None."
            )
    return values


def _check_error(answer: dict[str, Any]) -> None:
    if "error" in answer:
        told = "".join(character if character.isprintable() else " " for character in str(answer["error"])[:400])
        raise RewardFailed(f"The function of the reward `python` failed: {told}. Correct the code.")


def _sentence(ended: str, time_limit: float, count: int) -> str:
    if ended == "took longer":
        return (
            f"The function of the reward `python` took longer than {time_limit:g} s for {count} completions and was "
            "stopped. Make it faster, or raise time_limit."
        )
    return f"The function of the reward `python` {ended} and was stopped. It may compute, and do nothing else."
