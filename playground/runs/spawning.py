"""Who computes a run: a worker that this process starts, or something elsewhere that is asked to.

The launcher goes by it for every start, resumption and place in the queue. Imports nothing that starts anything.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import IO, NamedTuple

from playground.config import RunConfig
from playground.runs import queue
from playground.runs.folder.directory import RunDirectory

Spawn = Callable[[RunDirectory, IO[bytes]], subprocess.Popen[bytes]]


class Elsewhere(NamedTuple):
    """In the place of a `Spawn`, where this process does not start what computes a run (`cluster.elsewhere`, a GPU of
    ZeroGPU): such a run waits in the queue for `slot`. `call` asks for what computes it, and returns at once. Of the
    runs that it does not take, `here` starts the workers."""

    slot: str
    call: Callable[[RunDirectory], None]
    takes: Callable[[RunConfig], bool] = lambda config: True
    here: Spawn | None = None


Workers = Spawn | Elsewhere


class Assignment(NamedTuple):
    """The slot of a run, and what computes it."""

    slot: str
    workers: Workers | None


def assigned(config: RunConfig, workers: Workers | None) -> Assignment:
    """Where a run is computed. May ask a slow tool which devices there are."""
    if isinstance(workers, Elsewhere):
        if workers.takes(config):
            return Assignment(workers.slot, workers)
        workers = workers.here
    return Assignment(queue.slot_of(config), workers)
