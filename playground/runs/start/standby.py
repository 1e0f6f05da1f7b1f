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
import sys
import threading
from typing import IO

import psutil

from playground.runs.end.processes import STANDBY_VARIABLE
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import private
from playground.runs.start import launcher, lifeline

STANDBY_MODULE = "playground.training.process.waiting"
STOPPED = (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)


class StandbyWorker:
    """At most one waiting process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Of the process that waits."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def prepare(self) -> None:
        """Have a process waiting. Returns at once; does nothing where one waits already or cannot be started."""
        with self._lock:
            if self._closed or self.pid is not None:
                return
            self._drop()
            handed = lifeline.for_worker()
            ours, theirs = socket.socketpair()
            with theirs, contextlib.suppress(OSError):  # no standby is no loss: the launcher says what is wrong
                self._process = subprocess.Popen(
                    [sys.executable, "-m", STANDBY_MODULE],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(), *handed.descriptors),
                    start_new_session=True,
                    umask=0o077,
                    cwd=launcher.PROJECT,
                    env={
                        **launcher.torch_environment(),
                        STANDBY_VARIABLE: str(theirs.fileno()),
                        **handed.environment,
                    },
                )
            self._channel = ours

    def worker_for(self, run: RunDirectory, lock: IO[bytes]) -> subprocess.Popen[bytes]:
        """The worker of `run`: the waiting process, or a new one. It gets the run's lock and log with the open files.

        A process that is still importing finds the run when it is done; until then the lock lives in the channel.
        """
        with self._lock:
            if launcher.asks_hub(run) or self._is_stopped():
                self._drop()  # it was started without the hub's token; or would never take the run
            process, channel = self._process, self._channel
            self._process = self._channel = None
        if process is not None and channel is not None:
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
        process, channel = self._process, self._channel
        self._process = self._channel = None
        if channel is not None:
            channel.close()  # what the process takes as its end, even if we are killed
        if process is not None:
            process.kill()
            process.wait()
