"""vitals.json: the heartbeat of a worker, written about once a second, and the memory it held then; and control/killed,
why it was ended by force. Moments are seconds since boot, which steps of the wall clock do not move."""

from __future__ import annotations

import time
from pathlib import Path

from playground.runs.folder.files import read_record, write_atomically
from playground.runs.folder.records import Count, Record, Seconds

FILE = "vitals.json"


class Heartbeat(Record):
    """`beat`: when the main thread last came by; `longest_gap`: the longest it has stayed away while it trained;
    `limit_bytes`: the memory held and what was free; `patient`: while it does what takes long, such as loading."""

    boot_id: str = ""
    pid: Count = 0
    attempt: Count = 1
    started: Seconds = 0.0
    beat: Seconds = 0.0
    longest_gap: Seconds = 0.0
    patient: bool = True
    resident_bytes: Count = 0
    limit_bytes: Count = 0
    on_server_death: str = "survive"


class Killed(Record):
    """control/killed: the exit reason of an attempt, left by who ended it by force just before."""

    attempt: Count = 1
    reason: str = ""
    message: str = ""


def now() -> float:
    """The clock of `beat` and `started`: it does not count the time that a laptop slept."""
    return time.monotonic()


def read(folder: Path) -> Heartbeat | None:
    """What was written last, or None for a run without it."""
    return read_record(folder / FILE, Heartbeat)


def write(folder: Path, heartbeat: Heartbeat) -> None:
    """Replace the file. Raises: OSError."""
    write_atomically(folder / FILE, heartbeat.model_dump_json())


def killed_path(folder: Path) -> Path:
    """Where `Killed` lies, if it was left."""
    return folder / "control" / "killed"


def bound_to_server(folder: Path) -> bool:
    """True for a run that ends when its server does (see `runs.lifeline`)."""
    beat = read(folder)
    return beat is not None and beat.on_server_death == "die"
