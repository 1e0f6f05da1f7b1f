"""Follows a run from a terminal: a progress bar, plain lines or JSON lines; Ctrl-C becomes a stop request.

Reads the run directory and drops the one control file; the worker does not know that anybody looks. While it waits, it
keeps the queue going.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from playground.cli.printing import complain, number, print_json, time_range
from playground.insight.pace import seconds_left
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import JsonlTail
from playground.runs.folder.records import Record, Status, UpdateMetrics
from playground.runs.reconciler import Reconciler, every
from playground.runs.start import launcher, queue

STOPPED = 3
EXIT_CODES = {"finished": 0, "failed": 1, "interrupted": 1, "stopped": STOPPED}
POLL_SECONDS = 0.1
KEEP_SECONDS = 0.5
Figures = Callable[[list[Any], Status], str]  # the records so far and the state -> one line


class Display(Protocol):
    """Where progress is shown."""

    def phase(self, words: str, place: int | None) -> None: ...

    def update(self, metrics: list[Any], status: Status) -> None: ...

    def close(self) -> None: ...


def display(as_json: bool, figures: Figures | None = None, word: str = "update") -> Display:
    """JSON lines on stdout; else a bar on a terminal's stderr; else plain lines there.

    Args:
        figures: what is said of the records so far; default: as of a PPO run. word: what JSON lines call a record.
    """
    if as_json:
        return JsonLines(word)
    console = Console(stderr=True, highlight=False, markup=False)
    return (Bar if console.is_terminal else Lines)(console, figures or _figures)


def follow(
    run: RunDirectory,
    process: subprocess.Popen[bytes] | None,
    shown: Display,
    kind: type[Record] = UpdateMetrics,
    outputs: Path | None = None,
) -> Status:
    """Show a run until it has ended, or until a second Ctrl-C; returns the last state seen.

    As long as it looks, and once more when the run has ended, it keeps the outputs folder going as the web process
    does: who waits in the queue gets a free device, who died gets its end.

    Args:
        process: the run's worker, if this process has started it.
        kind: of the records in metrics.jsonl.
        outputs: the outputs folder; default: the one that the run's folder is in.
    """
    keeper = Reconciler(outputs or run.path.parent)
    keep = every(KEEP_SECONDS, keeper.look)
    tail = JsonlTail(run.metrics_path)
    attempt = run.status().attempt
    metrics: list[Any] = []
    asked = False
    with counted_interrupts() as presses, contextlib.closing(shown):
        while True:
            keep()
            status = run.status()  # before the metrics: once it has ended, they are complete
            for item in tail.read_new():
                with contextlib.suppress(ValidationError):
                    record = kind.model_validate(item)
                    _take(metrics, record)
                    if getattr(record, "attempt", attempt) >= attempt:  # a resumed run does not tell all from the start
                        shown.update(metrics, status)
            place = queue.position(run) if status.state == "queued" else None
            shown.phase(_phase(status) if place is None else waiting_words(place), place)
            if status.ended:
                launcher.wait_until_left(run)  # its device is free then, and this may be the last who looks
                keeper.look()
                return run.status()
            if presses and not asked:
                asked = True
                launcher.stop(run)
                if place is not None:
                    continue  # out of the queue, and ended
                complain("Asked the run to stop. Press Ctrl-C once more to leave it to itself.")
            if len(presses) > 1:
                complain("The run was asked to stop and is left to itself.")
                return status
            if process is None:
                time.sleep(POLL_SECONDS)
            else:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=POLL_SECONDS)


def _take(metrics: list[Any], record: Any) -> None:
    """Add a record; an update that is made again takes the place of what came after it."""
    while metrics and isinstance(record, UpdateMetrics) and metrics[-1].update >= record.update:
        metrics.pop()
    metrics.append(record)


def waiting_words(place: int) -> str:
    """The place of a run in the queue, in words."""
    return "waiting for a free device: " + ("next in the queue" if place == 1 else f"number {place} in the queue")


class Bar:
    """One progress line that stays in place."""

    def __init__(self, console: Console, figures: Figures) -> None:
        self._figures = figures
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[figures]}", markup=False),
            console=console,
            redirect_stdout=False,
        )
        self._task = self._progress.add_task("starting", total=None, figures="")
        self._progress.start()

    def phase(self, words: str, place: int | None) -> None:
        """The phase, or the place in the queue, in words."""
        self._progress.update(self._task, description=words)

    def update(self, metrics: list[Any], status: Status) -> None:
        """How far it is, and its latest figures."""
        self._progress.update(
            self._task, total=status.num_updates, completed=status.update, figures=self._figures(metrics, status)
        )

    def close(self) -> None:
        """Leave the line as it is."""
        self._progress.stop()


class Lines:
    """A line for each phase and each update; for logs and pipes."""

    def __init__(self, console: Console, figures: Figures) -> None:
        self._console, self._figures = console, figures
        self._phase = ""

    def phase(self, words: str, place: int | None) -> None:
        """A new phase, or a new place in the queue."""
        if words != self._phase:
            self._phase = words
            self._console.print(words, soft_wrap=True)

    def update(self, metrics: list[Any], status: Status) -> None:
        """A new update."""
        self._console.print(self._figures(metrics, status), soft_wrap=True)

    def close(self) -> None:
        """Nothing to do."""


class JsonLines:
    """One JSON object per update on stdout: {"type": "update", ...the fields of metrics.jsonl}."""

    def __init__(self, word: str = "update") -> None:
        self._word = word
        self._place: int | None = None

    def phase(self, words: str, place: int | None) -> None:
        """{"type": "queued", "position": 1} on each change; 1 is the next. Phases are not shown."""
        if place is not None and place != self._place:
            self._place = place
            print_json({"type": "queued", "position": place})

    def update(self, metrics: list[Any], status: Status) -> None:
        """A new update."""
        print_json({"type": self._word, **metrics[-1].model_dump()})

    def close(self) -> None:
        """Nothing to do."""


@contextlib.contextmanager
def counted_interrupts() -> Iterator[list[int]]:
    """Ctrl-C adds an entry to the list and does nothing else: a signal handler must neither print nor write files."""
    presses: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: presses.append(number))
    try:
        yield presses
    finally:
        signal.signal(signal.SIGINT, before)


def _phase(status: Status) -> str:
    return status.state if status.state == "stopping" or not status.phase else status.phase


def _figures(metrics: list[UpdateMetrics], status: Status) -> str:
    last = metrics[-1]
    left = seconds_left([item.update for item in metrics], [item.seconds for item in metrics], status.num_updates)
    parts = [
        f"update {last.update} of {status.num_updates}",
        f"training batch: score {number(last.score_mean, sign=True)}",
        f"KL {number(last.kl_to_reference)} nats",
    ]
    return "  ".join(parts if left is None else [*parts, f"{time_range(*left)} left"])
