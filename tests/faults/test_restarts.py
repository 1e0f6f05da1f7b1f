"""The web process is killed: its workers go on, the queue keeps its order, what died meanwhile gets its true end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from playground.config import RunConfig, yaml_io
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import TERMINAL
from playground.runs.folder.requests import Request
from playground.runs.start import launcher, queue
from tests.faults.servers import Server
from tests.faults.witness import LEDGER, SECONDS_VARIABLE
from tests.figures import Figure
from tests.support import small_config, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def serve(outputs: Path) -> Iterator[Callable[..., Server]]:
    """Starts web processes; those that are left are killed."""
    outputs.mkdir()
    servers: list[Server] = []

    def start(worker: str = "", **environment: str) -> Server:
        server = Server(outputs, worker, tuple(environment.items()))
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.kill()


def queued(outputs: Path, config: RunConfig, run_id: str) -> RunDirectory:
    """A run that waits for whoever looks first: the web process, which so becomes its worker's parent."""
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
    return (
        updates == list(range(1, len(updates) + 1))
        and updates[-1:] == [run.status().update]
        and events == list(range(len(events)))
        and len(begun) == 1
        and run.status().attempt == 1
    )


@pytest.mark.parametrize("downtime_seconds", [0, 5, 20])
def test_a_run_survives_the_death_of_its_server(
    serve: Callable[..., Server], outputs: Path, figure: Figure, downtime_seconds: int
) -> None:
    run = queued(outputs, small_config("tick"), "one")
    server = serve("tests.fake_worker")
    wait_until(lambda: run.status().state == "running" and run.status().update > 2, seconds=60)
    worker = run.status().pid
    assert psutil.Process(worker).ppid() == server.process.pid  # type: ignore[union-attr]
    server.kill()
    updates = run.status().update
    time.sleep(downtime_seconds)  # the downtime is what is tested
    server.start()
    listed = server.states()
    adopted = run.status()
    (run.path / "enough").touch()
    wait_until(lambda: server.states()["one"] in TERMINAL, seconds=60)
    told = (listed, server.states()) == ({"one": "running"}, {"one": "finished"})
    same = adopted.pid == run.status().pid == worker and adopted.update >= updates
    survived = told and same and is_whole(run)
    figure(f"server killed, back after {downtime_seconds} s: same worker, nothing lost", 1, survived)


def test_a_real_run_survives_the_death_of_the_real_server(
    serve: Callable[..., Server], outputs: Path, figure: Figure
) -> None:
    config = yaml_io.from_dict(
        {
            "name": "real", "model": {"source": "pocket-1m"}, "rewards": [{"kind": "length"}],
            "ppo": {"num_updates": 40, "batch_size": 8, "minibatch_size": 8, "micro_batch_size": 8, "num_epochs": 1},
            "sampling": {"max_new_tokens": 8}, "evaluation": {"num_prompts": 2, "samples_per_prompt": 1},
        }
    )  # fmt: skip
    run = queued(outputs, config, "real")
    server = serve()
    wait_until(lambda: run.status().update > 1, seconds=180)
    worker = run.status().pid
    server.kill()
    server.start()
    wait_until(lambda: server.states()["real"] in TERMINAL, seconds=180)
    survived = (
        server.states() == {"real": "finished"}
        and run.status().pid == worker
        and len(run.metrics()) == 40
        and is_whole(run)
    )
    figure("server killed during a real run: same worker, every update once", 1, survived)


def test_what_died_while_nobody_looked_gets_its_end_and_the_next_one_its_turn(
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
    told = [event.data.get("state") for event in first.events() if event.kind == "state"]
    survived = (on_disk.state, on_disk.reason, told) == ("interrupted", "killed", ["running", "interrupted"])
    figure("worker and server killed: the run has its true end, the next its turn", 1, survived)


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
    good = [told for told, name in zip(executed(), names, strict=True) if told == f"{name} alone"]
    figure("10 queued runs, server killed in the middle: each executed once, in order", 10, len(good))
