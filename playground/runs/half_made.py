"""Runs whose maker was killed before they were runs.

A mark in `<outputs>/.making/` stands from before a run's folder is there until its configuration is, which makes it a
run. Both are made under the folder's lock for starting, so under that lock every mark is of a dead maker.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

from playground.config import RUN_ID, RunConfig
from playground.runs.folder import requests
from playground.runs.folder.directory import GRACE_SECONDS, MAKING, RunDirectory
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


def left(outputs: Path) -> list[RunDirectory]:
    """Those with a mark that is not of this moment, so that a maker at work is rarely waited for."""
    found = []
    for mark in (Path(outputs) / MAKING).glob("*"):
        with contextlib.suppress(FileNotFoundError):
            if RUN_ID.fullmatch(mark.name) and abs(time.time() - mark.lstat().st_mtime) > GRACE_SECONDS:
                found.append(RunDirectory(Path(outputs) / mark.name))
    return found


def clear(run: RunDirectory) -> None:
    """Under the lock for starting, take away what a dead maker has left: the folder first, the mark last."""
    if os.path.lexists(run.making_path) and not run.config_path.is_file():
        shutil.rmtree(run.path, ignore_errors=True)
    if run.config_path.is_file() or not os.path.lexists(run.path):
        run.making_path.unlink(missing_ok=True)
