"""Follows a sweep from a terminal in one line: how many of its runs have ended, train and wait, and how long it takes.

Reads the folders of its runs; Ctrl-C becomes a request to all of them. While it waits, it keeps the queue going.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from playground.cli.following import KEEP_SECONDS, counted_interrupts
from playground.cli.printing import complain, print_json, time_range
from playground.insight.pace import Range, all_left
from playground.runs.folder.records import Status
from playground.runs.reconciler import Reconciler, every
from playground.runs.start import launcher
from playground.sweeps import sweep_making, sweep_record
from playground.sweeps.sweep_record import Sweep
from playground.sweeps.sweep_standing import Standing, standing

POLL_SECONDS = 0.5


class Display(Protocol):
    """Where progress is shown."""

    def tell(self, sweep: Sweep, found: Standing, updates: tuple[int, int], left: Range | None) -> None: ...

    def close(self) -> None: ...


def display(as_json: bool) -> Display:
    """JSON lines on stdout; else a bar on a terminal's stderr; else plain lines there."""
    if as_json:
        return _JsonLines()
    console = Console(stderr=True, highlight=False, markup=False)
    return _Bar(console) if console.is_terminal else _Lines()


def follow(sweep: Sweep, outputs: Path, shown: Display) -> str:
    """Show a sweep until all its runs have ended, or until a second Ctrl-C; returns its state, see `Standing.state`."""
    keeper = Reconciler(outputs)
    keep = every(KEEP_SECONDS, keeper.look)
    asked = False
    with counted_interrupts() as presses, contextlib.closing(shown):
        while True:
            keep()
            statuses = sweep_record.statuses(outputs, sweep)
            found = standing(sweep, statuses)
            shown.tell(sweep, found, _updates(statuses.values()), all_left([*statuses.values()], time.time()))
            if found.ended:
                for run in sweep_record.runs_of(outputs, sweep):
                    launcher.wait_until_left(run)  # the devices are free then, and this may be the last who looks
                keeper.look()
                return standing(sweep, sweep_record.statuses(outputs, sweep)).state
            if presses and not asked:
                asked = True
                sweep_making.stop_all(outputs, sweep)
                complain("Asked all runs to stop. Press Ctrl-C once more to leave them to themselves.")
                continue
            if len(presses) > 1:
                complain("The runs were asked to stop and are left to themselves.")
                return found.state
            time.sleep(POLL_SECONDS)


def _updates(statuses: Any) -> tuple[int, int]:
    """Those made, and those to make, of all runs; one that has ended has no more to make."""
    known: list[Status] = list(statuses)
    return sum(one.update for one in known), sum(one.update if one.ended else one.num_updates for one in known)


def _line(found: Standing, left: Range | None) -> str:
    return found.words if left is None or found.ended else f"{found.words}; {time_range(*left)} left"


class _Bar:
    """One line that stays in place; the bar is of updates, so that it also moves while one run trains."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[told]}", markup=False),
            console=console,
            redirect_stdout=False,
        )
        self._task = self._progress.add_task("starting", total=None, told="")
        self._progress.start()

    def tell(self, sweep: Sweep, found: Standing, updates: tuple[int, int], left: Range | None) -> None:
        made, total = updates
        self._progress.update(
            self._task, description=sweep.name, total=total or None, completed=made, told=_line(found, left)
        )

    def close(self) -> None:
        self._progress.stop()


class _Lines:
    """A line whenever a run begins or ends; for logs and pipes."""

    def __init__(self) -> None:
        self._words = ""

    def tell(self, sweep: Sweep, found: Standing, updates: tuple[int, int], left: Range | None) -> None:
        if found.words != self._words:
            self._words = found.words
            complain(_line(found, left))

    def close(self) -> None:
        """Nothing to do."""


class _JsonLines:
    """{"type": "progress", ...numbers of runs, "seconds_left": [least, most] or null} whenever one begins or ends."""

    def __init__(self) -> None:
        self._found: Standing | None = None

    def tell(self, sweep: Sweep, found: Standing, updates: tuple[int, int], left: Range | None) -> None:
        if found != self._found:
            self._found = found
            print_json({"type": "progress", "sweep": sweep.name, **found._asdict(), "seconds_left": left})

    def close(self) -> None:
        """Nothing to do."""
