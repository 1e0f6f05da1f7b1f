"""The one writer of status, metrics, samples and events: the worker's side of a run directory, and the end of a run
whose worker cannot write it. A reader sees whole lines or a torn last one, which a later attempt cuts off."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playground.config.local_only import shareable
from playground.process_identity import identity
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import cut_torn_line, write_atomically
from playground.runs.folder.records import Evaluation, Event, Record, Sample, State, Status, to_json_line
from playground.runs.folder.rollout_records import RolloutRecord
from playground.runs.folder.token_records import TokenFigures

RESERVE_BYTES = 4 * 2**20
LOCK_SECONDS = 1.0


class RunWriter:
    """Writes one run's records, each with its attempt. Made once, by the process that holds the run's lock. Two threads
    may use it: the one that trains, and the watch. The first end that is written stands."""

    def __init__(self, run: RunDirectory, num_updates: int, attempt: int = 1) -> None:
        self.run = run
        looks = run.samples_path, run.evaluations_path, run.tokens_path
        self._files = run.metrics_path, run.rollouts_path, *looks, run.events_path
        if attempt > 1:
            for path in self._files:
                cut_torn_line(path)
        before = run.status() if attempt > 1 else Status()
        self._lock = threading.RLock()
        now, me = time.time(), identity(os.getpid())
        assert me is not None, "this process is there"
        start = {"attempt": attempt, "started_at": now, "updated_at": now, "num_updates": num_updates}
        behind = {"update": before.update, "worked_seconds": before.worked_seconds or 0.0}
        self.status = Status(state="starting", phase="starting", **me._asdict(), **start, **behind)
        self._seq = 0
        self._written_at = time.monotonic()  # of the status; no step of the clock moves it
        with _named_by_one(run):
            write_atomically(self.run.status_path, self.status.model_dump_json())

    def set_status(self, **changes: Any) -> None:
        """Change fields of status.json; a change of `state` is recorded as an event too. Nothing follows an end."""
        with self._alone():
            if self.status.ended:
                return
            state_before = self.status.state
            words = {name: shareable(changes[name]) for name in ("message", "phase") if changes.get(name)}
            times = {"worked_seconds": self._worked_seconds(), "updated_at": time.time()}
            self.status = self.status.model_copy(update={**times, **changes, **words})
            write_atomically(self.run.status_path, self.status.model_dump_json())
            if self.status.state != state_before:
                self.event("state", self.status.message, state=self.status.state, reason=self.status.reason)

    def reserve(self) -> None:
        """Keep some of the disk, so that the end can be written however full it is then. Raises: OSError."""
        self.run.reserve_path.write_bytes(os.urandom(RESERVE_BYTES))  # which no file system can store in less

    def finish(self, state: State, reason: str = "", message: str = "") -> None:
        """Enter a terminal state, also on a full disk. Raises: OSError, if even the reserve did not help."""
        with self._alone():
            with contextlib.suppress(OSError):
                self.run.reserve_path.unlink(missing_ok=True)
            try:
                self.set_status(state=state, phase="", reason=reason, message=message)
            except OSError:
                if self.run.status_on_disk() != self.status:
                    raise
                # The end stands in status.json; only its event is missing.

    def metrics(self, metrics: Record) -> None:
        """Append one update (`UpdateMetrics`; where a reward model is trained, one step)."""
        _append(self.run.metrics_path, self._of_this_attempt(metrics))

    def rollout(self, rollout: RolloutRecord) -> None:
        """Append what is kept of the training texts of an update."""
        _append(self.run.rollouts_path, self._of_this_attempt(rollout))

    def samples(self, samples: list[Sample]) -> None:
        """Append evaluation samples, all in one write."""
        _append(self.run.samples_path, *map(self._of_this_attempt, samples))

    def tokens(self, figures: list[TokenFigures]) -> None:
        """Append completions token by token, all in one write."""
        if figures:
            _append(self.run.tokens_path, *map(self._of_this_attempt, figures))

    def evaluation(self, evaluation: Evaluation) -> None:
        """Append what was measured at one evaluation."""
        _append(self.run.evaluations_path, self._of_this_attempt(evaluation))

    def flush(self) -> None:
        """Wait until everything appended is on the disk: a checkpoint must not be newer than the lines before it."""
        for path in self._files:
            with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                os.fsync(file.fileno())

    def event(self, kind: str, message: str = "", **data: Any) -> None:
        """Append one event."""
        self._seq += 1
        _append(self.run.events_path, _event(self.status, self._seq - 1, kind, shareable(message), data))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread at a time; but an end is not kept from being written by a thread that hangs in here."""
        acquired = self._lock.acquire(timeout=LOCK_SECONDS)
        try:
            yield
        finally:
            if acquired:
                self._lock.release()

    def _worked_seconds(self) -> float:
        """What is behind us; the time since the status was written, unless the run was paused."""
        before, self._written_at = self._written_at, time.monotonic()
        since = 0.0
        if self.status.state != "paused":
            since = self._written_at - before
        return (self.status.worked_seconds or 0.0) + since

    def _of_this_attempt(self, record: Record) -> Record:
        attempt = self.status.attempt
        if attempt == 1:
            return record
        return record.model_copy(update={"attempt": attempt})


