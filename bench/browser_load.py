"""How busy the charts keep a browser's main thread, and how long a page takes to load:
`python bench/browser_load.py [--seconds 15] [--open]`.

One page of a real web process shows a run with 2,000 points that gets one more each second, all charts in view; with
`--open` all that can be unfolded is. A load is one by a browser that has nothing of the page. Chromium itself says how
long its main thread worked (Performance.getMetrics). Needs playwright; CHROMIUM names the browser.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from typing import Any

from playwright.sync_api import Browser, CDPSession, sync_playwright
from screenshots import CHROMIUM, FLAGS
from viewers import watched_run

from playground.ui import own_files

SETTLE_MS = 4000
LOADS = 7
DRAWN = '[data-chart="fit"] canvas'
STORE = own_files.address("core/store.js")


def main() -> None:
    """Measure and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two updates of the run")
    parser.add_argument("--open", action="store_true", help="unfold every part of the run's page")
    arguments = parser.parse_args()
    with watched_run(arguments.every) as (url, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        wait_for(page, url)
        page.wait_for_selector(DRAWN, state="attached")
        loads = [load_seconds(browser, url) for _ in range(LOADS)]
        if arguments.open:
            page.evaluate("document.querySelectorAll('.run-view details').forEach((part) => { part.open = true; })")
        page.wait_for_timeout(SETTLE_MS)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        before, started = metrics(session), time.perf_counter()
        page.wait_for_timeout(arguments.seconds * 1000)
        after, wall = metrics(session), time.perf_counter() - started
        points = page.evaluate(f"import('/{STORE}').then((m) => m.live.metrics.update.length)")
        browser.close()
    busy = {name: round(100 * (after[name] - before[name]) / wall, 1) for name in ("TaskDuration", "ScriptDuration")}
    print(
        json.dumps(
            {
                "main_thread_busy_percent": busy["TaskDuration"],
                "of_which_script_percent": busy["ScriptDuration"],
                "points": points,
                "load_seconds": round(statistics.median(loads), 2),
                "heap_mb": round(after["JSHeapUsedSize"] / 2**20, 1),
                "cores": os.cpu_count(),
            }
        )
    )


def load_seconds(browser: Browser, url: str) -> float:
    """From asking for the page to its first charts, in a profile of its own."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page, started = context.new_page(), time.perf_counter()
    page.goto(f"{url}?tab=train")  # a newcomer begins with the lessons
    page.wait_for_selector(DRAWN, state="attached")
    seconds = time.perf_counter() - started
    context.close()
    return seconds


def wait_for(page: Any, url: str) -> None:
    """Open the page, as soon as it is served."""
    for _ in range(300):
        try:
            page.goto(f"{url}?tab=train")
            return
        except Exception:
            time.sleep(0.2)
    raise SystemExit("The web process did not start.")


def metrics(session: CDPSession) -> dict[str, float]:
    """Chromium's own counters, seconds and bytes."""
    return {item["name"]: item["value"] for item in session.send("Performance.getMetrics")["metrics"]}


if __name__ == "__main__":
    main()
