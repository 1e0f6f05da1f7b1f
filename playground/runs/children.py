"""The workers that this process has started: their exit codes, and no zombies.

A worker needs nobody; but who started it learns its exit code, and has to fetch it, or the system keeps the dead
process. The launcher adds, the reconciler asks. Nothing here says whether a run lives: that is its lock.
"""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

from playground.runs.directory import RunDirectory

_lock = threading.Lock()
_processes: dict[Path, subprocess.Popen[bytes]] = {}


def add(run: RunDirectory, process: subprocess.Popen[bytes]) -> None:
    """Remember the worker of a run; an earlier attempt's is forgotten."""
    with _lock:
        _processes[run.path.resolve()] = process


def exit_code(run: RunDirectory) -> int | None:
    """How the worker of a run ended, minus the signal that killed it; None: it lives, or is not ours."""
    with _lock:
        process = _processes.get(run.path.resolve())
    return None if process is None else process.poll()


def forget_ended() -> None:
    """Fetch the dead."""
    with _lock:
        for path in [path for path, process in _processes.items() if process.poll() is not None]:
            del _processes[path]
