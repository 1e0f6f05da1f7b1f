"""placed.json: by which backend an attempt of a run is computed that has its worker elsewhere.

Written by who hands the run over, and by who looks after its job (`playground.runs.cluster`). While there is a job, the
run counts as alive, whether or not the lock of its worker can be seen from here.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field

from playground.runs.folder.files import read_record, write_atomically
from playground.runs.folder.records import Count, Record, Seconds, Status

FILE = "placed.json"
LOST = "place_lost"  # the reason of an attempt whose node was taken away, or lost
GONE = ("jobs", "local")  # backends of earlier versions: nothing looks after a job there


class Placed(Record):
    """Which attempt, by which backend (ray, slurm) with which options, and the name of its job.

    `folder` is the run's own: a copy of it has no job. `missing_since`: when the job was found to be gone; 0 if it is
    there.
    """

    attempt: Count = 1
    place: str = ""
    options: list[str] = Field(default=[])
    job: str = ""
    folder: str = ""
    missing_since: Seconds = 0.0

    def holds(self, folder: Path, status: Status) -> bool:
        """Whether a job has what this status is of."""
        going = self.attempt == status.attempt and not status.ended
        return bool(self.job) and self.place not in GONE and going and self.folder == os.path.realpath(folder)


def read(folder: Path) -> Placed | None:
    """Where the run was last placed; None for one that was always computed here."""
    return read_record(folder / FILE, Placed)


def write(folder: Path, placed: Placed) -> None:
    """Replace the file. Raises: OSError."""
    write_atomically(folder / FILE, placed.model_dump_json())


def is_elsewhere(folder: Path, attempt: int) -> bool:
    """For the worker: whether it computes this attempt for a job."""
    place = read(folder)
    return place is not None and bool(place.job) and place.attempt == attempt
