"""Follows a run, a training of a reward model or a sweep from a terminal or a notebook, to its end; Ctrl-C becomes a
stop request.

Reads their folders and writes the one control file; the workers do not know that anyone is watching. While it waits, it
keeps the queue going.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from playground.analysis.pace import all_left, seconds_left
from playground.cli.arguments import FAILED, HERE, Where, workers_on
from playground.cli.terminal import complain, number, print_json, time_range
from playground.config import RunConfig
from playground.errors import PlaygroundError
from playground.runs import cluster, launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import JsonlTail
from playground.runs.folder.records import Event, Record, Status, UpdateMetrics
from playground.runs.launched import BY_HAND
from playground.runs.supervisor import Supervisor, every
from playground.runs.sweeps import sweep_making, sweep_record
from playground.runs.sweeps.sweep_progress import progress_of
from playground.runs.sweeps.sweep_record import Sweep
from playground.setup import admission

LOG_BYTES = 1500  # of a log, that are shown
STOPPED = 3
EXIT_CODES = {"finished": 0, "failed": 1, "interrupted": 1, "stopped": STOPPED}
POLL_SECONDS = 0.1
KEEP_SECONDS = 0.5
ASKED = "Asked it to stop. Press Ctrl-C once more (in a notebook: interrupt) to let it end without being watched."
LEFT = "It was asked to stop and is no longer followed here."
Figures = Callable[[list[Any], Status], str]  # the records so far and the state -> one line


def start(
    config: RunConfig,
    outputs: Path,
    run_id: str | None = None,
    on: Where = HERE,
    option: Sequence[str] | None = None,
) -> launcher.Started:
    """Check a run and start it here or on a cluster. Raises: PlaygroundError, with every problem at once."""
    workers = workers_on(on, option)
    admitted = admission.admit(cluster.for_processes(config, on, option or []), outputs, here=on == HERE)
    Supervisor(outputs).look()
    started = launcher.start(admitted, outputs, run_id, workers)
    if on == BY_HAND:
        complain(f"Start its processes: torchrun --nproc-per-node 2 -m playground.worker {started.run.path.resolve()}")
    return started


def log_hint(run: RunDirectory, status: Status) -> str:
    """Where the log of a run that has failed is, and how it ends; of invalid settings the message says all."""
    if status.reason == PlaygroundError.reason:
        return f"Its log: {run.log_path}"
    return f"The end of {run.log_path}:\n{run.log_tail(LOG_BYTES)}"


class Display:
    """Where progress is shown: JSON lines on stdout, or plain lines on stderr.

    Args:
        figures: what is said of the records so far; default: as of a PPO run. word: what JSON lines call a record.
    """

    def __init__(self, as_json: bool, figures: Figures | None = None, word: str = "update") -> None:
        self.figures, self.word = figures or _figures, word
        self._as_json, self._known = as_json, ""

    def tell(self, line: str, message: dict[str, Any] | None, key: str = "") -> None:
        """A line for a person, or a message for a program. `key`: another one whenever there is news, without which
        nothing is printed; empty for news."""
        if key and key == self._known:
            return
        self._known = key or self._known
        if not self._as_json:
            complain(line)
        elif message is not None:
            print_json(message)


def follow(
    run: RunDirectory,
    process: subprocess.Popen[bytes] | None,
    display: Display,
    kind: type[Record] = UpdateMetrics,
    outputs: Path | None = None,
) -> Status:
    """Show a run until it has ended, or until a second Ctrl-C; returns the last state seen. `process`: its worker, if
    this process has started it; `kind`: of its records; `outputs`: default: the folder that the run's is in."""
    tail, events, attempt = JsonlTail(run.metrics_path), JsonlTail(run.events_path), run.status().attempt
    records: list[Any] = []

    def show() -> bool:
        if process is not None:
            process.poll()  # so that one that has ended is gone
        status = run.status()  # before the records: once it has ended, they are complete
        for event in events.read_records(Event):
            if event.kind == "warning" and event.attempt >= attempt:
                complain(f"Warning: {event.message}")
        for record in tail.read_records(kind):
            if getattr(record, "attempt", attempt) >= attempt:  # else it was there before the run was resumed
                records.append(record)
                display.tell(display.figures(records, status), {"type": display.word, **record.model_dump()})
        position = None
        if status.state == "queued":
            position = queue.position(run)
        words, message = status.phase or status.state, None
        if position is not None:
            where = "next in the queue"
            if position != 1:
                where = f"number {position} in the queue"
            words, message = f"waiting for a free device: {where}", {"type": "queued", "position": position}
        elif status.state == "stopping":
            words = status.state
        display.tell(words, message, words)
        return status.ended

    def stop() -> bool:
        trains = run.status().state != "queued"
        launcher.stop(run)
        return trains

    _until_the_end(outputs or run.path.parent, show, stop, lambda: [run])
    return run.status()


