"""What a backend starts on a node: `python -m playground.runs.cluster.node FOLDER ATTEMPT SECONDS`.

The ordinary worker, tied to this process (`runs.lifeline`, policy `die`): however this ends, the worker saves a
checkpoint and leaves, also when the node is wanted back (SIGTERM), and before the job's time is up.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from playground.runs import children, launched, launcher, lifeline
from playground.runs.folder import exit_reasons, writer
from playground.runs.folder.directory import RunDirectory

LOOK_SECONDS = 1.0
MARGIN_SECONDS = 120.0  # of a job's time, in which the worker saves and leaves
STALE_SECONDS = 60.0  # for which a client of NFS may show what a file was


def compute(folder: Path, attempt: int, seconds: float = math.inf, *, is_served: bool = False) -> None:
    """Compute an attempt of a run to its end; at once where that is not asked for any more. The job ends after
    `seconds`. Of several processes that a launcher has started this is one; `is_served`: it answers where they meet.
    Raises: RunNotFound, if this machine does not see the folder; RunBusy, OSError, WorkerNotStarted, InvalidConfig."""
    until = time.monotonic() + seconds - min(MARGIN_SECONDS, seconds / 2)
    run, member = RunDirectory.open(folder), launched.of_environment(os.environ)
    if member and is_served:
        member = member._replace(is_served=True)
    launched.hand_down(member)
    is_first = member is None or member.rank == 0
    if not _is_wanted(run, attempt, waits=is_first):
        print(f"Attempt {attempt} of {run.id} is not asked for any more.", file=sys.stderr)
        return
    if not is_first:
        _follow(run)
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


def _follow(run: RunDirectory) -> None:
    """Be another of the processes than the first, which alone writes; it ends when that does."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    environment = children.torch_environment(children.asks_hub(run))
    command = [sys.executable, "-m", launcher.WORKER_MODULE, str(run.path)]
    subprocess.run(command, cwd=children.PROJECT, env=environment, stdin=subprocess.DEVNULL, check=False)


def _is_wanted(run: RunDirectory, attempt: int, *, waits: bool) -> bool:
    """Whether an attempt is asked for. `waits`: and no process has begun it."""
    deadline = time.monotonic() + STALE_SECONDS
    while (status := run.status_on_disk()).attempt < attempt and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    return status.attempt == attempt and (status.state == "queued" if waits else not status.ended)


def main(folder: str, attempt: str, seconds: str) -> None:
    """See the module."""
    compute(Path(folder), int(attempt), float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
