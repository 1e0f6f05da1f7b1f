"""The progress of a sweep: how many of its runs have ended, and how, are training, waiting, or missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from playground.runs.folder.records import Status
from playground.runs.sweeps.sweep_record import Sweep


class SweepProgress(NamedTuple):
    """Numbers of runs; they add up to the runs of the sweep. `failed` are also those that were interrupted."""

    finished: int = 0
    failed: int = 0
    stopped: int = 0
    running: int = 0
    waiting: int = 0
    deleted: int = 0
    unmade: int = 0

    @property
    def total(self) -> int:
        return sum(self)

    @property
    def done(self) -> int:
        return self.finished + self.failed + self.stopped + self.deleted

    @property
    def ended(self) -> bool:
        return not self.running and not self.waiting

    @property
    def state(self) -> str:
        """The sweep as one run: `running` and `queued` while something goes on, `failed` where a run of it has."""
        if not self.ended:
            if self.running:
                return "running"
            return "queued"
        if self.failed:
            return "failed"
        if self.stopped or self.unmade:
            return "stopped"
        return "finished"

    @property
    def words(self) -> str:
        """For a person: "12 of 15 done, 1 running, 2 waiting; 1 failed"."""
        going = _counted({"running": self.running, "waiting": self.waiting})
        amiss = {"failed": self.failed, "stopped": self.stopped, "deleted": self.deleted, "not made yet": self.unmade}
        first = ", ".join([f"{self.done} of {self.total} done", *going])
        if ends := ", ".join(_counted(amiss)):
            return f"{first}; {ends}"
        return first


def _counted(counts: Mapping[str, int]) -> list[str]:
    """Of each word how many, where there are any."""
    return [f"{count} {word}" for word, count in counts.items() if count]


def progress_of(sweep: Sweep, statuses: Mapping[str, Status]) -> SweepProgress:
    """How far a sweep is, by the statuses of those of its runs that are there."""
    deleted, unmade = sweep.missing(statuses)
    counts = dict.fromkeys(SweepProgress._fields, 0) | {"deleted": len(deleted), "unmade": len(unmade)}
    for status in statuses.values():
        if status.state in ("finished", "stopped"):
            counts[status.state] += 1
        elif status.ended:
            counts["failed"] += 1
        elif status.state == "queued":
            counts["waiting"] += 1
        else:
            counts["running"] += 1
    return SweepProgress(**counts)
