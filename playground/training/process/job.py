"""What the worker processes of runs and of reward models have in common: one folder, one lock, one end that is told."""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

from playground.errors import LESS_MEMORY, PlaygroundError
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.start.launcher import adopt_lock, take_lock
from playground.safety import redaction
from playground.training.models import time_limit
from playground.training.process.ending import STOPPED, leave, reported
from playground.training.process.watch import WorkerWatch

EXIT_CODES = {"finished": 0, "stopped": 3}  # of the state at the end; any other is a failure: 1
UNUSABLE = 2  # the exit code where no run was touched


class Job(NamedTuple):
    """What a worker is to do in its folder.

    `train` does everything between starting and ending, and may raise what it likes: `ending.reported` tells it.
    `num_updates`, if it is known. `stopped`: what is said of a job that was asked to stop; {} is the update it was at.
    `time_is_up`: of one whose `max_minutes` are over, if not which setting that is.
    """

    run: RunDirectory
    train: Callable[[RunWriter, WorkerWatch], None]
    num_updates: int = 0
    stopped: str = STOPPED
    max_minutes: float | None = None
    time_is_up: str = ""
    memory_advice: Callable[[], str] = lambda: LESS_MEMORY


def carry_out(arguments: list[str], usage: str, job_of: Callable[[Path], Job]) -> int:
    """Do the job in the folder that is the only argument.

    Args:
        usage: of the command, for who calls it otherwise. job_of: opens the folder; a PlaygroundError is printed.

    Returns:
        The exit code: 0 finished, 1 failed, 2 nothing was done, 3 stopped.
    """
    if len(arguments) != 1:
        print(f"usage: {usage}", file=sys.stderr)
        return UNUSABLE
    try:
        job = job_of(Path(arguments[0]))
    except PlaygroundError as error:
        print(error, file=sys.stderr)
        return UNUSABLE
    run = job.run
    lock = adopt_lock() or take_lock(run)
    if lock is None:
        print(f"Another worker is training {run.id}.", file=sys.stderr)
        return UNUSABLE
    redaction.cover_streams()
    writer = RunWriter(run, job.num_updates, run.status().attempt)
    time_limit.begin()
    with (
        lock,
        WorkerWatch(writer, job.stopped, job.max_minutes, job.time_is_up) as watch,
        reported(writer, job.stopped, job.memory_advice),
    ):
        job.train(writer, watch)
    time_limit.end()
    return EXIT_CODES.get(writer.status.state, 1)


def be(main: Callable[[], int]) -> NoReturn:
    """Make this process a worker from here to its end."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    faulthandler.enable()  # a crash in a library says in the log where it was
    leave(main())
