"""Follows a run, a training of a reward model or a sweep from a terminal, to its end; Ctrl-C becomes a stop request.

Reads their folders and drops the one control file; the workers do not know that anybody looks. While it waits, it keeps
the queue going.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from playground.analysis.pace import all_left, seconds_left
from playground.cli.terminal import complain, number, print_json, time_range
from playground.runs import cluster, launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import JsonlTail
from playground.runs.folder.records import Record, Status, UpdateMetrics
from playground.runs.supervisor import Supervisor, every
from playground.runs.sweeps import sweep_making, sweep_record
from playground.runs.sweeps.sweep_progress import progress_of
from playground.runs.sweeps.sweep_record import Sweep

STOPPED = 3
EXIT_CODES = {"finished": 0, "failed": 1, "interrupted": 1, "stopped": STOPPED}
POLL_SECONDS = 0.1
SWEEP_POLL_SECONDS = 0.5
KEEP_SECONDS = 0.5
ASKED = "Asked for a stop. Press Ctrl-C once more to leave it to itself."
LEFT = "It was asked to stop and is left to itself."
Figures = Callable[[list[Any], Status], str]  # the records so far and the state -> one line


class Display:
    """Where progress is shown: JSON lines on stdout; else a bar on a terminal's stderr; else plain lines there."""

    def __init__(self, as_json: bool, figures: Figures, word: str) -> None:
        self.figures, self.word = figures, word
        self._as_json, self._known = as_json, ""
        console = Console(stderr=True, highlight=False, markup=False)
        words, line = (TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[figures]"))
        self._bar = Progress(words, BarColumn(), line, console=console, redirect_stdout=False)
        self._task = self._bar.add_task("starting", total=None, figures="")
        self._in_place = console.is_terminal and not as_json
        if self._in_place:
            self._bar.start()

    def tell(self, line: str, message: dict[str, Any] | None, *, key: str = "", **bar: Any) -> None:
        """What is known now: a line for a person, a message for a program, or what changes in the bar.

        Args:
            key: another one whenever there is news, without which no line and no message is printed; empty for news.
        """
        if self._in_place:
            self._bar.update(self._task, **bar)
        elif not key or key != self._known:
            self._known = key or self._known
            if not self._as_json:
                complain(line)
            elif message is not None:
                print_json(message)

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._in_place:
            self._bar.stop()


def display(as_json: bool, figures: Figures | None = None, word: str = "update") -> Display:
    """Where progress is shown.

    Args:
        figures: what is said of the records so far; default: as of a PPO run. word: what JSON lines call a record.
    """
    return Display(as_json, figures or _figures, word)


def follow(
    run: RunDirectory,
    process: subprocess.Popen[bytes] | None,
    shown: Display,
    kind: type[Record] = UpdateMetrics,
    outputs: Path | None = None,
) -> Status:
    """Show a run until it has ended, or until a second Ctrl-C; returns the last state seen.

    Args:
        process: the run's worker, if this process has started it. kind: of the records in metrics.jsonl. outputs: the
            outputs folder; default: the one that the run's folder is in.
    """
    tail, attempt = JsonlTail(run.metrics_path), run.status().attempt
    records: list[Any] = []

    def show() -> bool:
        status = run.status()  # before the records: once it has ended, they are complete
        for record in tail.read_records(kind):
            if getattr(record, "attempt", attempt) >= attempt:  # else it was there before the run was resumed
                records.append(record)
                line = shown.figures(records, status)
                bar: dict[str, Any] = {"total": status.num_updates, "completed": status.update, "figures": line}
                shown.tell(line, {"type": shown.word, **record.model_dump()}, **bar)
        position = _position(run, status)
        message = None if position is None else {"type": "queued", "position": position}
        words = _phase(status, position)
        shown.tell(words, message, key=words, description=words)
        return status.ended

    def stop() -> bool:
        trains = _position(run, run.status()) is None
        launcher.stop(run)
        return trains

    def wait() -> None:
        if process is None:
            time.sleep(POLL_SECONDS)
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(POLL_SECONDS)

    with contextlib.closing(shown):
        _until_the_end(outputs or run.path.parent, show, stop, lambda: [run], wait)
    return run.status()


def follow_sweep(sweep: Sweep, outputs: Path, as_json: bool) -> str:
    """The same of a sweep, until all its runs have ended; returns its state, see `SweepProgress.state`. The bar is of
    updates, so that it also moves while one run trains."""
    shown = display(as_json)

    def show() -> bool:
        states = sweep_record.statuses(outputs, sweep)
        found, left = progress_of(sweep, states), all_left([*states.values()], time.time())
        line = found.words if left is None or found.ended else f"{found.words}; {time_range(*left)} left"
        message = {"type": "progress", "sweep": sweep.name, **found._asdict(), "seconds_left": left}
        made = sum(one.update for one in states.values())
        total = sum(one.update if one.ended else one.num_updates for one in states.values()) or None
        bar = {"description": sweep.name, "total": total, "completed": made, "figures": line}
        shown.tell(line, message, key=found.words, **bar)
        return found.ended

    def stop() -> bool:
        sweep_making.stop_all(outputs, sweep)
        return True

    with contextlib.closing(shown):
        runs, wait = partial(sweep_record.runs_of, outputs, sweep), partial(time.sleep, SWEEP_POLL_SECONDS)
        _until_the_end(outputs, show, stop, runs, wait)
    return progress_of(sweep, sweep_record.statuses(outputs, sweep)).state


def _until_the_end(
    outputs: Path,
    show: Callable[[], bool],
    stop: Callable[[], bool],
    runs: Callable[[], list[RunDirectory]],
    wait: Callable[[], None],
) -> None:
    """Look again and again until nothing more is to come, or until a second Ctrl-C. Meanwhile, and once more at the
    end, it keeps the outputs folder going as the web process does: who waits in the queue gets a free device, who died
    gets its end.

    Args:
        show: shows what is new; True once all has ended. stop: asks for a stop; False if all has ended by that. runs:
            those that are followed. wait: until it is worth showing again.
    """
    keeper, asked = Supervisor(outputs), False
    keep = every(KEEP_SECONDS, keeper.look)
    look_elsewhere = every(cluster.LOOK_SECONDS, lambda: cluster.look_after(outputs))
    with counted_interrupts() as presses:
        while True:
            keep()
            look_elsewhere()
            if show():
                for run in runs():
                    launcher.wait_until_left(run)  # its device is free then, and this may be the last who looks
                keeper.look()
                return
            if presses and not asked:
                asked = True
                if stop():
                    complain(ASKED)
            elif len(presses) > 1:
                complain(LEFT)
                return
            else:
                wait()


@contextlib.contextmanager
def counted_interrupts() -> Iterator[list[int]]:
    """Ctrl-C adds an entry to the list and does nothing else: a signal handler must neither print nor write files."""
    presses: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: presses.append(number))
    try:
        yield presses
    finally:
        signal.signal(signal.SIGINT, before)


def _position(run: RunDirectory, status: Status) -> int | None:
    return queue.position(run) if status.state == "queued" else None


def _phase(status: Status, position: int | None) -> str:
    """The position of a run that waits in the queue, in words; else what it is doing."""
    if position is not None:
        where = "next in the queue" if position == 1 else f"number {position} in the queue"
        return f"waiting for a free device: {where}"
    return status.state if status.state == "stopping" or not status.phase else status.phase


def _figures(metrics: list[UpdateMetrics], status: Status) -> str:
    last = metrics[-1]
    left = seconds_left([item.update for item in metrics], [item.seconds for item in metrics], status.num_updates)
    score, kl = number(last.score_mean, sign=True), number(last.kl_to_reference)
    line = f"update {last.update} of {status.num_updates}  training batch: score {score}  KL {kl} nats"
    return line if left is None else f"{line}  {time_range(*left)} left"
