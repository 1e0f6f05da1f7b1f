"""A custom reward function in Python: starts its process, times it, and checks what it answers.

The process (`python_runner`) starts with the first batch, answers many, and is killed when it takes too long, says too
much, or is not needed any more. `mixture.build` makes these; where a playground serves others they are refused.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
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
                if self.process is None:
                    self._start()
                return self._asked(request, self._time_limit)
            except _Ended as error:
                self.close()
                if attempt == ATTEMPTS:
                    raise RewardFailed(f"The function of the reward `python` {error}") from None
        raise AssertionError("not reached")

    def close(self) -> None:
        """Kill the process and its group, if there is one, and close its pipes."""
        if self.process is not None:
            self._kill()
            with contextlib.suppress(OSError), self.process:  # closes its pipes, and waits for it
                pass
        self.process = None

    __del__ = close

    def _kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)  # its own session: the group has its number

    def _start(self) -> None:
        """A process that loads the code. Raises: RewardFailed, _Ended."""
        # -I: no PYTHON* variables, nothing of the user's folder. -B: no files written.
        command = [sys.executable, "-I", "-B", "-X", "utf8", str(RUNNER), str(os.getpid()), str(MEMORY_BYTES)]
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, env={}, start_new_session=True)
        try:
            self._asked({"code": self._code}, LOAD_SECONDS)
        except RewardFailed:
            self.close()
            raise

    def _asked(self, request: dict[str, Any], seconds: float) -> list[Any]:
        """Send one line, get the values of one line. Raises: RewardFailed, for an error of the function; _Ended."""
        assert self.process and self.process.stdin and self.process.stdout
        line, answer, started = b"", None, time.monotonic()
        clock = threading.Timer(seconds, self._kill)
        clock.start()
        with contextlib.suppress(OSError):  # it reads no more
            self.process.stdin.write(json.dumps(request).encode("ascii") + b"\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline(MAX_ANSWER_BYTES)
        clock.cancel()
        if not line and time.monotonic() - started >= seconds:
            raise _Ended(f"took longer than {seconds:g} s and was stopped. Make it faster, or raise time_limit.")
        with contextlib.suppress(ValueError, RecursionError):
            answer = json.loads(line)
        if not isinstance(answer, dict) or not isinstance(answer.get("values"), list):
            raise _Ended("ended its process, or wrote something other than an answer to its pipe, and was stopped.")
        if "error" in answer:
            message = "".join(character if character.isprintable() else " " for character in str(answer["error"])[:400])
            raise RewardFailed(f"The function of the reward `python` failed: {message}. Correct the code.")
        return list(answer["values"])