def follow_sweep(sweep: Sweep, outputs: Path, as_json: bool) -> str:
    """The same of a sweep, until all its runs have ended; returns its state, see `SweepProgress.state`."""
    display = Display(as_json)

    def show() -> bool:
        states = sweep_record.statuses(outputs, sweep)
        progress, left = progress_of(sweep, states), all_left([*states.values()], time.time())
        line = progress.words
        if left is not None and not progress.ended:
            line += f"; {time_range(*left)} left"
        message = {"type": "progress", "sweep": sweep.name, **progress._asdict(), "seconds_left": left}
        display.tell(line, message, progress.words)
        return progress.ended

    def stop() -> bool:
        sweep_making.stop_all(outputs, sweep)
        return True

    _until_the_end(outputs, show, stop, lambda: sweep_record.runs_of(outputs, sweep))
    return progress_of(sweep, sweep_record.statuses(outputs, sweep)).state


def _until_the_end(
    outputs: Path, show: Callable[[], bool], stop: Callable[[], bool], runs: Callable[[], list[RunDirectory]]
) -> None:
    """Look until nothing more is to come, or until a second Ctrl-C, and keep the outputs folder going meanwhile, as the
    web process does. `show` is True once all has ended, `stop` False if all has ended by that."""
    keeper, stop_asked = Supervisor(outputs), False
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
            if presses and not stop_asked:
                stop_asked = True
                if stop():
                    complain(ASKED)
            elif len(presses) > 1:
                complain(LEFT)
                return
            else:
                time.sleep(POLL_SECONDS)


def wait_until(has_ended: Callable[[], bool], timeout: float, outputs: Path, too_late: str) -> None:
    """Look until all has ended, and after runs on a cluster meanwhile. Raises: Exit, saying `too_late`, if that takes
    longer than `timeout` seconds."""
    deadline = time.monotonic() + timeout
    look_elsewhere = every(cluster.LOOK_SECONDS, lambda: cluster.look_after(outputs))
    while not has_ended():
        if time.monotonic() > deadline:
            complain(too_late)
            raise typer.Exit(FAILED)
        look_elsewhere()
        time.sleep(POLL_SECONDS)


@contextlib.contextmanager
def counted_interrupts() -> Iterator[list[int]]:
    """Ctrl-C adds an entry to the list and does nothing else: a signal handler must neither print nor write files. A
    thread of a notebook gets no signals."""
    presses: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield presses
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: presses.append(number))
    try:
        yield presses
    finally:
        signal.signal(signal.SIGINT, before)


def _figures(metrics: list[UpdateMetrics], status: Status) -> str:
    last = metrics[-1]
    left = seconds_left([item.update for item in metrics], [item.seconds for item in metrics], status.num_updates)
    score, kl = number(last.score_mean, sign=True), number(last.kl_to_reference)
    line = f"update {last.update} of {status.num_updates}  training batch: score {score}  KL {kl} nats"
    if left is None:
        return line
    return f"{line}  {time_range(*left)} left"
