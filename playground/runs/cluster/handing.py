"""Hands runs over to a driver, which has a backend compute them, and starts the drivers that are not there.

Called by who starts or resumes a sweep; the page looks again and again whether every driver is there.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from playground.runs import children, queue
from playground.runs.cluster.backend import check
from playground.runs.folder import placed
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import private
from playground.runs.folder.placed import Placed
from playground.runs.launcher import LOCK_FD_VARIABLE, Elsewhere

DRIVER_MODULE = "playground.runs.cluster.driver"
LOGS = ".drivers"  # in the outputs folder: what drivers print, and the locks that they hold


class Driven(NamedTuple):
    """A run of which a driver is in charge."""

    run: RunDirectory
    placed: Placed


def driven(outputs: Path) -> Iterator[Driven]:
    """Every run of an outputs folder of which a driver is in charge, in the order of their names."""
    for path in sorted(outputs.glob(f"*/{placed.FILE}")):
        run, found = RunDirectory(path.parent), placed.read(path.parent)
        if found is not None and found.holds(run.path, run.status_on_disk()):
            yield Driven(run, found)


def elsewhere(name: str, backend: str, options: Sequence[str]) -> Elsewhere:
    """For the launcher, in the place of what starts a worker: runs that are started or resumed with it are handed over
    to a driver, and wait for a node.

    Args:
        name: of the sweep; the driver's log is `.drivers/NAME.log`.

    Raises:
        InvalidConfig: an unknown backend, or one that cannot be used from here.
    """
    check(backend, options)

    def hand_over(run: RunDirectory) -> None:
        folder, attempt = os.path.realpath(run.path), run.status_on_disk().attempt
        where = Placed(attempt=attempt, place=backend, options=[*options], driver=name, folder=folder)
        placed.write(run.path, where)
        queue.leave(run)
        ensure_driver(run.path.parent, name)

    return Elsewhere(backend, hand_over)


def ensure_drivers(outputs: Path) -> None:
    """Start the drivers that are not there of runs that have one in charge. Raises: OSError."""
    for name in sorted({one.placed.driver for one in driven(outputs)}):
        ensure_driver(outputs, name)


def ensure_driver(outputs: Path, name: str) -> None:
    """Start a driver, with its lock, unless there is one. Raises: OSError, if it cannot be."""
    folder = outputs / LOGS
    folder.mkdir(mode=0o700, exist_ok=True)
    with (
        contextlib.suppress(BlockingIOError),
        open(folder / f"{name}.lock", "wb", opener=private) as lock,
        open(folder / f"{name}.log", "ab", opener=private) as log,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        driver = children.new_process(
            DRIVER_MODULE,
            str(outputs.resolve()),
            name,
            descriptor=lock.fileno(),
            variable=LOCK_FD_VARIABLE,
            output=log,
            hub=True,
        )
        threading.Thread(target=driver.wait, daemon=True).start()  # else it would stay as a zombie of this process
