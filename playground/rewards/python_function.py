"""A reward function of one's own, in Python: starts its process, times it, and checks what it answers.

The process (`python_runner`) starts with the first batch, answers many, and is killed when it takes too long, says too
much, or is not needed any more. `kinds` builds these; where a playground serves others they are refused.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
        self.process: subprocess.Popen[bytes] | None = None
        self._code, self._time_limit = code, time_limit
        if refusal := local_only.refusal("python"):
            raise RewardFailed(refusal)

    def __call__(self, prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[Any]:
        """What it returned for each completion, which `mixture.values_of` checks.

        Raises: RewardFailed, if the function raised, took too long or ended its process.
        """
        request = {"prompts": list(prompts), "completions": list(completions)}
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return _ask(self.process or self._started(), request, self._time_limit)
            except _Ended as error:
                self.close()
                if attempt == ATTEMPTS:
                    raise RewardFailed(f"The function of the reward `python` {error}") from None
        raise AssertionError("not reached")

    def close(self) -> None:
        """Kill the process and its group, if there is one, and close its pipes."""
        process, self.process = self.process, None
        if process is None:
            return
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # its own session: the group has its number
        with contextlib.suppress(OSError), process:  # closes its pipes, and waits for it
            pass

    __del__ = close

    def _started(self) -> subprocess.Popen[bytes]:
        """A process that has loaded the code. Raises: RewardFailed, _Ended."""
        # -I: no PYTHON* variables, nothing of the user's folder. -B: no files written.
        command = [sys.executable, "-I", "-B", "-X", "utf8", str(RUNNER), str(os.getpid()), str(MEMORY_BYTES)]
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, env={}, start_new_session=True)
        try:
            _ask(self.process, {"code": self._code}, LOAD_SECONDS)
        except RewardFailed:
            self.close()
            raise
        return self.process


def _ask(process: subprocess.Popen[bytes], request: dict[str, Any], seconds: float) -> list[Any]:
    """Send one line, get the values of one line. Raises: RewardFailed, for an error of the function; _Ended."""
    assert process.stdin is not None and process.stdout is not None
    line, answer = b"", None
    try:
        process.stdin.write(json.dumps(request).encode("ascii") + b"\n")
        process.stdin.flush()
        line = _read_line(process.stdout.fileno(), time.monotonic() + seconds)
    except TimeoutError:
        what = f"for {len(request['completions'])} completions" if "completions" in request else "to be loaded"
        remedy = "Make it faster, or raise time_limit."
        raise _Ended(f"took longer than {seconds:g} s {what} and was stopped. {remedy}") from None
    except OSError:
        pass  # it reads no more
    if not line:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
        how = f"ended its process (exit code {process.returncode})" if process.poll() is not None else "closed its pipe"
        raise _Ended(f"{how} and was stopped.")
    if not line.endswith(b"\n"):
        raise _Ended("wrote more than it may and was stopped.")
    with contextlib.suppress(ValueError, RecursionError):
        answer = json.loads(line)
    if isinstance(answer, dict) and "error" in answer:
        message = "".join(character if character.isprintable() else " " for character in str(answer["error"])[:400])
        raise RewardFailed(f"The function of the reward `python` failed: {message}. Correct the code.")
    if not isinstance(answer, dict) or not isinstance(values := answer.get("values"), list):
        raise _Ended("wrote something else to its pipe than an answer and was stopped.")
    return values


def _read_line(pipe: int, deadline: float) -> bytes:
    """What is written to a pipe up to a line break, the end of the pipe, or MAX_ANSWER_BYTES. Raises: TimeoutError."""
    line, part, poll = bytearray(), b"first", select.poll()
    poll.register(pipe, select.POLLIN)
    while part and not line.endswith(b"\n") and len(line) < MAX_ANSWER_BYTES:
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError
        part = os.read(pipe, 1 << 16)
        line += part
    return bytes(line)
