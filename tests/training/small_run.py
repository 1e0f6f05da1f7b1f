"""A run of a shipped model that is trained within the test, by the session that a worker has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playground.config.yaml_io import from_dict
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.training.process.session import Session


def trained(folder: Path, settings: dict[str, Any]) -> Session:
    """The session of a run of these settings, after its last update."""
    config = from_dict(settings)
    run = RunDirectory.create(folder, config, "r")
    made = Session(run, config, RunWriter(run, config.ppo.num_updates), lambda: None)
    made.begin()
    made.evaluate_if_due()
    made.train()
    return made
