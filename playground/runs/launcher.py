"""Starts workers. A worker is detached: it outlives the browser, the page and the server that started it.

The lock is taken here, before the process exists, and handed down with the open file, so there is no moment in which
a started run looks dead. Output goes to worker.log, never into a pipe that somebody would have to drain.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from playground import checks
from playground.config import RunConfig
from playground.errors import RunBusy, RunNotResumable
from playground.runs import lifeline, used_models
from playground.runs.directory import RunDirectory, make_outputs

LOCK_FD_VARIABLE = "PLAYGROUND_LOCK_FD"
LOCK_PATIENCE_SECONDS = 1.0
WORKER_MODULE = "playground.training.worker"
PROJECT = Path(__file__).resolve().parents[2]


Spawn = Callable[[RunDirectory, IO[bytes]], subprocess.Popen[bytes]]


class Started(NamedTuple):
    """A run that was started or resumed, and its worker."""

    run: RunDirectory
    process: subprocess.Popen[bytes]


def start(config: RunConfig, outputs: Path, run_id: str | None = None, spawn: Spawn | None = None) -> Started:
    """Create a run and start its worker.

    Args:
        spawn: run and its lock -> the worker's process; default: a new process (see `runs.standby` for a waiting one).

    Raises:
        RunBusy: if another run in `outputs` is alive. RunExists, OutputsNotWritable, InvalidConfig: see
            `RunDirectory.reserve`.
    """
    outputs = make_outputs(outputs)
    config = checks.located(config, outputs)
    with one_at_a_time(outputs):
        busy = living_run(outputs)
        if busy:
            raise RunBusy(f"The run `{busy.id}` is still training. Stop it or wait for it, then start again.")
        run = RunDirectory.reserve(outputs, config, run_id)
        with open(run.lock_path, "wb") as lock:
            take(lock)
            run.publish(config)
            used_models.remember(outputs, config.model.source)
            return Started(run, (spawn or new_worker)(run, lock))


def resume(run: RunDirectory, spawn: Spawn | None = None) -> Started:
    """Let an ended run go on from its newest valid checkpoint, as its next attempt; without one, from the beginning.

    Raises:
        RunBusy: if it, or another run in its outputs folder, is alive. RunNotResumable: if there is nothing left to do.
        InvalidConfig: a damaged configuration.
    """
    with one_at_a_time(run.path.parent):
        busy = living_run(run.path.parent)
        if busy:
            raise RunBusy(f"The run `{busy.id}` is still training. Stop it or wait for it, then resume this one.")
        config = run.config()
        before = run.status()
        if before.state == "finished":
            raise RunNotResumable(f"{run.id} has finished all its {config.ppo.num_updates} updates.")
        with open(run.lock_path, "wb") as lock:
            take(lock)
            for request in run.control_path.glob("*"):
                request.unlink(missing_ok=True)  # asked of the attempt that has ended
            run.queue_again(before, config.ppo.num_updates)
            return Started(run, (spawn or new_worker)(run, lock))


def living_run(outputs: Path) -> RunDirectory | None:
    """The run of this outputs folder whose worker is alive, if there is one."""
    for lock in Path(outputs).glob("*/worker.lock"):
        run = RunDirectory(lock.parent)
        if run.is_alive():
            return run
    return None


def adopt_lock() -> IO[bytes] | None:
    """In the worker: the lock file handed down by the launcher. Keep the result alive for the life of the process."""
    descriptor = os.environ.pop(LOCK_FD_VARIABLE, "")
    if not descriptor:
        return None
    os.set_inheritable(int(descriptor), False)
    return os.fdopen(int(descriptor), "wb")


def take_lock(run: RunDirectory) -> IO[bytes] | None:
    """In a worker started by hand: take the run's lock, or None if another worker has it."""
    lock = open(run.lock_path, "wb")  # noqa: SIM115 - held for the life of the process
    try:
        take(lock)
        return lock
    except RunBusy:
        lock.close()
        return None


def torch_environment() -> dict[str, str]:
    """The environment of a process that computes.

    Waiting threads sleep instead of spinning: with a browser busy on the same cores, spinning made an update 20 times
    as slow. Small models are spared the price of sleeping by `training.session.limit_threads`.
    """
    return {
        "OMP_WAIT_POLICY": "PASSIVE",
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }


def new_worker(run: RunDirectory, lock: IO[bytes], module: str = "") -> subprocess.Popen[bytes]:
    """A new process that runs `module` (by default the worker of PPO runs) on a run's folder and holds its lock."""
    handed = lifeline.for_worker()
    with open(run.log_path, "ab") as log:  # the log of an earlier attempt is kept
        return subprocess.Popen(
            [sys.executable, "-m", module or WORKER_MODULE, str(run.path.resolve())],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(lock.fileno(), *handed.descriptors),
            start_new_session=True,
            cwd=PROJECT,
            env={**torch_environment(), LOCK_FD_VARIABLE: str(lock.fileno()), **handed.environment},
        )


def take(lock: IO[bytes]) -> None:
    """Take a run's lock; somebody who just looks whether the run lives may hold it for a moment."""
    deadline = time.monotonic() + LOCK_PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise RunBusy("The run's lock is held by another process. Start again.") from None
            time.sleep(0.005)


@contextlib.contextmanager
def one_at_a_time(outputs: Path) -> Iterator[None]:
    """Hold the outputs folder's lock for starting."""
    with open(outputs / ".start.lock", "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
