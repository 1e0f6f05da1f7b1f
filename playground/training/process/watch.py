"""The watch: one thread of the worker beside its training. It sees to it that a run ends when it is told to.

A request to stop is for the main thread first, which looks between two micro-batches, saves and leaves. Where that does
not happen in time (an import, a library that hangs, a reward that never answers) the watch writes the end itself and
ends the process. It also notes how the process is (`runs.folder.vitals`), keeps the log small (`runs.folder.logs`),
and, where the run is to end with its server, sees the server end (`runs.start.lifeline`). Imports no torch.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import psutil

from playground.errors import RunMoved
from playground.runs.end import processes
from playground.runs.folder import logs, placed, vitals
from playground.runs.folder.checkpoints import TRAINER
from playground.runs.folder.evidence import state_after
from playground.runs.folder.vitals import Vitals
from playground.runs.folder.writer import RunWriter
from playground.runs.start import lifeline
from playground.safety.process_identity import identity
from playground.training.process.ending import MOVED, STOPPED, StopRequested

LOOK_SECONDS = 0.2
BUSY_LOOK_SECONDS = 0.02  # while the log grows fast
FAST_BYTES = 500_000  # between two looks
VITALS_SECONDS = 1.0
GRACE_SECONDS = 7.0  # with what comes before and after it, the process is gone within ten
GRACE_WHILE_LOADING_SECONDS = 2.0  # there is nothing yet to be saved
CHECKPOINT_SECONDS = 120.0  # the longest that a checkpoint may take once the run is to stop
CHECKPOINT_PAUSE_SECONDS = 15.0  # in which it does not grow although not all of it is written
FROZEN_SECONDS = 3.0  # a longer pause of the watch itself: the whole process stood still
STOPPED_EXIT = 3


class WorkerWatch:
    """Context manager around a run. `between` is for the main thread, to be called often.

    Args:
        stopped: what is said of a run that was asked to stop; {} is the update it was at.
        max_minutes: the time that this process may take; a resumed run gets it again.
        time_is_up: what is said when that is over; by default which setting it was.

    Of a process in which it is not the main thread that trains it hears no SIGTERM (`process.lent`).
    """

    def __init__(
        self, writer: RunWriter, stopped: str = STOPPED, max_minutes: float | None = None, time_is_up: str = ""
    ) -> None:
        self._writer, self._run = writer, writer.run
        unit = "minute" if max_minutes == 1 else "minutes"
        self._sentences = {
            "stopped": stopped,
            "server_lost": f"The server ended, and the run with it, as its policy wants. {stopped}",
            placed.LOST: f"Its node was taken back. {stopped}",
            "moved": MOVED,
            "time_limit": time_is_up
            or f"Its time limit of {max_minutes or 0:g} {unit} (max_minutes) was reached after update {{}}.",
        }
        self._deadline = float("inf") if max_minutes is None else vitals.now() + 60 * max_minutes
        self._stopped = stopped
        self._server = lifeline.adopt()
        self._elsewhere = placed.is_elsewhere(self._run.path, writer.status.attempt)
        self._lost: Callable[[], str] = lambda: ""
        self._ending = ""  # the reason for which the run is to end
        self._asked_at = 0.0
        self._checkpoint = _Checkpoint(self._run.checkpoints_path)
        memory, me = vitals.memory_facts(), identity(os.getpid())
        assert me is not None, "this process is there"
        self._process = psutil.Process()
        self._beat = vitals.now()
        self._gap = 0.0
        self._thawed = 0.0  # when the whole process last stood still, the end of that
        self._vitals = Vitals(
            boot_id=me.boot_id, pid=me.pid, attempt=writer.status.attempt, started=self._beat, beat=self._beat,
            limit_bytes=memory.limit_bytes, counter=memory.counter, kills=memory.kills,
            on_server_death="survive" if self._server is None else "die",
        )  # fmt: skip
        self._vitals_at = -VITALS_SECONDS
        self._log_bytes = 0
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)
        self._over = threading.Event()

    def __enter__(self) -> WorkerWatch:
        self._waking, self._woken_by = os.pipe()
        os.set_blocking(self._waking, False)
        os.set_blocking(self._woken_by, False)
        # Python's own handlers run in the main thread, and only when that is back from whatever it called. The byte
        # that the interpreter's C code writes at once reaches the watch.
        self._hears_signals = threading.current_thread() is threading.main_thread()
        if self._hears_signals:
            self._before: Any = signal.signal(signal.SIGTERM, lambda *_: None)
            self._fd_before = signal.set_wakeup_fd(self._woken_by, warn_on_full_buffer=False)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        with contextlib.suppress(OSError):
            os.write(self._woken_by, b"\0")
        self._thread.join(timeout=LOOK_SECONDS * 5)
        if self._hears_signals:
            signal.set_wakeup_fd(self._fd_before)
            signal.signal(signal.SIGTERM, self._before)
        for descriptor in (self._waking, self._woken_by):
            os.close(descriptor)

    def watch_helpers(self, lost: Callable[[], str]) -> None:
        """From now on ask for the end of the run once `lost` gives a sentence about a process that it needs."""
        self._lost = lost

    def between(self) -> None:
        """The main thread's heartbeat. Raises: StopRequested, if the run is to end; RunMoved."""
        now = vitals.now()
        self._gap = max(self._gap, now - max(self._beat, self._thawed))
        self._beat = now
        self._look_for_an_end(now)
        if self._ending == "moved":
            raise RunMoved(self._sentences["moved"].format(self._writer.status.update))
        if self._ending:
            raise StopRequested(self._ending, self._sentences[self._ending])

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._waking, select.POLLIN)
        if self._server is not None:
            poll.register(self._server, 0)  # no events but that the other end is closed
        pause, last = LOOK_SECONDS, vitals.now()
        while not self._over.is_set():
            for descriptor, _ in poll.poll(pause * 1000):
                self._hear(descriptor, poll)
            now = vitals.now()
            self._learn_gap(now - last)
            last = now
            self._see_to_the_end(now)
            with contextlib.suppress(OSError):  # a full disk, perhaps: the main thread will find out
                pause = self._look_at_log()
            if now - self._vitals_at >= VITALS_SECONDS:
                self._vitals_at = now
                with contextlib.suppress(OSError, psutil.Error):
                    self._note_vitals()

    def _hear(self, descriptor: int, poll: select.poll) -> None:
        if descriptor == self._server:
            poll.unregister(descriptor)
            self._ending = self._ending or "server_lost"
            return
        with contextlib.suppress(OSError):
            if signal.SIGTERM not in os.read(descriptor, 1000):
                return
            if self._elsewhere:  # of the node, which somebody wants back: the run goes on at another
                self._ending = self._ending or placed.LOST
                return
            self._ending = self._ending or "stopped"
            self._run.request_stop()  # so that everybody sees it

    # -- ending -------------------------------------------------------------------------------------------------------

    def _look_for_an_end(self, now: float) -> None:
        """A request comes first where the time is up too: it was asked for."""
        if not self._ending and self._run.stop_requested:
            self._ending = "stopped"
        if not self._ending and now >= self._deadline:
            self._ending = "time_limit"
        if not self._ending and (sentence := self._lost()):
            self._sentences["helper_lost"] = f"{sentence} {self._stopped}"
            self._ending = "helper_lost"

    def _see_to_the_end(self, now: float) -> None:
        """Give the main thread its time to end the run; when that is over, end it from here."""
        self._look_for_an_end(now)
        if not self._ending and not self._run.path.is_dir():
            self._ending = "moved"
        if not self._ending or self._writer.status.ended:
            return
        self._asked_at = self._asked_at or now
        grace = GRACE_WHILE_LOADING_SECONDS if self._has_nothing_to_save() else GRACE_SECONDS
        if now - self._asked_at > grace and not self._checkpoint.goes_on(now, self._asked_at, self._is_saving()):
            self._leave()

    def _leave(self) -> NoReturn:
        phase = self._writer.status.phase or "at work"
        sentence = self._sentences[self._ending].format(self._writer.status.update)
        with contextlib.suppress(OSError, ValueError):
            print("The run was to end, and did not in time. This is where it was:", file=sys.stderr)
            faulthandler.dump_traceback(file=2, all_threads=True)
        with contextlib.suppress(OSError):
            self._writer.finish(
                state_after(self._ending),
                self._ending,
                f"{sentence} It was {phase} and did not answer, so it was ended there.",
            )
        processes.end_own_family()
        os._exit(STOPPED_EXIT)

    def _has_nothing_to_save(self) -> bool:
        return self._writer.status.state in ("queued", "starting") and not self._is_saving()

    def _is_saving(self) -> bool:
        return self._writer.status.phase == "saving"

    # -- how it is ----------------------------------------------------------------------------------------------------

    def _learn_gap(self, own_pause: float) -> None:
        """Take over the longest gap between two heartbeats, unless the whole process stood still: then whichever of the
        two threads wakes first, the pause is no gap."""
        if own_pause >= FROZEN_SECONDS:
            self._thawed = vitals.now()
        gap, self._gap = self._gap, 0.0
        if own_pause < FROZEN_SECONDS and not self._vitals.patient and gap > self._vitals.longest_gap:
            self._vitals = self._vitals.model_copy(update={"longest_gap": gap})

    def _note_vitals(self) -> None:
        status = self._writer.status
        training = status.state in ("running", "paused") and status.phase in ("", "training")
        self._vitals = self._vitals.model_copy(
            update={
                "beat": self._beat,
                "patient": not training or self._checkpoint.is_being_written(),
                "resident_bytes": self._process.memory_info().rss,
            }
        )
        vitals.write(self._run.path, self._vitals)

    def _look_at_log(self) -> float:
        """Cut the log if it is large; returns the pause until the next look."""
        logs.cap(self._run.log_path)
        before, self._log_bytes = self._log_bytes, self._run.log_path.stat().st_size
        return BUSY_LOOK_SECONDS if abs(self._log_bytes - before) > FAST_BYTES else LOOK_SECONDS