def name_worker(run: RunDirectory, pid: int) -> None:
    """Write down which process a run is given to: one that never says so itself could not be ended. What the process
    has written meanwhile stands."""
    with _named_by_one(run):
        status, worker = run.status_on_disk(), identity(pid)
        if worker is not None and status.state == "queued":
            changed = status.model_copy(update={**worker._asdict(), "updated_at": time.time()})
            write_atomically(run.status_path, changed.model_dump_json())


@contextlib.contextmanager
def _named_by_one(run: RunDirectory) -> Iterator[None]:
    """A worker that begins is named by itself and by its launcher: one after the other, or a quick worker's end would
    be lost."""
    descriptor = os.open(run.path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system that locks no folder
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        with contextlib.suppress(OSError):  # to close it is not enough: a fork of this process may have a copy
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def write_end(run: RunDirectory, status: Status, state: State, reason: str, message: str) -> None:
    """Enter a terminal state in the place of a worker that died, or was never started. Only for the holder of the run's
    lock, or of the folder's lock for starting. `updated_at` stays what the worker wrote last."""
    ended = status.model_copy(update={"state": state, "phase": "", "reason": reason, "message": message})
    run.reserve_path.unlink(missing_ok=True)  # the disk may be full, and a killed worker has left it
    write_atomically(run.status_path, ended.model_dump_json())
    record(run, ended, "state", message, state=state, reason=reason)


def record(run: RunDirectory, status: Status, kind: str, message: str, **data: Any) -> None:
    """Add an event to an attempt that has ended. For what may call `write_end`."""
    before = [event.seq for event in run.all_events() if event.attempt == status.attempt]
    cut_torn_line(run.events_path)  # or the two would be one line that cannot be read
    _append(run.events_path, _event(status, max(before, default=-1) + 1, kind, message, data))


def _event(status: Status, seq: int, kind: str, message: str, data: dict[str, Any]) -> Event:
    facts = {"attempt": status.attempt, "update": status.update, "time": time.time()}
    return Event(seq=seq, kind=kind, message=message, data=data, **facts)


def _append(path: Path, *records: Record) -> None:
    data = "".join(to_json_line(record) for record in records).encode()
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        before = os.fstat(descriptor).st_size
        written = os.write(descriptor, data)
        try:
            while written < len(data):  # a disk that is nearly full takes a part; the next write says that it is
                written += os.write(descriptor, data[written:])
        except OSError:
            os.ftruncate(descriptor, before)  # or the next line would be glued to half a one
            raise
    finally:
        os.close(descriptor)
