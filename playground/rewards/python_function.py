"""A reward function of one's own, in Python: the end that starts its process, times it, and reads what it answers.

The process (`python_runner`) starts with the first batch, answers many, and is killed when it takes too long, says too
much, or is not needed any more. `kinds` builds these; where a playground serves others they are refused.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from playground.config import local_only
from playground.errors import RewardFailed

RUNNER = Path(__file__).with_name("python_runner.py")
MEMORY_BYTES = 4 << 30  # of address space: what numpy or torch reserve counts
LOAD_SECONDS = 20.0  # for what stands above the function: imports are slow
MAX_ANSWER_BYTES = 1 << 20
ATTEMPTS = 2  # of one batch: a second one where the process died, or had no luck with the clock


class _Ended(Exception):
    """The process did not answer as it should; the text is the sentence for it."""


class PythonFunction:
    """The function that a piece of code defines, as a reward in TRL's calling convention."""

    def __init__(self, code: str, time_limit: float) -> None:
        """Raises RewardFailed where this process serves others."""
        if refusal := local_only.refusal("python"):
            raise RewardFailed(refusal)
        self._code, self._time_limit = code, time_limit
        self._process: _Process | None = None

    def __call__(self, prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[float | None]:
        """One number or None for each completion.

        Raises:
            RewardFailed: the function raised, took too long, ended its process, or returned something else.
        """
        request = {"prompts": list(prompts), "completions": list(completions)}
        for attempt in range(1, ATTEMPTS + 1):
            try:
                if self._process is None:
                    self._process = _Process()
                    _check_error(self._process.ask({"code": self._code}, LOAD_SECONDS))
                return _checked(self._process.ask(request, self._time_limit), len(completions))
            except _Ended as error:
                self.close()
                if attempt == ATTEMPTS:
                    raise RewardFailed(f"The function of the reward `python` {error}") from None
        raise AssertionError("not reached")

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.close()
            self._process = None


class _Process:
    """One process, and a thread that reads its answers."""

    def __init__(self) -> None:
        # -I: no PYTHON* variables, nothing of the user's folder. -B: no files written.
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-X", "utf8", str(RUNNER), str(os.getpid()), str(MEMORY_BYTES)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdin is not None and self.process.stdout is not None
        self._requests = self.process.stdin
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=_read, args=(self.process.stdout, self._answers), daemon=True).start()
        self.close = weakref.finalize(self, _end, self.process)  # also when nobody holds it, or we leave

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send one line, get one line. Raises `_Ended`."""
        try:
            self._requests.write(json.dumps(request).encode("ascii") + b"\n")
            self._requests.flush()
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            what = f"for {len(request['completions'])} completions" if "completions" in request else "to be loaded"
            remedy = "Make it faster, or raise time_limit."
            raise _Ended(f"took longer than {seconds:g} s {what} and was stopped. {remedy}") from None
        except OSError:
            line = b""
        if not line:
            raise _Ended(f"{self._how_it_ended()} and was stopped.")
        if not line.endswith(b"\n"):
            raise _Ended("wrote more than it may and was stopped.")
        with contextlib.suppress(ValueError, RecursionError):
            if isinstance(answer := json.loads(line), dict):
                return answer
        raise _Ended("wrote something else to its pipe than an answer and was stopped.")

    def _how_it_ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1)
        code = self.process.returncode
        if code is None:
            return "closed its pipe"
        by = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"ended its process ({by})"


def _read(pipe: IO[bytes], answers: queue.SimpleQueue[bytes]) -> None:
    """Read lines until the process closes its end, or writes one that is too long."""
    line = b"\n"
    with pipe:
        while line.endswith(b"\n"):
            line = pipe.readline(MAX_ANSWER_BYTES)
            answers.put(line)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and its group."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # its own session: the group has its number
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)
    with contextlib.suppress(OSError):
        process.stdin.close()  # type: ignore[union-attr]


def _checked(answer: dict[str, Any], count: int) -> list[float | None]:
    _check_error(answer)
    values = answer.get("values")
    if not isinstance(values, list):
        raise _Ended("wrote something else to its pipe than an answer and was stopped.")
    returned = "The function of the reward `python` returned"
    if len(values) != count:
        message = f"{len(values)} values for {count} completions. It must return one number or None for each."
        raise RewardFailed(f"{returned} {message}")
    for value in values:
        if value is not None and not isinstance(value, (int, float)):
            raise RewardFailed(f"{returned} {str(value)[:60]} for a completion; it must be a number or None.")
    return values


def _check_error(answer: dict[str, Any]) -> None:
    if "error" in answer:
        message = "".join(character if character.isprintable() else " " for character in str(answer["error"])[:400])
        raise RewardFailed(f"The function of the reward `python` failed: {message}. Correct the code.")
