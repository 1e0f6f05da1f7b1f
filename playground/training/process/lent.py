"""One attempt of a run where a GPU is lent for seconds: a call takes the run's lock, trains until its time is up, saves
and returns; the next call goes on.

The process that it is called in is made by somebody else (a fork of the page, `ui.lent_gpu`), which may use it again,
so the attempt leaves nothing behind in it, and it does not train in the process's main thread. All else is as in any
worker: the job, its watch, its ends. Whether the process has a GPU is no matter here.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import private
from playground.runs.start import launcher, queue
from playground.training.process import job, worker

TIME_IS_UP = "The {seconds:.0f} seconds of GPU that this call was lent are over, after update {{}}. Resume it to go on."


def attempt(folder: str, seconds: float) -> str:
    """Train the run in a folder, which waits in the queue, for at most so many seconds; then it has ended, or its
    weights are saved. Returns its state; one that does not wait any more is left alone.

    Raises:
        PlaygroundError: there is no run in the folder, or another process is at work in it. OSError.
    """
    run = RunDirectory.open(folder)
    if _is_taken(run):
        try:
            with _printing_into(run.log_path):
                job.carry_out([folder], "", lambda path: _for_seconds(worker.job_in(path), seconds))
        finally:
            if left := launcher.adopt_lock():  # there was no job, so nobody else has let go of it
                left.close()
    return run.status().state


def _is_taken(run: RunDirectory) -> bool:
    """Take the run out of the queue and its lock for the job, as from a launcher; False if it does not wait there."""
    outputs = run.path.parent
    with launcher.one_at_a_time(outputs):
        if run.id not in queue.waiting(outputs):  # somebody has stopped it meanwhile
            return False
        with open(run.lock_path, "wb", opener=private) as lock:
            launcher.take(lock)
            os.environ[launcher.LOCK_FD_VARIABLE] = str(os.dup(lock.fileno()))
        launcher.name_worker(run, os.getpid())
        queue.leave(run)
    return True


def _for_seconds(whole: job.Job, seconds: float) -> job.Job:
    """The job with the time that there is; a run's own limit counts where it is shorter."""
    if whole.max_minutes is not None and 60 * whole.max_minutes <= seconds:
        return whole
    return whole._replace(max_minutes=seconds / 60, time_is_up=TIME_IS_UP.format(seconds=seconds))


@contextlib.contextmanager
def _printing_into(log: Path) -> Iterator[None]:
    """What this process and the libraries in it print goes into the run's log, as a worker's does."""
    kept = [(stream, os.dup(stream)) for stream in (1, 2)]
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for stream, _ in kept:
            os.dup2(descriptor, stream)
        yield
    finally:
        for text in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                text.flush()
        for stream, before in kept:
            os.dup2(before, stream)
            os.close(before)
        os.close(descriptor)
