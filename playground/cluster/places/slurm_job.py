"""What Slurm starts on a node for a run: a callable for submitit, in a folder that all machines see.

The worker is the ordinary one, and its folder lies there, so the driver reads it itself. When Slurm wants the node back
or the job's time is up, submitit calls `checkpoint`: the worker saves and leaves, and the job is queued again; there it
goes on as the run's next attempt. Imports submitit only when that happens.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import time
from pathlib import Path
from typing import Any

from playground.cluster.places.leash import Collar
from playground.cluster.seat import LOOK_SECONDS, start_worker
from playground.runs import reconciler
from playground.runs.end import processes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.start import lifeline

OVER = ".over"  # beside the run's folder: nothing more will come of this job
NODE = ".node"  # the name of the machine that it is on
LEASH = ".leash"  # in the folder of all jobs of a driver
PATIENCE_SECONDS = 120.0
SAVE_SECONDS = 60.0  # for the worker to save, of those that Slurm gives before it takes the node


class SlurmJob:
    """One run. Pickled by submitit, so it holds paths and nothing else.

    Args:
        folder: of the run, as the node sees it.
    """

    def __init__(self, folder: Path, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.folder, self.patience_seconds = folder, patience_seconds

    def __call__(self) -> None:
        """Compute the run to its end, or until the driver is gone."""
        lifeline.choose("die")
        run, around = RunDirectory.open(self.folder), self.folder.parent
        before = run.status_on_disk()
        if before.ended:  # it was queued again
            run.queue_again(before, before.num_updates)
        collar = Collar(lambda: _text(around.parent / LEASH), self.patience_seconds)
        with _unheard():
            process = start_worker(run)
        write_atomically(around / NODE, socket.gethostname())
        while process.poll() is None:
            if collar.is_loose:
                lifeline.let_go()
            time.sleep(LOOK_SECONDS)
        reconciler.end_if_dead(run, around)
        write_atomically(around / OVER, "")

    def checkpoint(self) -> Any:
        """The node is wanted back: save, leave, and be queued again. A run that was asked to stop is not."""
        from submitit.helpers import DelayedSubmission

        run = RunDirectory.open(self.folder)
        stopped = run.stop_requested
        processes.end(run, SAVE_SECONDS)
        reconciler.end_if_dead(run, self.folder.parent)
        if stopped or run.status_on_disk().state in ("finished", "failed"):
            write_atomically(self.folder.parent / OVER, "")
            return None
        (run.control_path / "stop").unlink(missing_ok=True)
        (self.folder.parent / NODE).unlink(missing_ok=True)
        return DelayedSubmission(self)


@contextlib.contextmanager
def _unheard() -> Any:
    """Slurm's warning goes to all processes of a job, and would kill a worker that has no handler for it."""
    handler = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR2, handler)


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text(encoding="ascii")
    return ""
