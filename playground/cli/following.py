"""Follows a run from a terminal: a progress bar, plain lines or JSON lines; Ctrl-C becomes a stop request.

Reads the run directory and drops the one control file; the worker does not know that anybody looks.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from pydantic import ValidationError
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from playground.cli.printing import complain, duration, number, print_json
from playground.insight.pace import seconds_left
from playground.runs.directory import JsonlTail, RunDirectory
from playground.runs.records import Record, Status, UpdateMetrics

STOPPED = 3
EXIT_CODES = {"finished": 0, "failed": 1, "interrupted": 1, "stopped": STOPPED}
POLL_SECONDS = 0.1
Figures = Callable[[list[Any], Status], str]  # the records so far and the state -> one line


class Display(Protocol):
    """Where progress is shown."""

    def status(self, status: Status) -> None: ...

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
    run: RunDirectory, process: subprocess.Popen[bytes], shown: Display, kind: type[Record] = UpdateMetrics
) -> Status:
    """Show a run until it has ended, or until a second Ctrl-C; returns the last state seen.

    Args:
        kind: of the records in metrics.jsonl.
    """
    tail = JsonlTail(run.metrics_path)
    metrics: list[Any] = []
    asked = False
    with _counted_interrupts() as presses, contextlib.closing(shown):
        while True:
            status = run.status()  # before the metrics: once it has ended, they are complete
            for item in tail.read_new():
                with contextlib.suppress(ValidationError):
                    metrics.append(kind.model_validate(item))
                    shown.update(metrics, status)
            shown.status(status)
            if status.ended:
                return status
            if presses and not asked:
                asked = True
                run.request_stop()
                complain("Asked the run to stop. Press Ctrl-C once more to leave it to itself.")
            if len(presses) > 1:
                complain("The run was asked to stop and is left to itself.")
                return status
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=POLL_SECONDS)


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

    def status(self, status: Status) -> None:
        """The phase in words."""
        self._progress.update(self._task, description=_phase(status))

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

    def status(self, status: Status) -> None:
        """A new phase."""
        if (phase := _phase(status)) != self._phase:
            self._phase = phase
            self._console.print(phase, soft_wrap=True)

    def update(self, metrics: list[Any], status: Status) -> None:
        """A new update."""
        self._console.print(self._figures(metrics, status), soft_wrap=True)

    def close(self) -> None:
        """Nothing to do."""


class JsonLines:
    """One JSON object per update on stdout: {"type": "update", ...the fields of metrics.jsonl}."""

    def __init__(self, word: str = "update") -> None:
        self._word = word

    def status(self, status: Status) -> None:
        """Not shown."""

    def update(self, metrics: list[Any], status: Status) -> None:
        """A new update."""
        print_json({"type": self._word, **metrics[-1].model_dump()})

    def close(self) -> None:
        """Nothing to do."""


@contextlib.contextmanager
def _counted_interrupts() -> Iterator[list[int]]:
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
    left = seconds_left(metrics, status.num_updates)
    parts = [
        f"update {last.update} of {status.num_updates}",
        f"score {number(last.score_mean, sign=True)}",
        f"KL {number(last.kl_to_reference)} nats",
    ]
    return "  ".join(parts if left is None else [*parts, f"about {duration(left)} left"])
