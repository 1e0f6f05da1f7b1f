"""Making the folder of a run under the lock for starting. What a killed maker leaves gives its name away."""

from __future__ import annotations

import time
from pathlib import Path

from playground.config import RUN_ID, RunConfig
from playground.runs.folder import requests
from playground.runs.folder.directory import BIN, RunDirectory
from playground.runs.folder.requests import Request


def reserved(outputs: Path, config: RunConfig, run_id: str | None, request: Request, slot: str) -> RunDirectory:
    """The folder of a new run, with who asks for it. Raises: see `RunDirectory.reserve`."""
    left = outputs / (run_id or "")
    if run_id and RUN_ID.fullmatch(run_id) and left.is_dir() and not left.is_symlink():
        names = {path.name for path in left.iterdir()}
        if not names or ("control" in names and "config.yaml" not in names):  # else it was not made here
            (outputs / BIN).mkdir(exist_ok=True)
            left.rename(outputs / BIN / f"{run_id}-{time.time_ns()}")
    run = RunDirectory.reserve(outputs, config, run_id)
    requests.record(run, request, slot)
    return run
