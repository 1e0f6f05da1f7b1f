"""placed.json: by which backend an attempt of a run is computed that has its worker elsewhere.

A driver (`playground.runs.cluster`) drives its jobs, and writes this file; so does who hands the run over to it,
and the node puts its name in. While the driver has it, the run counts as alive, whether or not the lock of its
worker can be seen from here.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field

from playground.runs.folder.files import read_record, write_atomically
from playground.runs.folder.records import Count, Record, Status

FILE = "placed.json"
LOST = "place_lost"  # the reason of an attempt whose node was taken away, or lost
FAULTS = (LOST, "killed", "server_lost")  # ends of a worker that are none of its run: a driver takes it up again
AGAIN = "waiting for another node"


class Placed(Record):
    """Which attempt, by which backend (ray, slurm, jobs) with which options, and at which node once that is known.

    `driver` has it; empty for none any more. `folder` is the run's own: a copy has no driver. `submitted`
    once its job was. `update`: what had been made before. `lost`: how many attempts before have lost their nodes.
    """

    attempt: Count = 1
    place: str = ""
    options: list[str] = Field(default=[])
    driver: str = Field(default="", pattern=r"^[a-z0-9-]{0,60}$")
    folder: str = ""
    node: str = ""
    submitted: bool = False
    update: Count = 0
    lost: Count = 0

    def holds(self, folder: Path, status: Status) -> bool:
        """Whether a driver has what this status is of."""
        going = self.attempt == status.attempt and (not status.ended or status.reason in FAULTS)
        return bool(self.driver) and going and self.folder == os.path.realpath(folder)


def read(folder: Path) -> Placed | None:
    """Where the run was last placed; None for one that was always computed here."""
    return read_record(folder / FILE, Placed)


def write(folder: Path, placed: Placed) -> None:
    """Replace the file. Raises: OSError."""
    write_atomically(folder / FILE, placed.model_dump_json())


def is_elsewhere(folder: Path, attempt: int) -> bool:
    """For the worker: whether it computes this attempt for a driver."""
    found = read(folder)
    return found is not None and bool(found.driver) and found.attempt == attempt
