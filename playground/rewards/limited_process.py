"""A process of its own for code of the user's: started under limits, asked in JSON lines, killed when it is too slow.

The limits are for mistakes, not for malice (docs/security.md). `python_function` runs rewards in one,
`exercise` what a student has written. The other side of the pipe is `python_runner.serve`.
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
from pathlib import Path
from typing import Any

MAX_ANSWER_BYTES = 1 << 20


class ProcessEnded(Exception):
    """The process did not answer as it should; the text is the sentence for it."""


class TookTooLong(ProcessEnded):
    """It was stopped by the clock."""


class LimitedProcess:
    """One process at a time; it and its group are killed with `close`."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """Kill the process and its group, if there is one, and close its pipes."""
        if self.process is not None:
            self._kill()
            with contextlib.suppress(OSError), self.process:  # closes its pipes, and waits for it
                pass
        self.process = None

    __del__ = close

    def _kill(self) -> None:
        # Its group has its number, for it began a session. Helpers may outlive it, so it is not asked whether it has
        # ended: nobody has waited for it, and until then no other group can have the number.
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def start(self, runner: Path, memory_bytes: int, *arguments: str) -> None:
        """A process of a script, which gets this one's number and the limit of its address space."""
        # -I: no PYTHON* variables, nothing of the user's folder. -B: no files written.
        command = [sys.executable, "-I", "-B", "-X", "utf8", str(runner), str(os.getpid()), str(memory_bytes)]
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        self.process = subprocess.Popen(
            [*command, *arguments], stdin=pipe, stdout=pipe, stderr=null, env={}, start_new_session=True
        )

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send one line, get the object of one line. Raises: ProcessEnded."""
        assert self.process and self.process.stdin and self.process.stdout
        line, answer, started = b"", None, time.monotonic()
        clock = threading.Timer(seconds, self._kill)
        clock.start()
        with contextlib.suppress(OSError):  # it reads no more
            self.process.stdin.write(json.dumps(request, default=str).encode("ascii") + b"\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline(MAX_ANSWER_BYTES)
        clock.cancel()
        if not line and time.monotonic() - started >= seconds:
            raise TookTooLong(f"took longer than {seconds:g} s and was stopped.")
        with contextlib.suppress(ValueError, RecursionError):
            answer = json.loads(line)
        if not isinstance(answer, dict):
            raise ProcessEnded(
                "ended its process, or wrote something other than an answer to its pipe, and was stopped."
            )
        return answer
