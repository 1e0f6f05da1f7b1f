"""Signals to workers, and to no other process: only where the lock is held, and pid, start and boot name its holder.
Stopping is a request first; force comes after a grace, and goes to the worker's whole process group."""

from __future__ import annotations

import contextlib
import os
import signal as signals
import time
from collections.abc import Callable
from typing import NamedTuple

import psutil

from playground.process_identity import Identity, boot_id, identity
from playground.runs.folder import changes, heartbeat
from playground.runs.folder.directory import RunDirectory

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
    """What `end` did: the signals that it sent, and whether the worker is still there."""

    alive: bool
    signals: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """For a person."""
        if self.alive:
            return "It could not be ended: its process cannot be identified for certain, or does not die."
        if self.signals:
            return f"It was ended by force ({', '.join(self.signals)})."
        return "It ended by itself."


def worker_of(run: RunDirectory) -> psutil.Process | None:
    """The process of the run's living worker; None if there is none, or if it cannot be told for certain."""
    status = run.status_on_disk()
    if not run.is_alive() or status.pid < 2 or status.pid == os.getpid():
        return None
    named, living = Identity(*(getattr(status, name) for name in Identity._fields)), identity(status.pid)
    if living is None or not living.is_same(named):
        return None
    try:
        worker = psutil.Process(status.pid)
        if status.state == "queued" and STANDBY_VARIABLE in worker.environ():  # has not taken the lock that it was sent
            return worker
        lock = str(run.lock_path.resolve())
        if any(file.path == lock for file in worker.open_files()):
            return worker
        return None
    except (psutil.Error, OSError):
        return None


def end(run: RunDirectory, grace_seconds: float = GRACE_SECONDS) -> Ended:
    """Ask the run to stop; after the grace, end its worker and all it has started by force. Raises: RunNotSteerable,
    for one that is only watched: its process is another program's."""
    attempt = run.status_on_disk().attempt
    changes.check_own(run)
    if not run.is_alive():
        return Ended(False)

    def has_left() -> bool:  # also where it was taken up again since: the next attempt is not to be ended
        return not run.is_alive() or run.status_on_disk().attempt != attempt

    with contextlib.suppress(OSError):  # a disk that takes nothing is no reason to let it live
        run.request_stop()
    if _wait_for(has_left, grace_seconds):
        return Ended(False)
    sent: list[str] = []
    if worker := worker_of(run):
        _leave_note(run)
        for signal, patience in ((signals.SIGTERM, TERM_SECONDS), (signals.SIGKILL, KILL_SECONDS)):
            _send_to_all(worker, signal)
            sent.append(signal.name)
            if _wait_for(has_left, patience):
                break
    return Ended(not has_left(), tuple(sent))


def end_own_family() -> None:
    """End by force what this process has started: its descendants, and all others of its session if it leads one."""
    me = psutil.Process()
    family = set(me.children(recursive=True))
    if os.getsid(0) == me.pid:
        family |= {other for other in psutil.process_iter() if _session(other.pid) == me.pid} - {me}
    for member in family:
        with contextlib.suppress(psutil.Error):
            member.kill()
    psutil.wait_procs(family, TERM_SECONDS)


def stalled(run: RunDirectory) -> float:
    """Seconds for which a living run has been silent, if that is longer than it ever takes; else 0."""
    status, beat = run.status_on_disk(), heartbeat.read(run.path)
    if not run.is_alive():
        return 0.0
    if status.state == "queued" and status.pid:
        silent, patience = time.time() - status.updated_at, FIRST_WORD_SECONDS
    elif beat is None or (beat.boot_id, beat.pid) != (boot_id(), status.pid):
        return 0.0
    else:
        silent, patience = heartbeat.now() - beat.beat, LOADING_SILENCE_SECONDS
        if not beat.patient:
            patience = max(LEAST_SILENCE_SECONDS, GAPS_OF_PATIENCE * beat.longest_gap)
    if silent > patience:
        return silent
    return 0.0


def _send_to_all(worker: psutil.Process, signal: signals.Signals) -> None:
    """Signal a worker's process group and descendants that have left it; psutil compares start times first."""
    with contextlib.suppress(psutil.Error, OSError):
        family = worker.children(recursive=True)
        if os.getpgid(worker.pid) == worker.pid and worker.is_running():
            os.killpg(worker.pid, signal)
        else:  # not started by us, or a fork of the page
            worker.send_signal(signal)
        for member in family:
            with contextlib.suppress(psutil.Error):
                member.send_signal(signal)


def _leave_note(run: RunDirectory) -> None:
    status, silent = run.status_on_disk(), stalled(run)
    words = f"Stopped after update {status.update}: it did not end by itself in time, so its process was ended."
    if silent:
        words = f"The worker had not answered for {silent:.0f} s, and was ended on request."
    note = heartbeat.Killed(attempt=status.attempt, reason="stalled" if silent else "stopped", message=words)
    with contextlib.suppress(OSError):  # without the note the kill shows as a kill
        heartbeat.killed_path(run.path).write_text(note.model_dump_json(), encoding="utf-8")


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def _wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
