"""The workers that this process has started: their exit codes, and no zombies.

A worker needs nobody; but who started it learns its exit code, and has to fetch it, or the system keeps the dead
process. The launcher adds, the reconciler asks. Nothing here says whether a run lives: that is its lock.
"""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import NamedTuple

from playground.runs.folder.directory import RunDirectory

DYING_SECONDS = 1.0


class Worker(NamedTuple):
    """One that was started here, and for which attempt of its run."""

    run: RunDirectory
    attempt: int
    process: subprocess.Popen[bytes]


_lock = threading.Lock()
_workers: dict[Path, Worker] = {}


def add(run: RunDirectory, process: subprocess.Popen[bytes]) -> None:
    """Remember the worker of a run; an earlier attempt's is forgotten."""
    worker = Worker(run, run.status_on_disk().attempt, process)
    with _lock:
        _workers[run.path.resolve()] = worker


def exit_code(run: RunDirectory) -> int | None:
    """How the worker of a run ended, minus the signal that killed it; None: it lives, or is not ours.

    Asked once its lock is free, which is a moment before the system gives its exit code: that moment is waited for.
    """
    with _lock:
        worker = _workers.get(run.path.resolve())
    if worker is None or worker.attempt != run.status_on_disk().attempt:  # somebody else has resumed the run since
        return None
    try:
        return worker.process.wait(DYING_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def dead() -> list[Worker]:
    """Fetch those that have died, and give them. They are remembered until somebody has used their exit codes."""
    with _lock:
        return [worker for worker in _workers.values() if worker.process.poll() is not None]


def forget(worker: Worker) -> None:
    """Its exit code is not needed any more."""
    with _lock:
        path = worker.run.path.resolve()
        if _workers.get(path) is worker:
            del _workers[path]
