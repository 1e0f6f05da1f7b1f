"""What is known of a run beyond its status.json: its place in the queue, whether its worker has fallen silent, and from
where it could go on. static/train/notice.js puts it into words.
"""

from __future__ import annotations

import functools
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from playground.errors import InvalidConfig
from playground.runs import launcher, queue
from playground.runs.folder import checkpoints, exit_reasons, processes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status
from playground.ui.payloads.live import ResumeOfferData, StatusData, WhereData
from playground.ui.train import form


class RunState(NamedTuple):
    """`before`: runs that must end before a waiting one starts. `silent`: seconds since the worker last gave a sign,
    where that is too long. `stopping`: seconds since it was asked to stop."""

    before: int | None = None
    silent: float | None = None
    stopping: float | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """Changes when the page has something new to show; seconds it counts by itself."""
        return self.before, self.silent is not None, self.stopping is not None


def added(where: WhereData, state: RunState) -> StatusData:
    """What the page is told of where a run is."""
    return {**where, "before": state.before, "silent": state.silent, "stopping": state.stopping}


def of(run: RunDirectory, status: Status) -> RunState:
    """Of a run that has not ended; else nothing."""
    if status.ended:
        return RunState()
    if status.state == "queued" and run.id in queue.waiting(run.path.parent):
        return RunState(before=num_before(run))
    silent, stopping = None, None
    if seconds := processes.stalled(run):
        silent = round(seconds, 1)
    if asked_at := _stamp(run.control_path / "stop") / 1e9:
        stopping = round(max(0.0, time.time() - asked_at), 1)
    return RunState(silent=silent, stopping=stopping)


def num_before(run: RunDirectory) -> int:
    """How many runs train or wait on the same device before a waiting one."""
    outputs, slot = run.path.parent, queue.slot_held(run)
    ahead = queue.waiting(outputs)
    if run.id in ahead:
        ahead = ahead[: ahead.index(run.id)]
    living = [other.id for other in launcher.living_runs(outputs)]
    slots = (queue.slot_held(RunDirectory(outputs / name)) for name in {*ahead, *living} - {run.id})
    return sum(not queue.are_apart(other_slot, slot) for other_slot in slots)


def can_resume(status: Status, why_not: str) -> bool:
    """True where going on makes sense as the run is: it has ended early, for a reason that may pass. `why_not`: why
    its trainer cannot."""
    left = status.state != "stopped" or status.update < status.num_updates
    return status.resumable and left and not why_not


def resume_offer(run: RunDirectory) -> ResumeOfferData:
    """Where a run would go on: {from: an update, 0 for the beginning, None for nowhere; skipped: a sentence for each
    damaged checkpoint; instead: what to do}. Checking a checkpoint reads all of it, so the answer is kept.
    """
    status = run.status()
    try:
        why_not = run.config().why_not_resumed
    except InvalidConfig as error:
        return {"from": None, "skipped": [], "instead": f"Its configuration cannot be read. {error}"}
    if not can_resume(status, why_not):
        if not exit_reasons.reason_of(status.reason).resumable:
            why_not = ""
        return {"from": None, "skipped": [], "instead": why_not}
    stamps = tuple(_stamp(path / "MANIFEST.json") for path in sorted(run.checkpoints_path.glob("*")))
    with _offering:
        offer = _offer(run.path, status.attempt, status.updated_at, stamps)
    if offer["from"]:
        return offer
    return {**offer, "instead": form.with_labels(exit_reasons.remedy_afresh(status.reason))}


_offering = threading.Lock()


@functools.lru_cache(maxsize=64)
def _offer(path: Path, attempt: int, updated_at: float, stamps: tuple[int, ...]) -> ResumeOfferData:
    search = checkpoints.search(RunDirectory(path))
    return {"from": search.found.update if search.found else 0, "skipped": search.problems, "instead": ""}


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
