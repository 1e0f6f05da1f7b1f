"""Signals to workers, and to nobody else: only where the lock is held and pid, start and boot name the same process.

The page, the command line and the server's loop end runs with this. Stopping is a request first, and what takes
requests is the worker itself; force comes after a grace, and then goes to everything that the worker has started.
"""

from __future__ import annotations

import contextlib
import os
import signal as signals
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil

from playground.runs.folder import vitals
from playground.runs.folder.directory import RunDirectory
from playground.safety.process_identity import Identity, boot_id, identity

GRACE_SECONDS = 10.0
TERM_SECONDS = 2.0  # after SIGTERM, before SIGKILL
KILL_SECONDS = 5.0  # for the kernel to bury what was killed
POLL_SECONDS = 0.05
LEAST_SILENCE_SECONDS = 15.0  # before a run is called stalled
LOADING_SILENCE_SECONDS = 180.0
FIRST_WORD_SECONDS = 30.0  # for a worker that was given its run, before it is called stalled
STANDBY_VARIABLE = "PLAYGROUND_CHANNEL_FD"  # in the environment of a worker that waits for its run (runs.standby)
GAPS_OF_PATIENCE = 4  # times the longest silence that this run has shown while all was well


class Ended(NamedTuple):
    """What `end` did. `survivors` are processes of the run that live on in spite of all; `alive` is the worker."""

    alive: bool
    seconds: float
    signals: tuple[str, ...] = ()
    survivors: tuple[int, ...] = ()

    @property
    def sentence(self) -> str:
        """For a person."""
        if self.alive:
            return "It could not be ended: its process cannot be told for certain, or does not die."
        if self.survivors:
            return f"It has ended, but processes of it live on: {', '.join(map(str, self.survivors))}."
        return f"It was ended by force ({', '.join(self.signals)})." if self.signals else "It ended by itself."


def worker_of(run: RunDirectory) -> psutil.Process | None:
    """The process of the run's living worker; None if there is none, or if it cannot be told for certain."""
    if not run.is_alive():
        return None
    status = run.status_on_disk()
    if status.pid < 2 or status.pid == os.getpid():
        return None
    try:
        worker = psutil.Process(status.pid)
    except psutil.Error:
        return None
    found = identity(status.pid)
    if found is None or not found.is_same(Identity(*(getattr(status, name) for name in Identity._fields))):
        return None
    handed_over = status.state == "queued" and _has_waited(worker)  # and has not taken the lock that it was sent
    return worker if handed_over or _has_open(worker.pid, run.lock_path) else None


def end(run: RunDirectory, grace_seconds: float = GRACE_SECONDS) -> Ended:
    """Ask the run to stop; after the grace end its worker and all it has started by force, and look who is left.

    Returns at once for a run that has no living worker. A worker that cannot be told for certain gets no signal.
    """
    begun, attempt = time.monotonic(), run.status_on_disk().attempt
    worker = worker_of(run)
    if not run.is_alive():
        return Ended(False, 0.0)

    def has_left() -> bool:  # also where somebody has taken it up again since: the next attempt is not to be ended
        return not run.is_alive() or run.status_on_disk().attempt != attempt

    family = _family(worker) if worker else set()
    with contextlib.suppress(OSError):  # a disk that takes nothing is no reason to let it live
        run.request_stop()
    sent: list[str] = []
    if not _wait_for(has_left, grace_seconds):
        worker = worker_of(run)
        if worker is None:
            return Ended(run.is_alive(), time.monotonic() - begun)
        family |= _family(worker)
        _leave_note(run)
        for signal, patience in ((signals.SIGTERM, TERM_SECONDS), (signals.SIGKILL, KILL_SECONDS)):
            for member in (worker, *family):
                _send(member, signal)
            sent.append(signal.name)
            if _wait_for(has_left, patience):
                break
    if worker is not None and not _is_there(worker):
        family |= _session_of(worker.pid)  # its number is not given away while its session has members
    return Ended(not has_left(), time.monotonic() - begun, tuple(sent), _bury(family))


