"""How busy the charts keep a browser's main thread: `python bench/browser_load.py [--seconds 15]`.

One page of a real web process shows a run with 2,000 points that gets one more each second, all charts in view.
Chromium itself says how long its main thread worked (Performance.getMetrics). Needs playwright; CHROMIUM names the
browser.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any

from playwright.sync_api import CDPSession, sync_playwright
from screenshots import CHROMIUM, FLAGS
from viewers import watched_run

from playground.ui import own_files

SETTLE_MS = 4000
STORE = own_files.address("core/store.js")


def main() -> None:
    """Measure and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two updates of the run")
    arguments = parser.parse_args()
    with watched_run(arguments.every) as (url, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        wait_for(page, url)
        page.wait_for_selector('[data-chart="fit"] canvas', state="attached")
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
                "heap_mb": round(after["JSHeapUsedSize"] / 2**20, 1),
                "cores": os.cpu_count(),
            }
        )
    )


def wait_for(page: Any, url: str) -> None:
    """Open the page, as soon as it is served."""
    for _ in range(300):
        try:
            page.goto(url)
            return
        except Exception:
            time.sleep(0.2)
    raise SystemExit("The web process did not start.")


def metrics(session: CDPSession) -> dict[str, float]:
    """Chromium's own counters, seconds and bytes."""
    return {item["name"]: item["value"] for item in session.send("Performance.getMetrics")["metrics"]}


if __name__ == "__main__":
    main()
