"""The client of the standby worker: a process that has imported PyTorch before anybody clicks on Start.

Half of the time from the click to the first update is imports. So the web process keeps one worker waiting
(`playground.training.process.waiting`), gives it the next run, and holds no torch itself. Nothing depends on it: where
none waits, a run starts in a new process as ever.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
from typing import IO, NamedTuple

import psutil

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import private
from playground.runs.folder.processes import STANDBY_VARIABLE
from playground.runs.start import children, launcher

STANDBY_MODULE = "playground.training.process.waiting"
STOPPED = (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)


class _Waiting(NamedTuple):
    process: subprocess.Popen[bytes]
    channel: socket.socket


class StandbyWorker:
    """At most one waiting process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: _Waiting | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Of the process that waits."""
        waiting = self._waiting
        return waiting.process.pid if waiting and waiting.process.poll() is None else None

    def prepare(self) -> None:
        """Have a process waiting. Returns at once; does nothing where one waits already or cannot be started."""
        with self._lock:
            if self._closed or self.pid is not None:
                return
            self._drop()
            ours, theirs = socket.socketpair()
            try:
                process = children.new_process(
                    STANDBY_MODULE, descriptor=theirs.fileno(), variable=STANDBY_VARIABLE, output=subprocess.DEVNULL
                )
                self._waiting = _Waiting(process, ours)
            except OSError:  # no standby is no loss: the launcher says what is wrong
                ours.close()
            finally:
                theirs.close()

    def worker_for(self, run: RunDirectory, lock: IO[bytes]) -> subprocess.Popen[bytes]:
        """The worker of `run`: the waiting process, or a new one. It gets the run's lock and log with the open files.

        A process that is still importing finds the run when it is done; until then the lock lives in the channel.
        """
        with self._lock:
            if children.asks_hub(run) or self._is_stopped():
                self._drop()  # it was started without the hub's token; or would never take the run
            waiting, self._waiting = self._waiting, None
        if waiting:
            process, channel = waiting
            with channel, open(run.log_path, "ab", opener=private) as log, contextlib.suppress(OSError):
                if process.poll() is None:
                    launcher.name_worker(run, process.pid)
                    message = os.fsencode(run.path.resolve())
                    socket.send_fds(channel, [message], [lock.fileno(), log.fileno()])
                    return process
        return launcher.new_worker(run, lock)

    def close(self) -> None:
        """End the waiting process, if there is one, and start no other. A worker that has a run goes on."""
        with self._lock:
            self._closed = True
            self._drop()

    def _is_stopped(self) -> bool:
        """Whether somebody has stopped the waiting process (SIGSTOP, a debugger)."""
        with contextlib.suppress(psutil.Error):
            return self.pid is not None and psutil.Process(self.pid).status() in STOPPED
        return False

    def _drop(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting:
            waiting.channel.close()  # what the process takes as its end, even if we are killed
            waiting.process.kill()
            waiting.process.wait()
