"""A web process that lives long: run after run, it keeps no files, threads, dead processes or memory."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from playground.runs.folder.directory import RunDirectory
from playground.runs.start import launcher
from tests.faults.servers import Server
from tests.faults.test_restarts import queued
from tests.figures import Figure
from tests.support import small_config, wait_until

RUNS = 50
WARM_UP = 5
POOLED = (os.cpu_count() or 1) + 4  # threads of asyncio's pool, which come when more work at once is first to be done
MIB = 2**20


class Held(NamedTuple):
    """What a process holds."""

    files: int
    threads: int
    zombies: int
    resident_mib: float


def held(pid: int) -> Held:
    process = psutil.Process(pid)
    zombies = [child for child in process.children() if child.status() == psutil.STATUS_ZOMBIE]
    return Held(process.num_fds(), process.num_threads(), len(zombies), process.memory_info().rss / MIB)


@pytest.mark.slow
def test_fifty_runs_in_one_server_leave_nothing_behind(outputs: Path, figure: Figure) -> None:
    outputs.mkdir()
    server = Server(outputs, "tests.faults.witness")
    server.start()
    try:
        assert server.process is not None
        pid = server.process.pid

        def execute(first: int, count: int) -> None:
            runs = [queued(outputs, small_config(), f"run-{number:03d}") for number in range(first, first + count)]
            for run in runs:
                wait_until(lambda run=run: run.status().state == "finished", seconds=60)
                server.get(f"live/{run.id}/poll")  # as a page that looks at it does
            server.states()

        execute(0, WARM_UP)
        before = held(pid)
        execute(WARM_UP, RUNS)
        wait_until(lambda: held(pid).zombies == 0, seconds=10)
        after = held(pid)
    finally:
        server.kill()
    figure(
        "50 runs in one server: files +-5, threads within their pools, no zombies, at most 50 MB more", RUNS,
        RUNS * (abs(after.files - before.files) <= 5 and after.threads - before.threads <= POOLED
                and after.zombies == 0 and after.resident_mib - before.resident_mib <= 50),
        f"files {after.files - before.files:+d}, threads {after.threads - before.threads:+d}, "
        f"{after.resident_mib - before.resident_mib:+.0f} MB",
    )  # fmt: skip


def open_files() -> set[tuple[int, int, int]]:
    """The open files of this process: descriptor, device, inode."""
    found = set()
    for name in os.listdir("/dev/fd"):
        with contextlib.suppress(OSError):  # that of this very look
            seen = os.fstat(int(name))
            found.add((int(name), seen.st_dev, seen.st_ino))
    return found


def test_runs_that_are_started_here_leave_no_files_and_no_threads(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What tests before this one have left may go meanwhile, so what counts is what has come."""
    monkeypatch.setattr(launcher, "WORKER_MODULE", "tests.faults.witness")

    def execute(name: str) -> None:
        run = launcher.start(small_config(), outputs, name).run
        wait_until(lambda: not run.is_alive() and run.status().ended)

    execute("first")
    files, threads = open_files(), set(threading.enumerate())
    for number in range(8):
        execute(f"run-{number}")
    wait_until(lambda: open_files() <= files and set(threading.enumerate()) <= threads)
    assert len([RunDirectory(path) for path in outputs.glob("run-*")]) == 8 and os.getpid() > 1
