"""The web process is killed: its workers go on, the queue keeps its order, what died meanwhile gets its true end; run
after run it keeps no files, threads, dead processes or memory."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from playground.config import RunConfig
from playground.runs import launcher, queue
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import TERMINAL
from playground.runs.folder.requests import Request
from tests.faults.servers import Server
from tests.faults.witness import LEDGER, SECONDS_VARIABLE
from tests.faults.workers import TINY
from tests.figures import Figure
from tests.support import small_config, wait_until

RUNS, WARM_UP = 50, 5
POOLED = (os.cpu_count() or 1) + 4  # threads of asyncio's pool, which come when more work at once is first to be done


@pytest.fixture
def serve(outputs: Path) -> Iterator[Callable[..., Server]]:
    """Starts web processes; those that are left are killed."""
    outputs.mkdir()
    servers: list[Server] = []

    def start(worker: str = "", **environment: str) -> Server:
        servers.append(Server(outputs, worker, tuple(environment.items())))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


def queued(outputs: Path, config: RunConfig, run_id: str) -> RunDirectory:
    """A run that waits for the next look at the queue: by the web process, which so becomes its worker's parent."""
    with launcher.one_at_a_time(outputs):  # as the launcher does: an entry of what is no run yet is cleared away
        run = RunDirectory.reserve(outputs, config, run_id)
        requests.record(run, Request(), "cpu")
        queue.enter(run, "cpu", attempt=1)
        run.publish(config)
    return run


def is_whole(run: RunDirectory) -> bool:
    """Every update once, every event once, one attempt."""
    updates, events = [item.update for item in run.metrics()], [event.seq for event in run.events()]
    begun = [event for event in run.events() if event.data.get("state") == "running"]
    whole = updates == list(range(1, len(updates) + 1)) and updates[-1:] == [run.status().update]
    return whole and events == list(range(len(events))) and len(begun) == run.status().attempt == 1


REAL = small_config("real", **{**TINY, "evaluation": {"num_prompts": 2, "every": 40}})
WORKERS = {"by script": ("tests.fake_worker", small_config("tick")), "that is real": ("", REAL)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WORKERS)
def test_a_run_survives_the_death_of_its_server(
    serve: Callable[..., Server], outputs: Path, figure: Figure, kind: str
) -> None:
    module, config = WORKERS[kind]
    run = queued(outputs, config, "one")
    server = serve(module)
    wait_until(lambda: run.status().state == "running" and run.status().update > 2, seconds=180)
    worker = run.status().pid
    assert psutil.Process(worker).ppid() == server.process.pid
    server.kill()
    updates = run.status().update
    wait_until(lambda: run.status().ended or run.status().update > updates + 2, 60)  # it goes on without its server
    server.start()
    listed, adopted = server.states()["one"], run.status()
    (run.path / "enough").touch()  # for the one by script
    wait_until(lambda: server.states()["one"] in TERMINAL, seconds=180)
    same = adopted.pid == run.status().pid == worker and server.states() == {"one": "finished"}
    survived = same and listed in ("running", "finished") and is_whole(run)
    figure(f"server killed, worker {kind}: same worker, every update once", 1, survived)


@pytest.mark.slow
def test_what_died_while_nothing_looked_gets_its_end_and_the_next_one_its_turn(
    serve: Callable[..., Server], outputs: Path, figure: Figure
) -> None:
    first, second = queued(outputs, small_config("tick"), "first"), queued(outputs, small_config("finish"), "second")
    server = serve("tests.fake_worker")
    wait_until(lambda: first.status().update > 2, seconds=60)
    assert second.status().state == "queued" and queue.position(second) == 1
    server.kill()
    os.kill(first.status().pid, signal.SIGKILL)
    wait_until(lambda: not first.is_alive())
    server.start()
    wait_until(lambda: second.status().state == "finished", seconds=60)
    on_disk = first.status_on_disk()
    states = [event.data.get("state") for event in first.events() if event.kind == "state"]
    survived = (on_disk.state, on_disk.reason, states) == ("interrupted", "killed", ["running", "interrupted"])
    figure("worker and server killed: the run has its true end, the next its turn", 1, survived)


@pytest.mark.slow
def test_ten_queued_runs_are_each_executed_once_in_order_across_a_restart(
    serve: Callable[..., Server], outputs: Path, figure: Figure
) -> None:
    names = [f"run-{number:02d}" for number in (3, 9, 1, 7, 5, 10, 2, 8, 6, 4)]
    runs = [queued(outputs, small_config(), name) for name in names]
    server = serve("tests.faults.witness", **{SECONDS_VARIABLE: "0.5"})

    def executed() -> list[str]:
        path = outputs / LEDGER
        return path.read_text().splitlines() if path.exists() else []

    wait_until(lambda: len(executed()) == 5, seconds=60)
    server.kill()  # a worker is at work
    server.start()
    wait_until(lambda: all(run.status().state == "finished" for run in runs), seconds=60)
    good = [line for line, name in zip(executed(), names, strict=True) if line == f"{name} alone"]
    figure("10 queued runs, server killed in the middle: each executed once, in order", 10, len(good))


class Held(NamedTuple):
    """What a process holds."""

    files: int
    threads: int
    zombies: int
    resident_mib: float


def held(pid: int) -> Held:
    process = psutil.Process(pid)
    zombies = [child for child in process.children() if child.status() == psutil.STATUS_ZOMBIE]
    return Held(process.num_fds(), process.num_threads(), len(zombies), process.memory_info().rss / 2**20)


@pytest.mark.slow
def test_fifty_runs_in_one_server_leave_nothing_behind(
    serve: Callable[..., Server], outputs: Path, figure: Figure
) -> None:
    server = serve("tests.faults.witness")
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
    grown = [after - begun for after, begun in zip(held(pid), before, strict=True)]
    few = abs(grown[0]) <= 5 and grown[1] <= POOLED and grown[3] <= 50
    what = "50 runs in one server: files +-5, threads within their pools, no zombies, at most 50 MB more"
    figure(what, RUNS, RUNS * few, f"files {grown[0]:+d}, threads {grown[1]:+d}, {grown[3]:+.0f} MB")


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
    for number in range(5):
        execute(f"run-{number}")
    wait_until(lambda: open_files() <= files and set(threading.enumerate()) <= threads)
