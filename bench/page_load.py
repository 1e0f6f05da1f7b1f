"""What a load of the page takes, cold and warm, on a fast and a slow computer: `make bench-load`.

One real web process plays its recorded run; Chromium tells, over the DevTools protocol, which bytes came and how long
the processor worked for the main thread. Writes bench/results/load.json and docs/performance.md. Needs playwright;
CHROMIUM names the browser. On a busy machine the times say little: the load is told beside them.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, CDPSession, sync_playwright

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from bench import load_section  # noqa: E402
from bench.machine import processor_name  # noqa: E402
from bench.screenshots import CHROMIUM, FLAGS  # noqa: E402
from bench.viewers import free_port  # noqa: E402

SLOWER, LATENCY_MS, MBIT = 4, 60, 10
USABLE = "document.querySelector('#needs .needs-short')?.textContent"
KINDS = {  # beginning of an address -> what it is
    "playground/static/": "our scripts and style sheet",
    "assets/": "Gradio's scripts and style sheets",
    "static/fonts/": "fonts",
    "live/": "what is shown of runs",
}
REST = "the page itself and what the form asks"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=25.0, help="of each load")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=load_section.RESULTS)
    parser.add_argument("--page", type=Path, default=PROJECT / "docs" / "performance.md")
    arguments = parser.parse_args()
    with served() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for _ in range(3):  # the server compresses well what is asked for again
            measure_both(browser, url, 3.0, slow=False)
        found: dict[str, list[dict[str, Any]]] = {}
        for _ in range(arguments.rounds):
            for slow in (False, True):
                for case, one in zip(
                    ("cold", "warm"), measure_both(browser, url, arguments.seconds, slow), strict=True
                ):
                    found.setdefault(f"slow {case}" if slow else case, []).append(one)
        version = browser.version
        browser.close()
    report = {
        "machine": {**facts(), "browser": version.split(".")[0]},
        "how": {
            **{"seconds": arguments.seconds, "rounds": arguments.rounds},
            **{"slower": SLOWER, "latency_ms": LATENCY_MS, "mbit": MBIT},
        },
        "cases": {case: median(ones) for case, ones in found.items()},
    }
    arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if arguments.json == load_section.RESULTS:
        load_section.put_into(arguments.page)
    print(load_section.section(report))


def facts() -> dict[str, Any]:
    """Where and when."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=PROJECT, capture_output=True, text=True)
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit.stdout.strip(),
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[1],
    }


@contextlib.contextmanager
def served() -> Iterator[str]:
    """A web process without runs of its own; gives its address."""
    with tempfile.TemporaryDirectory() as outputs:
        port = free_port()
        command = [sys.executable, "app.py", "--port", str(port), "--outputs", outputs]
        environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
        server = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.DEVNULL, env=environment)
        try:
            for _ in range(900):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/live/_home", timeout=30).close()
                    break
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()
            server.wait()


def measure_both(browser: Browser, url: str, seconds: float, slow: bool) -> list[dict[str, Any]]:
    """The first load of a new profile, and the second."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    found = [load(context, url, seconds, slow) for _ in range(2)]
    context.close()
    return found


def load(context: BrowserContext, url: str, seconds: float, slow: bool) -> dict[str, Any]:
    """One load in a new tab."""
    page = context.new_page()
    session = context.new_cdp_session(page)
    came = listen(session)
    if slow:
        slow_down(session)
    started = time.perf_counter()
    page.goto(f"{url}?tab=train", wait_until="commit")  # a newcomer begins with the lessons
    page.wait_for_function(USABLE, polling=50, timeout=120_000)
    usable = time.perf_counter() - started
    page.wait_for_timeout(max(0.0, seconds - usable) * 1000)
    wall = time.perf_counter() - started
    counted = {item["name"]: item["value"] for item in session.send("Performance.getMetrics")["metrics"]}
    page.close()
    kinds: Counter[str] = Counter()
    for address, count in came.values():
        path = address.removeprefix(url)
        kinds[next((kind for start, kind in KINDS.items() if path.startswith(start)), REST)] += count
    return {
        "bytes": sum(kinds.values()),
        "requests": sum(address.startswith(url) for address, _ in came.values()),
        "usable_seconds": usable,
        "busy": counted["TaskDuration"] / wall,
        "kinds": dict(kinds),
    }


def listen(session: CDPSession) -> dict[str, tuple[str, int]]:
    """Request -> address and bytes that came, headers included; grows as they come. Those of a cache cost none."""
    came: dict[str, tuple[str, int]] = {}
    session.on(
        "Network.requestWillBeSent", lambda told: came.__setitem__(told["requestId"], (told["request"]["url"], 0))
    )

    def ended(told: dict[str, Any]) -> None:
        if told["requestId"] in came:
            came[told["requestId"]] = came[told["requestId"]][0], int(told["encodedDataLength"])

    session.on("Network.loadingFinished", ended)
    session.send("Network.enable")
    session.send("Performance.enable", {"timeDomain": "threadTicks"})  # of the processor, not of the clock
    return came


def slow_down(session: CDPSession) -> None:
    """A slow computer far away."""
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    speed = MBIT * 1e6 / 8  # bytes a second
    network = {"offline": False, "latency": LATENCY_MS, "downloadThroughput": speed, "uploadThroughput": speed}
    session.send("Network.emulateNetworkConditions", network)


def median(ones: list[dict[str, Any]]) -> dict[str, Any]:
    """Of each figure."""
    kinds = {kind: statistics.median(one["kinds"].get(kind, 0) for one in ones) for kind in ones[0]["kinds"]}
    figures = {name: statistics.median(one[name] for one in ones) for name in ones[0] if name != "kinds"}
    return {**figures, "kinds": kinds}


if __name__ == "__main__":
    main()
