"""A class watches one real run: every viewer sees every update once, soon, and the run hardly notices."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from playground.config import yaml_io
from playground.runs import launcher
from playground.runs.folder.directory import RunDirectory
from tests.faults.servers import Server
from tests.figures import Figure
from tests.support import PROJECT, wait_until

pytestmark = pytest.mark.slow

VIEWERS, SECONDS = 100, 60
MOST_STALE_SECONDS, MOST_GROWTH_MB, MOST_SLOWDOWN = 2.0, 100, 1.10
WARM_UP_UPDATES, ROUNDS = 5, 3

# A run whose updates cost the same from the first to the last: it hardly learns, and rarely evaluates.
STILL = {
    "name": "watched",
    "model": {"source": "pocket-1m"},
    "rewards": [{"kind": "length"}],
    "ppo": {"num_updates": 5000, "learning_rate": 1e-12},
    "evaluation": {"every": 5000, "num_prompts": 4},
    "checkpoint": {"every": 0},
}


@pytest.fixture
def server(outputs: Path) -> Iterator[Server]:
    """The real web process."""
    outputs.mkdir()
    served = Server(outputs)
    served.start()
    yield served
    served.kill()


@pytest.fixture
def run(server: Server) -> Iterator[RunDirectory]:
    """A real run that goes on for as long as it is watched."""
    cores = os.environ.pop("OMP_NUM_THREADS", None)  # as on a machine of its own; the worker limits itself
    try:
        run, worker = launcher.start(yaml_io.from_dict(STILL), server.outputs)
    finally:
        if cores:
            os.environ["OMP_NUM_THREADS"] = cores
    wait_until(lambda: len(run.metrics()) > WARM_UP_UPDATES, 120)
    yield run
    run.request_stop()
    assert worker is not None
    worker.wait(60)


def test_a_hundred_viewers_each_see_every_update_once_and_the_run_hardly_slows_down(
    server: Server, run: RunDirectory, figure: Figure
) -> None:
    assert server.process is not None
    process = psutil.Process(server.process.pid)
    with crowd(server, run, viewers=1, seconds=1) as first:
        first.communicate(timeout=240)  # pages have been looked at before
    memory_before = process.memory_info().rss
    alone: list[float] = []
    watched: list[float] = []
    heard: list[dict[str, Any]] = []
    whole = 0
    for number in range(ROUNDS):  # in turns, so that what else the machine does falls on both
        alone += pace(run, SECONDS / ROUNDS / 2)
        with crowd(server, run, VIEWERS, SECONDS / ROUNDS + 3, seed=number) as viewers:
            wait_until(lambda: process.num_fds() > VIEWERS)
            watched += pace(run, SECONDS / ROUNDS - 2)
            done = len(run.metrics())
            found = json.loads(viewers.communicate(timeout=120)[0])
        whole += sum(not one["twice"] and not one["gaps"] and sees_all(one, done) for one in found)
        heard += found
        alone += pace(run, SECONDS / ROUNDS / 2)
    slowdown = statistics.median(watched) / statistics.median(alone)
    growth, stale = (process.memory_info().rss - memory_before) / 2**20, staleness(run, heard)
    returns = sum(one["returns"] for one in heard)
    assert returns >= VIEWERS * ROUNDS * 0.1
    measured = f"95 % heard within {stale:.1f} s; the server grew by {growth:.0f} MB; {returns} came back"
    figure("viewers who see every update once (100 at once, a fifth come and go)", len(heard), whole, measured)
    assert stale <= MOST_STALE_SECONDS and growth <= MOST_GROWTH_MB and slowdown <= MOST_SLOWDOWN
    measured = f"an update took {slowdown:.2f} of the time alone (medians of {len(watched)} and {len(alone)})"
    figure("a run with 100 watchers is at most 10 % slower than with none", 1, 1, measured)


@contextlib.contextmanager
def crowd(
    server: Server, run: RunDirectory, viewers: int, seconds: float, seed: int = 0
) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.faults.watchers", server.url, run.id, str(viewers), str(seconds), str(seed)]
    process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def pace(run: RunDirectory, seconds: float) -> list[float]:
    """Seconds of each update that was made in the next while."""
    before = len(run.metrics())
    time.sleep(seconds)  # a stretch of time to measure, not a wait for something
    return [item.seconds_rollout + item.seconds_score + item.seconds_update for item in run.metrics()[before + 1 :]]


def sees_all(heard: dict[str, Any], done: int) -> bool:
    """From what came first to the update that was surely done no update is missing."""
    updates = sorted(map(int, heard["updates"]))
    return bool(updates) and updates[-1] >= done and updates == list(range(updates[0], updates[-1] + 1))


def staleness(run: RunDirectory, heard: list[dict[str, Any]]) -> float:
    """95th percentile of the seconds from the end of an update to the moment at which a viewer heard of it.

    The end of each update: its `seconds` since the trainer was made, on the clock on which viewers heard of it. The
    offset of the two clocks is the smallest by which no viewer hears of an update before its end, so a constant delay
    of the fastest message is not seen; it is at most one tick of the feed.
    """
    ends = {item.update: item.seconds for item in run.metrics()}
    delays = [at - ends[int(update)] for one in heard for update, at in one["updates"].items() if at]
    offset = min(delays)
    return statistics.quantiles((delay - offset for delay in delays), n=20)[-1]
