"""Status files that name processes which are not their workers: the runs get their end, and nobody gets a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import psutil
import pytest

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.supervisor import Supervisor
from tests.figures import Figure
from tests.support import small_config


@pytest.fixture
def innocent() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with any run."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def no_signals(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every way to signal a process raises, and is noted."""
    sent: list[str] = []

    def refuse(name: str) -> Callable[..., NoReturn]:
        def raise_(*arguments: object) -> NoReturn:
            sent.append(f"{name}{arguments}")
            raise AssertionError(f"{name} was called with {arguments}")

        return raise_

    for module, name in [(os, "kill"), (os, "killpg"), (signal, "pidfd_send_signal")]:
        monkeypatch.setattr(module, name, refuse(name), raising=False)
    for name in ("send_signal", "terminate", "kill", "suspend"):
        monkeypatch.setattr(psutil.Process, name, refuse(name))
    return sent


def test_stale_status_files_are_ended_and_nobody_is_signalled(
    outputs: Path, innocent: subprocess.Popen[bytes], no_signals: list[str], figure: Figure
) -> None:
    begun = psutil.Process(innocent.pid).create_time()
    named = {
        "pid-0": (0, 0.0), "pid-1": (1, psutil.Process(1).create_time()), "pid-minus-1": (-1, 0.0),
        "our-own": (os.getpid(), psutil.Process().create_time()), "innocent": (innocent.pid, begun),
        "reused": (innocent.pid, begun - 1000.0), "huge": (2**40, 0.0),
    }  # fmt: skip
    runs = []
    for name, (pid, started_at) in named.items():
        run = RunDirectory.create(outputs, small_config(), name)
        changes = {"state": "running", "pid": pid, "pid_started_at": started_at, "updated_at": time.time()}
        write_atomically(run.status_path, run.status_on_disk().model_copy(update=changes).model_dump_json())
        runs.append(run)
    seen = [run.status().state for run in runs]
    Supervisor(outputs).look()
    on_disk = [(run.status_on_disk().state, run.status_on_disk().reason) for run in runs]
    assert no_signals == [] and innocent.poll() is None
    good = sum(
        told == "interrupted" and disk == ("interrupted", "killed") for told, disk in zip(seen, on_disk, strict=True)
    )
    figure("stale status files (pid 0, 1, -1, our own, innocent, reused, huge): ended, no signal", len(named), good)
