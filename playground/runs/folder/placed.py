"""placed.json: where an attempt of a run is computed that is not computed here.

Its folder is then a mirror: a driver (`playground.cluster`) holds the lock, brings the records in, and takes requests
out. Written by the driver at the start of each attempt; read by who says what a run died of, and by who shows it.
"""

from __future__ import annotations

from pathlib import Path

from playground.runs.folder.files import read_record, write_atomically
from playground.runs.folder.records import Count, Record

FILE = "placed.json"
LOST = "place_lost"  # the reason of an attempt whose place, or the way to it, is gone


class Placed(Record):
    """Which attempt, on which kind of place (ray, slurm, jobs), at which node as far as that is known, and how often
    the run has lost its place before."""

    attempt: Count = 1
    place: str = ""
    node: str = ""
    lost: Count = 0


def read(folder: Path) -> Placed | None:
    """Where the run was last placed; None for one that was always computed here."""
    return read_record(folder / FILE, Placed)


def write(folder: Path, placed: Placed) -> None:
    """Replace the file. Raises: OSError."""
    write_atomically(folder / FILE, placed.model_dump_json())
