"""Makers of runs that are killed: `python -m tests.killed_maker`, and lines of JSON on its stdin, [step, name, ...].

For each line a child does what the name says (see `MAKERS`), and is killed before its `step`-th change of anything in
the outputs folder, or before the process that it would start. The answer is "killed", or "done" where it made fewer.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.requests import Request
from playground.runs.start import fork, launcher
from tests.support import PROJECT, small_config

CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "subprocess.Popen"}
CLICK = Request("click", visitor="somebody")


class KilledMakers:
    """The process that makes and dies, as often as one likes."""

    def __enter__(self) -> KilledMakers:
        command, pipe = [sys.executable, "-m", "tests.killed_maker"], subprocess.PIPE
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=PROJECT, text=True, env=environment)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def killed(self, step: int, name: str, *arguments: Any) -> bool:
        """Have something made; True if its maker was killed before it was done."""
        assert self._process.stdin and self._process.stdout
        print(json.dumps([step, name, *map(str, arguments)]), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline().strip()
        assert answer in ("killed", "done"), f"{name}, step {step}: {answer}"
        return answer == "killed"


def idle(run: RunDirectory, lock: IO[bytes]) -> subprocess.Popen[bytes]:
    """A worker that holds the lock and says nothing, for a minute at most."""
    process = subprocess.Popen(["sleep", "60"], pass_fds=(lock.fileno(),), start_new_session=True)
    launcher.name_worker(run, process.pid)
    return process


def start(outputs: str, run_id: str) -> None:
    """Start a run, under an id or, without one, under a name that is made up."""
    launcher.start(small_config(), Path(outputs), run_id or None, idle, CLICK)


def fork_(outputs: str, run_id: str) -> None:
    fork.fork(RunDirectory(Path(outputs) / "parent"), 2, [], run_id or None, idle, CLICK)


MAKERS: dict[str, Callable[[str, str], None]] = {"start": start, "fork": fork_}


def die_before(step: int, folder: str) -> None:
    """Kill this process before its `step`-th change of what is in a folder."""
    left = step

    def seen(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event == "open":
            changes = isinstance(arguments[2], int) and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        else:
            changes = event in CHANGES
        place = str(arguments[0]) if changes and event != "subprocess.Popen" else folder
        if changes and place.startswith(folder):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)

    sys.addaudithook(seen)


def main() -> None:
    for line in sys.stdin:
        step, name, outputs, run_id = json.loads(line)
        pid = os.fork()
        if not pid:
            code = 1
            try:
                die_before(step, outputs)
                MAKERS[name](outputs, run_id)
                code = 0
            finally:
                os._exit(code)
        answer = {-signal.SIGKILL: "killed", 0: "done"}
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(answer.get(code, f"exit code {code}"), flush=True)


if __name__ == "__main__":
    main()
