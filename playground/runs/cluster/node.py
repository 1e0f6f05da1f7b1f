"""What a backend starts on a node: `python -m playground.runs.cluster.node FOLDER ATTEMPT SECONDS`.

The ordinary worker, tied to this process (`runs.lifeline`, policy `die`): however this ends, the worker saves a
checkpoint and leaves, also when the node is wanted back (SIGTERM), and before the job's time is up.
"""

from __future__ import annotations

import contextlib
import math
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from playground.runs import launcher, lifeline
from playground.runs.folder import exit_reasons, writer
from playground.runs.folder.directory import RunDirectory

LOOK_SECONDS = 1.0
MARGIN_SECONDS = 120.0  # of a job's time, in which the worker saves and leaves
STALE_SECONDS = 60.0  # for which a client of NFS may show what a file was


def compute(folder: Path, attempt: int, seconds: float = math.inf) -> None:
    """Compute an attempt of a run to its end; at once where that is not asked for any more. The job ends after
    `seconds`. Raises: RunNotFound, if this machine does not see the folder; RunBusy, OSError, WorkerNotStarted."""
    until = time.monotonic() + seconds - min(MARGIN_SECONDS, seconds / 2)
    run = RunDirectory.open(folder)
    if not _is_wanted(run, attempt):
        print(f"Attempt {attempt} of {run.id} is not asked for any more.", file=sys.stderr)
        return
    lifeline.choose("die")
    process = launcher.give_worker(run)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    while process.poll() is None:
        if time.monotonic() > until:
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_SECONDS)
    status = run.status_on_disk()
    if status.attempt == attempt and not status.ended:
        reason, message = exit_reasons.of_death(process.returncode, status, run.path)
        writer.write_end(run, status, exit_reasons.state_after(reason), reason, message)


def _is_wanted(run: RunDirectory, attempt: int) -> bool:
    deadline = time.monotonic() + STALE_SECONDS
    while (status := run.status_on_disk()).attempt < attempt and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    return (status.attempt, status.state) == (attempt, "queued")


def main(folder: str, attempt: str, seconds: str) -> None:
    """See the module."""
    compute(Path(folder), int(attempt), float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
