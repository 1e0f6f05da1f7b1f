"""A class watches one real run: everybody sees every update once, soon, and the run hardly notices."""

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

import psutil
import pytest

from playground.config import yaml_io
from playground.runs.folder.directory import RunDirectory
from playground.runs.start import launcher
from tests.figures import Figure
from tests.support import PROJECT, wait_until
from tests.ui.conftest import Site, free_port

pytestmark = pytest.mark.slow

VIEWERS, SECONDS = 100, 60
MOST_STALE_SECONDS, MOST_GROWTH_MB, MOST_SLOWDOWN = 2.0, 100, 1.10
WARM_UP_UPDATES, ROUNDS = 5, 3

STILL = {  # a run whose updates cost the same from the first to the last: it hardly learns, and looks up rarely
    "name": "watched", "model": {"source": "pocket-1m"}, "rewards": [{"kind": "length"}],
    "ppo": {"num_updates": 5000, "learning_rate": 1e-12}, "evaluation": {"every": 5000, "num_prompts": 4},
    "checkpoint": {"every": 0},
}  # fmt: skip


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """The real web process."""
    served = Site(tmp_path / "outputs", tmp_path / "recorded", port=free_port())
    served.process = subprocess.Popen(
        [sys.executable, "app.py", "--port", str(served.port), "--outputs", str(served.outputs)],
        cwd=PROJECT, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    wait_until(lambda: answers(served.port), 90)
    yield served
    served.stop()


@pytest.fixture
def run(site: Site) -> Iterator[RunDirectory]:
    """A real run that goes on for as long as it is watched."""
    cores = os.environ.pop("OMP_NUM_THREADS", None)  # as on a machine of its own; the worker limits itself
    try:
        run, worker = launcher.start(yaml_io.from_dict(STILL), site.outputs)
    finally:
        if cores:
            os.environ["OMP_NUM_THREADS"] = cores
    wait_until(lambda: len(run.metrics()) > WARM_UP_UPDATES, 120)
    yield run
    run.request_stop()
    assert worker is not None
    worker.wait(60)


def test_a_hundred_viewers_each_see_every_update_once_and_the_run_hardly_slows_down(
    site: Site, run: RunDirectory, figure: Figure
) -> None:
    assert site.process is not None
    server = psutil.Process(site.process.pid)
    with crowd(site, run, viewers=1, seconds=1) as first:
        first.communicate(timeout=240)  # pages have been looked at before
    memory_before = server.memory_info().rss
    alone, watched, told = [], [], []
    for number in range(ROUNDS):  # in turns, so that what else the machine does falls on both
        alone += pace(run, SECONDS / ROUNDS / 2)
        with crowd(site, run, VIEWERS, SECONDS / ROUNDS + 3, seed=number) as viewers:
            wait_until(lambda: server.num_fds() > VIEWERS)
            watched += pace(run, SECONDS / ROUNDS - 2)
            done = len(run.metrics())
            told += [(one, done) for one in json.loads(viewers.communicate(timeout=120)[0])]
        alone += pace(run, SECONDS / ROUNDS / 2)
    slowdown = statistics.median(watched) / statistics.median(alone)
    growth = (server.memory_info().rss - memory_before) / 2**20
    viewers_told = [one for one, _ in told]
    stale = staleness(run, viewers_told)
    returns = sum(one["returns"] for one in viewers_told)
    assert returns >= VIEWERS * ROUNDS * 0.1
    whole = [one for one, done in told if not one["twice"] and not one["gaps"] and sees_all(one, done)]
    figure("viewers who see every update once (100 at once, a fifth come and go)", len(told), len(whole),
           f"95 % told within {stale:.1f} s; the server grew by {growth:.0f} MB; {returns} came back")  # fmt: skip
    assert stale <= MOST_STALE_SECONDS
    assert growth <= MOST_GROWTH_MB
    assert slowdown <= MOST_SLOWDOWN
    figure("a run with 100 watchers is at most 10 % slower than with none", 1, 1,
           f"an update took {slowdown:.2f} of the time alone (medians of {len(watched)} and {len(alone)})")  # fmt: skip


@contextlib.contextmanager
def crowd(
    site: Site, run: RunDirectory, viewers: int, seconds: float, seed: int = 0
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.watchers", f"http://127.0.0.1:{site.port}", run.id,
         "--viewers", str(viewers), "--seconds", str(seconds), "--seed", str(seed)],
        cwd=PROJECT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
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


def sees_all(told: dict, done: int) -> bool:
    """Whatever came first, from there to the update that was surely done no update is missing."""
    updates = sorted(map(int, told["updates"]))
    return bool(updates) and updates[-1] >= done and updates == list(range(updates[0], updates[-1] + 1))


def staleness(run: RunDirectory, told: list[dict]) -> float:
    """95th percentile of the seconds from the end of an update to the moment at which a viewer was told of it.

    The end of each update: its `seconds` since the trainer was made, on the clock on which viewers heard of it. The
    offset of the two clocks is the smallest that leaves nobody hearing of an update before its end, so a constant delay
    of the fastest message is not seen; it is at most one tick of the feed.
    """
    ends = {item.update: item.seconds for item in run.metrics()}
    delays = [at - ends[int(update)] for one in told for update, at in one["updates"].items() if at]
    offset = min(delays)
    return statistics.quantiles((delay - offset for delay in delays), n=20)[-1]


def answers(port: int) -> bool:
    import httpx

    try:
        return httpx.get(f"http://127.0.0.1:{port}/live/_home", timeout=5).status_code == 200
    except httpx.TransportError:
        return False
