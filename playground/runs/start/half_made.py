"""Runs that are being made, and those whose maker was killed before they were runs.

A mark in `<outputs>/.making/` stands from before a run's folder is there until its configuration is, which makes it a
run. Who takes long to make one (a fork copies a checkpoint) locks the mark, so the kernel tells whether the maker
lives. What is left of a dead one is taken away by who makes a run of that name, and by the supervisor.

All but `left` are for who holds the folder's lock for starting (`launcher.one_at_a_time`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from playground.config import RUN_ID, RunConfig
from playground.runs.folder import requests
from playground.runs.folder.directory import GRACE_SECONDS, MAKING, RunDirectory
from playground.runs.folder.files import is_locked, private
from playground.runs.folder.requests import Request


def reserved(outputs: Path, config: RunConfig, run_id: str | None, request: Request, slot: str) -> RunDirectory:
    """The folder of a new run, with who asks for it. What a dead maker left under its name goes first.

    Raises: see `RunDirectory.reserve`.
    """
    if run_id and RUN_ID.fullmatch(run_id):
        clear(RunDirectory(outputs / run_id))
    run = RunDirectory.reserve(outputs, config, run_id)
    requests.record(run, request, slot)
    return run


@contextlib.contextmanager
def being_made(run: RunDirectory) -> Iterator[None]:
    """Hold the mark of a run that was just reserved, also after the lock for starting was let go of."""
    with open(run.making_path, "ab", opener=private) as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)  # a supervisor may have it for a moment, to see whether this lives
        try:
            yield
        finally:
            fcntl.flock(mark, fcntl.LOCK_UN)  # not by closing: a fork of this moment has a copy of the open file


def left(outputs: Path) -> list[RunDirectory]:
    """Those whose makers seem to be dead: the mark is free, and not of this moment."""
    found = []
    for mark in (Path(outputs) / MAKING).glob("*"):
        with contextlib.suppress(FileNotFoundError):
            if RUN_ID.fullmatch(mark.name) and abs(time.time() - mark.lstat().st_mtime) > GRACE_SECONDS:
                found.append(RunDirectory(Path(outputs) / mark.name))
    return [run for run in found if not is_locked(run.making_path)]


def clear(run: RunDirectory) -> None:
    """Take away what a dead maker has left: first what is remembered of the request, or it would count as done, then
    the folder, the mark last. Who dies in here leaves the rest to the next."""
    if not os.path.lexists(run.making_path) or is_locked(run.making_path):
        return
    if not run.config_path.is_file():
        remove(run)
    if run.config_path.is_file() or not os.path.lexists(run.path):
        run.making_path.unlink(missing_ok=True)


def remove(run: RunDirectory) -> None:
    """Take away the folder of a run that is none yet, and what is remembered of its request. By its maker, too."""
    requests.forget(run)
    shutil.rmtree(run.path, ignore_errors=True)
