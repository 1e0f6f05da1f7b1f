"""The training processes that this one starts: their environment, their exit codes, and no zombies."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

from playground import redaction
from playground.config import local_only
from playground.errors import InvalidConfig
from playground.runs import lifeline
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import private
from playground.setup import checks

DYING_SECONDS = 1.0
TRACKING_MODULE = "playground.exports.tracking"
TRACKERS = "trackers"  # folder of the run: what each tracker has got, and what it printed
PROJECT = Path(__file__).resolve().parents[2]


_lock = threading.Lock()
_workers: dict[Path, tuple[int, subprocess.Popen[bytes]]] = {}  # by the run's folder: for which attempt, its process
_tracking: list[subprocess.Popen[bytes]] = []


def torch_environment(hub: bool = False) -> dict[str, str]:
    """The environment of a process that computes, with the hub's token for one that downloads (`hub`). Waiting threads
    spin for some 50 microseconds and then sleep: with a browser busy on the same cores, spinning on made an update 20
    times as slow, and sleeping at once a model of 135 million weights 1.6 times."""
    return {
        "GOMP_SPINCOUNT": "10000",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # as nvidia-smi counts, by whose numbers a GPU is chosen
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


def is_trial(run: RunDirectory) -> bool:
    """Whether it is one update of a run that may never start."""
    with contextlib.suppress(InvalidConfig):
        return run.config().kind == "trial"
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
    """`python -m module arguments`, detached from us but for our policy of what it does when we die. It inherits the
    open file `descriptor`, which the environment's `variable` names. Raises: OSError."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        pass_fds=(descriptor,),
        start_new_session=True,
        umask=0o077,  # what it writes is for this user alone
        cwd=PROJECT,
        env={**torch_environment(hub), variable: str(descriptor), **lifeline.for_worker(bound)},
    )


def track(run: RunDirectory) -> None:
    """Start what sends a run to the trackers that it names, with their keys. Not where others are served; and what
    cannot be started is no reason not to train."""
    with contextlib.suppress(InvalidConfig, OSError):
        for name in () if local_only.is_shared() else getattr(run.config(), "trackers", ()):
            (run.path / TRACKERS).mkdir(mode=0o700, exist_ok=True)
            keys = {key: value for key, value in os.environ.items() if key.startswith(("WANDB_", "TRACKIO_"))}
            with open(run.path / TRACKERS / f"{name}.log", "ab", opener=private) as log, _lock:
                command = [sys.executable, "-m", TRACKING_MODULE, str(run.path.resolve()), name]
                environment = redaction.needed_variables(os.environ, hub=True) | keys
                how: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": subprocess.STDOUT}
                process = subprocess.Popen(
                    command, **how, start_new_session=True, umask=0o077, cwd=PROJECT, env=environment
                )
                _tracking.append(process)


def add(run: RunDirectory, process: subprocess.Popen[bytes]) -> None:
    """Remember the worker of a run; an earlier attempt's is forgotten."""
    with _lock:
        _workers[run.path.resolve()] = run.status_on_disk().attempt, process


def exit_code(run: RunDirectory) -> int | None:
    """How the worker of a run ended, minus the signal that killed it; None: it lives, or is not ours. Its lock is free
    a moment before the system gives the exit code: that moment is waited for."""
    with _lock:
        attempt, process = _workers.get(run.path.resolve(), (0, None))
    if process is None or attempt != run.status_on_disk().attempt:  # another process has resumed the run since
        return None
    try:
        return process.wait(DYING_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def bury() -> None:
    """Fetch the exit codes of those that have died. They stay known for `exit_code`."""
    with _lock:
        for process in (*(process for _, process in _workers.values()), *_tracking):
            process.poll()
