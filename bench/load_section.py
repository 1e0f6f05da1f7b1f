"""The section of docs/performance.md about how the page loads, made from bench/results/load.json. speed.py and
page_load.py write it."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from bench import page_section

PROJECT = Path(__file__).resolve().parents[1]
RESULTS = PROJECT / "bench" / "results" / "load.json"
TITLE = "## How the page loads"
NO_FIGURES = "`make bench-load` measures it; there are no figures yet."
NEXT = "## On a GPU"
WHAT = """
Written by `make bench-load` ({date}, commit {commit}): {processor}, {cores} cores, Chromium {browser}. While it
measured, {load:.1f} processes wanted a core; with more than one for each the times say little, the bytes are exact.
The Train page at 1440 x 900, for {seconds:.0f} seconds while the recorded run plays; {rounds} rounds, medians. *Cold*:
a browser that has nothing of the page; *warm*: one that has been there. The slow computer has a processor {slower}
times slower, {latency_ms} ms to the server and {mbit:.0f} Mbit/s. The form is usable when it has its values and says
what the run needs. *Busy*: processor time of the page's main thread. The server had been asked for the page before,
so its files come in the smallest form.
"""


def latest() -> str:
    """From the results on disk, if there are any."""
    return page_section.latest(RESULTS, section)


def put_into(page: Path) -> None:
    """Write the section anew, or where it belongs if the page has none."""
    page_section.put_into(page, latest(), NEXT)


def section(report: dict[str, Any] | None) -> str:
    """In Markdown."""
    if report is None:
        return f"{TITLE}\n\n{NO_FIGURES}\n"
    told = textwrap.fill(" ".join(WHAT.format(**report["machine"], **report["how"]).split()), 120)
    names = {"cold": "cold", "warm": "warm", "slow cold": "cold, slow computer", "slow warm": "warm, slow computer"}
    rows = [
        f"| {name} | {found['bytes'] / 1000:.0f} | {found['requests']:.0f} | {found['usable_seconds']:.1f} | "
        f"{found['busy']:.0%} |"
        for case, name in names.items()
        for found in [report["cases"][case]]
    ]
    table = ["| | kB | requests | form usable after, s | main thread busy |", "|---" * 5 + "|", *rows]
    kinds = sorted(report["cases"]["cold"]["kinds"].items(), key=lambda pair: -pair[1])
    where = textwrap.fill(
        "Of a cold load: " + ", ".join(f"{name} {count / 1000:.0f} kB" for name, count in kinds) + ".", 120
    )
    return "\n\n".join([TITLE, told, "\n".join(table), where]) + "\n"
