"""A note in the control folder that says: we have ended this worker by force, it was no accident.

Written just before the signal by `runs.end.processes`, read by `runs.folder.evidence` when somebody asks what the run
died of.
"""

from __future__ import annotations

import time
from pathlib import Path

from playground.runs.folder.files import read_record
from playground.runs.folder.records import Count, Record, Seconds


class Killed(Record):
    """By force, and how long the worker had been silent then; `stalled` if that was longer than it ever takes."""

    time: Seconds = 0.0
    attempt: Count = 1
    silent_seconds: Seconds = 0.0
    stalled: bool = False


def leave(folder: Path, attempt: int, silent_seconds: float, stalled: bool) -> None:
    """Write the note. Raises: OSError."""
    note = Killed(time=time.time(), attempt=attempt, silent_seconds=silent_seconds, stalled=stalled)
    _path(folder).write_text(note.model_dump_json(), encoding="utf-8")


def killed(folder: Path) -> Killed | None:
    """The note, if there is one."""
    return read_record(_path(folder), Killed)


def _path(folder: Path) -> Path:
    return folder / "control" / "killed"
