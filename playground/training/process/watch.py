"""The watch: one thread of the worker beside its training. It ensures that a run ends when asked to.

A request to stop is for the main thread first, which checks between two micro-batches, saves and leaves. Where that
does not happen in time (an import, a library that hangs, a reward that never answers) the watch writes the end itself
and ends the process. It also writes the heartbeat, keeps the log small, and, where the run is to end with its server,
sees the server end (`runs.lifeline`). Imports no torch.
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
from types import TracebackType
from typing import Any, NoReturn

import psutil

from playground.process_identity import boot_id
from playground.runs import lifeline
from playground.runs.folder import heartbeat, logs, placed, processes
from playground.runs.folder.exit_reasons import state_after
from playground.runs.folder.heartbeat import Heartbeat
from playground.runs.folder.writer import RunWriter
from playground.runs.launched import Launched
from playground.setup import devices
from playground.training.process.ending import STOPPED, StopRequested

LOOK_SECONDS = 0.1
HEARTBEAT_SECONDS = 1.0
GRACE_SECONDS = 7.0  # with what comes before and after it, the process is gone within ten
GRACE_WHILE_LOADING_SECONDS = 2.0  # there is nothing yet to be saved
CHECKPOINT_SECONDS = 120.0  # the longest that a checkpoint may take once the run is to stop
STOPPED_EXIT = 3


class WorkerWatch:
    """Context manager around a run. `between` is for the main thread, to be called often. Where it is not the main
    thread that trains (`worker.attempt`), no SIGTERM is heard. `stopped`: what is said of a run that was asked to stop;
    {} is the update it was at. `max_minutes`: the time that this process may take; a resumed run gets it again.
    `launched`: which of several processes this is that a launcher has started."""

    def __init__(
        self,
        writer: RunWriter,
        stopped: str = STOPPED,
        max_minutes: float | None = None,
        launched: Launched | None = None,
    ) -> None:
        self._writer, self._run, self.launched = writer, writer.run, launched
        self._grace_seconds = GRACE_SECONDS
        minutes = "1 minute" if max_minutes == 1 else f"{max_minutes or 0:.3g} minutes"
        self._sentences = {
            "stopped": stopped,
            "server_lost": f"The server ended, and the run with it, as its policy says. {stopped}",
            placed.LOST: f"Its node was taken back, or another process of it ended. {stopped}",
            "killed": "Its folder was moved or deleted.",
            "time_limit": f"Its time limit of {minutes} (max_minutes) was reached after update {{}}.",
        }
        self._deadline = float("inf")
        if max_minutes is not None:
            self._deadline = heartbeat.now() + 60 * max_minutes
        self._stopped = stopped
        self._server = lifeline.server()
        self._elsewhere = launched is not None or placed.is_elsewhere(self._run.path, writer.status.attempt)
        self._lost: Callable[[], str] = lambda: ""
        self._ending = ""  # the reason for which the run is to end
        self._asked_at = 0.0
        self._process = psutil.Process()
        self._beat = heartbeat.now()
        self._longest_gap = 0.0
        self._heartbeat = Heartbeat(
            boot_id=boot_id(),
            pid=os.getpid(),
            attempt=writer.status.attempt,
            started=self._beat,
            on_server_death="survive" if self._server is None else "die",
        )
        self._written_at = -HEARTBEAT_SECONDS
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
        self._thread.join(timeout=1.0)
        if self._hears_signals:
            signal.set_wakeup_fd(self._fd_before)
            signal.signal(signal.SIGTERM, self._before)
        for descriptor in (self._waking, self._woken_by):
            os.close(descriptor)

    def watch_helpers(self, lost: Callable[[], str]) -> None:
        """From now on ask for the end of the run once `lost` gives a sentence about a process that it needs."""
        self._lost = lost

    def wait_longer(self) -> None:
        """Where the states of training are divided, all ranks have to get to a place where they can end together."""
        self._grace_seconds = CHECKPOINT_SECONDS

    def between(self) -> None:
        """The main thread's heartbeat. Raises: StopRequested, if the run is to end."""
        now = heartbeat.now()
        if not self._heartbeat.patient:
            self._longest_gap = max(self._longest_gap, now - self._beat)
        self._beat = now
        self._look_for_an_end(now)
        if self._ending:
            raise StopRequested(self._ending, self._sentences[self._ending])

    def _watch(self) -> None:
        while not self._over.is_set():
            if select.select([self._waking], [], [], LOOK_SECONDS)[0]:
                self._hear()
            now = heartbeat.now()
            self._see_to_the_end(now)
            with contextlib.suppress(OSError):  # a full disk, perhaps: the main thread will find out
                logs.cap(self._run.log_path)
            if now - self._written_at >= HEARTBEAT_SECONDS:
                self._written_at = now
                if self._server and lifeline.is_gone(self._server):
                    self._ending = self._ending or "server_lost"
                with contextlib.suppress(OSError, MemoryError, psutil.Error):
                    self._write_heartbeat()

    def _hear(self) -> None:
        with contextlib.suppress(OSError):
            if signal.SIGTERM not in os.read(self._waking, 1000):
                return
            # Elsewhere it is the node's, which is wanted back, or a launcher's that ends all processes of a run.
            self._ending = self._ending or (placed.LOST if self._elsewhere else "stopped")
            if not self._elsewhere:
                self._run.request_stop()  # so that everyone sees it

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
            self._ending = "killed"
        if not self._ending or self._writer.status.ended:
            return
        self._asked_at = self._asked_at or now
        if now - self._asked_at > self._grace():
            self._leave()

    def _grace(self) -> float:
        if self._is_saving():
            return CHECKPOINT_SECONDS
        if self._writer.status.state in ("queued", "starting"):
            return GRACE_WHILE_LOADING_SECONDS
        return self._grace_seconds

    def _is_saving(self) -> bool:
        mine = self._run.checkpoints_path.glob(f".tmp-*-{os.getpid()}")
        return self._writer.status.phase.startswith("saving") or next(mine, None) is not None

    def _leave(self) -> NoReturn:
        phase = self._writer.status.phase.partition(",")[0] or "at work"
        sentence = self._sentences[self._ending].format(self._writer.status.update)
        with contextlib.suppress(OSError, ValueError):
            print("The run should have ended, and did not in time. This is where it was:", file=sys.stderr)
            faulthandler.dump_traceback(file=2, all_threads=True)
        sentence += f" It was {phase} and did not respond, so it was ended there."
        with contextlib.suppress(OSError):
            self._writer.finish(state_after(self._ending), self._ending, sentence)
        processes.end_own_family()
        os._exit(STOPPED_EXIT)

    def _write_heartbeat(self) -> None:
        status, held = self._writer.status, self._process.memory_info().rss
        phase = status.phase.partition(" update")[0]  # the first updates say how far they are
        training = status.state in ("running", "paused") and phase in ("", "training", "making")
        _, free = devices.memory()
        changes = {"beat": self._beat, "longest_gap": self._longest_gap, "patient": not training or self._is_saving()}
        memory = {"resident_bytes": held, "limit_bytes": held + free}
        self._heartbeat = self._heartbeat.model_copy(update={**changes, **memory})
        heartbeat.write(self._run.path, self._heartbeat)