def end_own_family() -> None:
    """End by force what this process has started: its descendants, and all others of its session if it leads one."""
    _bury(_family(psutil.Process()))


def silent_seconds(run: RunDirectory) -> float:
    """How long the living worker has not come by its heartbeat, or has not said its first word; 0 for one that is not
    alive or has none."""
    status, found = run.status_on_disk(), vitals.read(run.path)
    if not run.is_alive():
        return 0.0
    if status.state == "queued" and status.pid:
        return max(0.0, time.time() - status.updated_at)
    if found is None or found.boot_id != boot_id() or found.pid != status.pid:
        return 0.0
    return max(0.0, vitals.now() - found.beat)


def patience_seconds(run: RunDirectory) -> float:
    """The silence that is still nothing unusual for this run: it follows the longest that it has shown."""
    if run.status_on_disk().state == "queued":
        return FIRST_WORD_SECONDS
    found = vitals.read(run.path)
    if found is None or found.patient:
        return LOADING_SILENCE_SECONDS
    return max(LEAST_SILENCE_SECONDS, GAPS_OF_PATIENCE * found.longest_gap)


def stalled(run: RunDirectory) -> float:
    """Seconds for which a living run has been silent, if that is longer than it ever takes; else 0. It may go on yet,
    so nobody is ended for it."""
    silent = silent_seconds(run)
    return silent if silent > patience_seconds(run) else 0.0


def _has_open(pid: int, path: Path) -> bool:
    """False if the process certainly does not have the file open; True where that cannot be seen."""
    try:
        wanted = path.stat()
        descriptors = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return True
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            if os.path.samestat(descriptor.stat(), wanted):
                return True
    return False


def _has_waited(process: psutil.Process) -> bool:
    """Whether a process was started to wait for a run."""
    try:
        return STANDBY_VARIABLE in process.environ()
    except (psutil.Error, OSError):
        return False


def _family(worker: psutil.Process) -> set[psutil.Process]:
    """What the worker has started: its descendants, and every other member of its session if it leads one."""
    members: set[psutil.Process] = set()
    with contextlib.suppress(psutil.Error):
        members = set(worker.children(recursive=True))
    if _session(worker.pid) == worker.pid:
        members |= _session_of(worker.pid)
    return {member for member in members if member.pid not in (worker.pid, os.getpid())}


def _session_of(leader: int) -> set[psutil.Process]:
    members = set()
    for pid in psutil.pids():
        if pid > 1 and _session(pid) == leader:
            with contextlib.suppress(psutil.Error):
                members.add(psutil.Process(pid))
    return members


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def _bury(family: set[psutil.Process]) -> tuple[int, ...]:
    """Kill what is left of the family; the pids of those that live on in spite of it."""

    def all_gone() -> bool:
        left = [member for member in family if _is_there(member)]
        for member in left:
            _send(member, signals.SIGKILL)
        return not left

    _wait_for(all_gone, KILL_SECONDS)
    return tuple(member.pid for member in family if _is_there(member))


def _is_there(process: psutil.Process) -> bool:
    """False for one that is dead and not buried yet, and for another with its pid."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _send(process: psutil.Process, signal: int) -> None:
    """Signal exactly this process. It is pinned first where the system can do that, and looked at again then, so that
    its number cannot pass to another between the look and the signal."""
    if process.pid < 2 or process.pid == os.getpid():
        return
    with contextlib.suppress(psutil.Error, OSError):
        if not hasattr(os, "pidfd_open"):
            process.send_signal(signal)
            return
        descriptor = os.pidfd_open(process.pid)
        try:
            if _is_there(process):
                signals.pidfd_send_signal(descriptor, signal)
        finally:
            os.close(descriptor)


def _leave_note(run: RunDirectory) -> None:
    silent = stalled(run)
    note = vitals.Killed(
        time=time.time(), attempt=run.status_on_disk().attempt, silent_seconds=silent or silent_seconds(run),
        stalled=bool(silent),
    )  # fmt: skip
    with contextlib.suppress(OSError):  # without the note the kill is told as a kill
        vitals.killed_path(run.path).write_text(note.model_dump_json(), encoding="utf-8")


def _wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