class _Checkpoint:
    """Is a checkpoint being written, and does it get on? Known from the folder under its other name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bytes = -1
        self._grew_at = 0.0

    def is_being_written(self) -> bool:
        return next(self._folder.glob(".tmp-*"), None) is not None

    def goes_on(self, now: float, asked_at: float, saving: bool) -> bool:
        """True while it grows, has grown lately, or is all written and on its way to the disk; for `CHECKPOINT_SECONDS`
        at the most.

        Args:
            saving: the main thread says that it saves, which begins before there is a folder.
        """
        written = self._size()
        if written != self._bytes:
            self._bytes, self._grew_at = written, now
        under_way = saving or written > 0
        gets_on = now - self._grew_at < CHECKPOINT_PAUSE_SECONDS or self._is_all_written()
        return under_way and gets_on and now - asked_at < CHECKPOINT_SECONDS

    def _is_all_written(self) -> bool:
        """True once what is left is to bring it to the disk and to make its checksums. Of many GB that takes longer
        than any pause in writing, and nothing grows meanwhile."""
        with contextlib.suppress(OSError):
            return next(self._folder.glob(f".tmp-update-*-{os.getpid()}/{TRAINER}"), None) is not None
        return False

    def _size(self) -> int:
        total = 0
        with contextlib.suppress(OSError):  # a folder that gets its name while it is looked into: the rest is gone
            for path in self._folder.glob(".tmp-*/**/*"):
                with contextlib.suppress(OSError):
                    total += path.stat().st_size
        return total
