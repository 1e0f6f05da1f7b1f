"""What a load of the page takes, cold and warm, on a fast and a slow computer: `make bench-load`.

One real web process plays its recorded run; Chromium tells, over the DevTools protocol, which bytes came and how long
the processor worked for the main thread. Writes bench/results/load.json and docs/performance.md. Needs playwright;
CHROMIUM names the browser. On a busy machine the times say little: the load is told beside them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Browser, BrowserContext, CDPSession, sync_playwright

from bench import performance
from bench.experiments import PROJECT, Row, machine_facts

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
SLOWER, LATENCY_MS, MBIT = 4, 60, 10
WARM_UP_SECONDS, PATIENCE_SECONDS = 3.0, 180.0
USABLE = "document.querySelector('#needs .needs-short')?.textContent"
KINDS = {  # beginning of an address -> what it is
    "playground/static/": "our scripts and style sheet",
    "assets/": "Gradio's scripts and style sheets",
    "static/fonts/": "fonts",
    "live/": "what is shown of runs",
    "": "the page itself and what the form asks",
}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=25.0, help="of each load")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    loads: dict[str, list[Row]] = {}
    with served() as url, browser() as chromium:
        for _ in range(3):  # the server compresses well what is asked for again
            twice(chromium, url, WARM_UP_SECONDS, slow=False)
        for _ in range(arguments.rounds):
            for slow in (False, True):
                cold, warm = twice(chromium, url, arguments.seconds, slow)
                computer = "slow " if slow else ""
                loads.setdefault(f"{computer}cold", []).append(cold)
                loads.setdefault(f"{computer}warm", []).append(warm)
        version = chromium.version.partition(".")[0]
    how = {"seconds": arguments.seconds, "rounds": arguments.rounds}
    report = {
        "machine": {**machine_facts(packages=()), "browser": version},
        "how": {**how, "slower": SLOWER, "latency_ms": LATENCY_MS, "mbit": MBIT},
        "cases": {case: median(rows) for case, rows in loads.items()},
    }
    performance.keep("load", report)


@contextlib.contextmanager
def served() -> Iterator[str]:
    """A web process without runs of its own; gives its address."""
    with tempfile.TemporaryDirectory() as outputs:
        port = free_port()
        url = f"http://127.0.0.1:{port}/"
        command = [sys.executable, "app.py", "--port", str(port), "--outputs", outputs]
        environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
        server = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.DEVNULL, env=environment)
        try:
            wait_for(url)
            yield url
        finally:
            server.terminate()
            server.wait()


def wait_for(url: str) -> None:
    """Until a web process answers. Raises: SystemExit, if it does not."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{url}live/_home", timeout=30).close()
            return
        time.sleep(0.2)
    raise SystemExit("The web process did not start.")


def free_port() -> int:
    """Of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Chromium."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


def twice(chromium: Browser, url: str, seconds: float, slow: bool) -> list[Row]:
    """The first load of a new profile, and the second."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    loads = [load(context, url, seconds, slow) for _ in range(2)]
    context.close()
    return loads


def load(context: BrowserContext, url: str, seconds: float, slow: bool) -> Row:
    """One load in a new tab."""
    page = context.new_page()
    session = context.new_cdp_session(page)
    transfers = listen(session)
    if slow:
        slow_down(session)
    begin = time.perf_counter()
    page.goto(f"{url}?tab=train", wait_until="commit")  # a newcomer begins with the lessons
    page.wait_for_function(USABLE, polling=50, timeout=120_000)
    usable = time.perf_counter() - begin
    page.wait_for_timeout(max(0.0, seconds - usable) * 1000)
    wall = time.perf_counter() - begin
    counters = {item["name"]: item["value"] for item in session.send("Performance.getMetrics")["metrics"]}
    page.close()
    kinds: Counter[str] = Counter()
    for address, count in transfers.values():
        path = address.removeprefix(url)
        kinds[next(kind for start, kind in KINDS.items() if path.startswith(start))] += count
    return {
        "bytes": sum(kinds.values()),
        "requests": sum(address.startswith(url) for address, _ in transfers.values()),
        "usable_seconds": usable,
        "busy": counters["TaskDuration"] / wall,
        "kinds": dict(kinds),
    }


def listen(session: CDPSession) -> dict[str, tuple[str, int]]:
    """Request -> address and bytes that came, headers included; grows as they come. Those of a cache cost none."""
    transfers: dict[str, tuple[str, int]] = {}

    def begun(event: dict[str, Any]) -> None:
        transfers[event["requestId"]] = event["request"]["url"], 0

    def ended(event: dict[str, Any]) -> None:
        if event["requestId"] in transfers:
            address, _ = transfers[event["requestId"]]
            transfers[event["requestId"]] = address, int(event["encodedDataLength"])

    session.on("Network.requestWillBeSent", begun)
    session.on("Network.loadingFinished", ended)
    session.send("Network.enable")
    session.send("Performance.enable", {"timeDomain": "threadTicks"})  # of the processor, not of the clock
    return transfers


def slow_down(session: CDPSession) -> None:
    """A slow computer far away."""
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    speed = MBIT * 1e6 / 8  # bytes a second
    network = {"offline": False, "latency": LATENCY_MS, "downloadThroughput": speed, "uploadThroughput": speed}
    session.send("Network.emulateNetworkConditions", network)


def median(loads: list[Row]) -> Row:
    """Of each figure."""
    kinds = {kind: statistics.median(load["kinds"].get(kind, 0) for load in loads) for kind in loads[0]["kinds"]}
    figures = {name: statistics.median(load[name] for load in loads) for name in loads[0] if name != "kinds"}
    return {**figures, "kinds": kinds}


if __name__ == "__main__":
    main()
