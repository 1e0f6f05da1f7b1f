"""The processes that this one starts to train: what they are given, their exit codes, and no zombies.

A worker needs nobody; but who started it learns its exit code, and has to fetch it, or the system keeps the dead
process. The launcher adds, the supervisor asks. Nothing here says whether a run lives: that is its lock.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, NamedTuple

from playground.errors import InvalidConfig
from playground.runs.folder.directory import RunDirectory
from playground.runs.start import lifeline
from playground.safety import redaction
from playground.setup import checks

DYING_SECONDS = 1.0
PROJECT = Path(__file__).resolve().parents[3]


class Worker(NamedTuple):
    """One that was started here, and for which attempt of its run."""

    run: RunDirectory
    attempt: int
    process: subprocess.Popen[bytes]


_lock = threading.Lock()
_workers: dict[Path, Worker] = {}


def torch_environment(hub: bool = False) -> dict[str, str]:
    """The environment of a process that computes: what it needs, and the hub's token for one that downloads (`hub`).

    Waiting threads sleep instead of spinning: with a browser busy on the same cores, spinning made an update 20 times
    as slow. Small models are spared the price of sleeping by `training.process.session.limit_threads`.
    """
    return {
        "OMP_WAIT_POLICY": "PASSIVE",
        **redaction.needed_variables(os.environ, hub=hub),
        "PYTHONUNBUFFERED": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }


def asks_hub(run: RunDirectory) -> bool:
    """May the worker of a run have to download something?"""
    try:
        return checks.asks_hub(run.config())
    except InvalidConfig:  # which the worker will say
        return False


def new_process(
    module: str,
    *arguments: str,
    descriptor: int,
    variable: str,
    output: IO[bytes] | int,
    hub: bool = False,
    bound: bool = False,
) -> subprocess.Popen[bytes]:
    """`python -m module arguments`, detached from us but for our policy of what it does when we die.

    Args:
        descriptor: of an open file that it inherits; the environment's `variable` names it. output: what it prints.
        hub: it may have to download something. bound: it ends with us, whatever our policy.

    Raises:
        OSError: the system gives no process.
    """
    handed = lifeline.for_worker(bound)
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        pass_fds=(descriptor, *handed.descriptors),
        start_new_session=True,
        umask=0o077,  # what it writes is for this user alone
        cwd=PROJECT,
        env={**torch_environment(hub), variable: str(descriptor), **handed.environment},
    )


def add(run: RunDirectory, process: subprocess.Popen[bytes]) -> None:
    """Remember the worker of a run; an earlier attempt's is forgotten."""
    with _lock:
        _workers[run.path.resolve()] = Worker(run, run.status_on_disk().attempt, process)


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
