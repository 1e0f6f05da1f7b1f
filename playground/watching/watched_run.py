"""The folder of a run that another program trains. It has what that program logs, and says of nothing else what it is.

It holds the run's lock, so the run is alive while this process is. Imports nothing that trains: it is loaded into the
process of another trainer.
"""

from __future__ import annotations

import itertools
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

from playground.config import RunConfig, yaml_io
from playground.errors import InvalidConfig, RunBusy
from playground.imports import log_columns
from playground.imports.log_files import Row
from playground.runs import half_made, launcher
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.exit_reasons import UNWATCHED
from playground.runs.folder.files import make_outputs
from playground.runs.folder.records import NOTE
from playground.runs.folder.requests import Request
from playground.runs.folder.writer import RunWriter

SLOT = "elsewhere"  # in the queue: no run here waits for it
STATUS_SECONDS = 1.0  # at least, between two updates without figures


class WatchedFacts(NamedTuple):
    """What is known of a training before its first figure: by what, how many updates, and settings of ours, by group,
    of which those that ours would not allow are left out."""

    trainer: str
    updates: int
    settings: dict[str, Any]


class WatchedRun:
    """One such run, and its only writer."""

    def __init__(self, outputs: Path, name: str, facts: WatchedFacts) -> None:
        """Make the folder, numbered where there is one of that name. Raises: OutputsNotWritable, RunBusy."""
        config = config_of(name, facts)
        self.run = _reserved(make_outputs(outputs), config, name)
        lock = launcher.take_lock(self.run)
        if lock is None:
            raise RunBusy(f"Another process watches {self.run.id}.")
        self._lock = lock
        self.run.publish(config)
        self.writer = RunWriter(self.run, facts.updates)
        self._names: set[str] = set()
        self._notes: set[str] = set()
        self._latest, self._moved_at = -1, 0.0
        self._updates = facts.updates
        self.writer.set_status(state="running", phase="training")

    def log(self, update: int, row: Row, **figures: Any) -> None:
        """The figures of an update, and what to know of them. A row without any that is known is left out."""
        self._names |= {name for name, value in row.items() if value is not None}
        selection = log_columns.known(self._names, drawn=True)
        metrics = log_columns.update(update, row, selection.columns)
        if update <= self._latest or all(getattr(metrics, name) is None for name in selection.columns):
            return
        for note in selection.notes:
            if note not in self._notes:
                self.writer.event(NOTE, note)
        self._notes |= set(selection.notes)
        self._latest = update
        metrics = metrics.model_copy(update=figures)
        self.writer.metrics(metrics)
        fields: dict[str, Any] = {"update": update}
        if metrics.seconds is not None:
            fields["worked_seconds"] = metrics.seconds
        self.writer.set_status(**fields)

    def move_to(self, update: int) -> None:
        """Where the training is, also between two rows of its log."""
        is_last = update >= self._updates
        if is_last or time.monotonic() - self._moved_at >= STATUS_SECONDS:
            self._moved_at = time.monotonic()
            self.writer.set_status(update=update)

    def end(self, why: str = "") -> bool:
        """Let go of the run: it has finished, if all its updates were seen; else it is no longer watched. Returns
        whether it has finished."""
        is_done = not why and self.writer.status.update >= self._updates
        if is_done:
            self.writer.finish("finished")
        else:
            done = self.writer.status.update
            sentence = f"It was watched until update {done} of {self._updates}."
            self.writer.finish("stopped", UNWATCHED, f"{sentence} {why}".strip())
        self._lock.close()
        return is_done


def config_of(name: str, facts: WatchedFacts) -> RunConfig:
    """What is known, as a configuration."""
    trainer = facts.trainer[:80]
    data: dict[str, Any] = {
        "kind": "watched",
        "name": name[:80],
        "trainer": trainer,
        "about": {"title": name[:80], "story": f"Trained by another program ({trainer}) and only watched here."},
        "score": {"normalise": "none"},  # as the trainer has it
        "behaviours": [],
        "checkpoint": {"every": 0},
        **facts.settings,
        "ppo": {"num_updates": facts.updates, **facts.settings.get("ppo", {})},
    }
    try:
        return yaml_io.from_dict(data)
    except InvalidConfig as error:
        for problem in error.problems:
            group, _, field = problem.field.rpartition(".")
            part = data
            if group:
                part = data[group]
            part.pop(field, None)
        return yaml_io.from_dict(data)


def _reserved(outputs: Path, config: RunConfig, name: str) -> RunDirectory:
    """The folder of that name, or with the first number behind it that is free. Raises: RunBusy."""
    stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:50] or "watched"
    names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    with launcher.one_at_a_time(outputs):
        run_id = next(name for name in names if not (outputs / name).exists())
        return half_made.reserved(outputs, config, run_id, Request(), SLOT)
