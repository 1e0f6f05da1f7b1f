"""What many simultaneous viewers of one run cost the web process: `python bench/viewers.py [--viewers 30]`.

Starts a real web process, writes a run at one update a second, opens N live streams plus each page's own slow poll, and
reports the CPU time of the process as a share of one core, beside what it costs with nobody watching. No browser.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from playground.runs import launcher  # noqa: E402
from playground.runs.folder.directory import RunDirectory  # noqa: E402
from playground.runs.folder.writer import RunWriter  # noqa: E402
from playground.setup import catalog  # noqa: E402
from tests.ui import fake_run  # noqa: E402

HOME_EVERY_SECONDS = 8.0


def main() -> None:
    """Measure and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--viewers", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two updates of the run")
    arguments = parser.parse_args()
    with watched_run(arguments.every) as (url, process):
        print(json.dumps(asyncio.run(measure(url, process, arguments))))


@contextlib.contextmanager
def watched_run(every: float) -> Iterator[tuple[str, psutil.Process]]:
    """A web process and a run of 2,000 updates that goes on; gives the address and the process."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = Path(folder)
        run = RunDirectory.create(outputs, catalog.preset(catalog.DEFAULT_PRESET), "watched")
        lock = launcher.take_lock(run)
        stop = threading.Event()
        writer = threading.Thread(target=write, args=(run, every, stop), daemon=True)
        writer.start()
        port = free_port()
        server = subprocess.Popen(
            [sys.executable, "app.py", "--port", str(port), "--outputs", str(outputs)],
            cwd=PROJECT,
            stdout=subprocess.DEVNULL,
        )
        try:
            yield f"http://127.0.0.1:{port}", psutil.Process(server.pid)
        finally:
            stop.set()
            server.terminate()
            server.wait()
            writer.join()
            if lock:
                lock.close()


def write(run: RunDirectory, every: float, stop: threading.Event) -> None:
    """The run that is watched: a point every so often, an evaluation every five."""
    config = catalog.preset(catalog.DEFAULT_PRESET)
    config = config.model_copy(update={"ppo": config.ppo.model_copy(update={"num_updates": 5000})})
    writer = RunWriter(run, 5000)
    writer.set_status(state="running", phase="writing and learning")
    writer.samples(fake_run.samples_of(config, 0))
    for update in range(1, 2001):  # a long history to begin with
        writer.metrics(fake_run.metrics(update, config, float(update)))
    update = 2000
    while not stop.wait(every):
        update += 1
        writer.metrics(fake_run.metrics(update, config, float(update)))
        writer.set_status(update=update)
        if update % 5 == 0:
            writer.samples(fake_run.samples_of(config, update))


async def measure(url: str, process: psutil.Process, arguments: argparse.Namespace) -> dict[str, object]:
    """CPU share with nobody and with everybody watching."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=None, limits=limits) as client:
        await wait_for(client)
        idle = await share(process, arguments.seconds / 2)
        joined = time.perf_counter()
        counts = [0] * arguments.viewers
        ready = asyncio.Semaphore(0)
        tasks = [asyncio.create_task(view(client, counts, number, ready)) for number in range(arguments.viewers)]
        for _ in tasks:
            await ready.acquire()
        joined = time.perf_counter() - joined
        watched = await share(process, arguments.seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return {
        "viewers": arguments.viewers,
        "cpu_percent_idle": round(idle, 1),
        "cpu_percent_watched": round(watched, 1),
        "cpu_percent_of_viewers": round(watched - idle, 1),
        "seconds_until_all_had_their_snapshot": round(joined, 2),
        "messages_each": round(sum(counts) / len(counts), 1),
        "memory_mb": round(process.memory_info().rss / 2**20),
        "cores": os.cpu_count(),
    }


async def view(client: httpx.AsyncClient, counts: list[int], number: int, ready: asyncio.Semaphore) -> None:
    """One open page: its live stream, and its poll of the machine facts."""
    poller = asyncio.create_task(poll_home(client))
    try:
        async with client.stream("GET", "/live/watched") as response:
            async for line in response.aiter_lines():
                if line.startswith("data:"):
                    counts[number] += 1
                    if counts[number] == 1:
                        ready.release()
    finally:
        poller.cancel()


async def poll_home(client: httpx.AsyncClient) -> None:
    while True:
        await client.get("/live/_home")
        await asyncio.sleep(HOME_EVERY_SECONDS)


async def share(process: psutil.Process, seconds: float) -> float:
    """CPU time over wall time, in percent of one core."""
    before, started = sum(process.cpu_times()[:2]), time.perf_counter()
    await asyncio.sleep(seconds)
    return 100 * (sum(process.cpu_times()[:2]) - before) / (time.perf_counter() - started)


async def wait_for(client: httpx.AsyncClient) -> None:
    for _ in range(900):
        try:
            await client.get("/live/_home")
            return
        except httpx.TransportError:
            await asyncio.sleep(0.1)
    raise SystemExit("The web process did not start.")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
