"""The client of the standby worker: a process that has imported PyTorch before anyone clicks on Start.

Half of the time from the click to the first update is imports. So the page keeps one worker waiting for the next run.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
from typing import IO

from playground.config import RunConfig
from playground.runs import children, launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import private
from playground.runs.folder.processes import STANDBY_VARIABLE
from playground.runs.folder.writer import name_worker
from playground.runs.spawning import Place


class StandbyWorker:
    """At most one waiting process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None  # through which it gets its run
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Of the process that waits."""
        process = self._process
        if process and process.poll() is None:
            return process.pid
        return None

    def prepare(self) -> None:
        """Have a process waiting. Returns at once; does nothing where one waits already or cannot be started."""
        with self._lock:
            if self._closed or self.pid is not None:
                return
            self._drop()
            self._channel, child_end = socket.socketpair()
            with child_end, contextlib.suppress(OSError):  # no standby is no loss: the launcher says what is wrong
                self._process = children.new_process(
                    launcher.WORKER_MODULE,
                    descriptor=child_end.fileno(),
                    variable=STANDBY_VARIABLE,
                    output=subprocess.DEVNULL,
                )

    def place(self, config: RunConfig) -> Place:
        """See `spawning.Workers`."""
        return Place(queue.slot_of(config), self.worker_for)

    def worker_for(self, run: RunDirectory, lock: IO[bytes]) -> subprocess.Popen[bytes]:
        """The worker of `run`: the waiting process, or a new one. Lock and log go through the channel."""
        with self._lock:
            process = self._process
            if process and self._channel and process.poll() is None and not children.asks_hub(run):  # no token for it
                with contextlib.suppress(OSError), open(run.log_path, "ab", opener=private) as log:
                    name_worker(run, process.pid)
                    message = os.fsencode(run.path.resolve())
                    socket.send_fds(self._channel, [message], [lock.fileno(), log.fileno()])
                    self._process = None
                    self._drop()
                    return process
            self._drop()
        return launcher.new_worker(run, lock)

    def open(self) -> None:
        """Once closed, it may have processes waiting again."""
        with self._lock:
            self._closed = False

    def close(self) -> None:
        """End the waiting process, if there is one, and start no other. A worker that has a run goes on."""
        with self._lock:
            self._closed = True
            self._drop()

    def _drop(self) -> None:
        """Let go of the process; one that has no run is ended."""
        if self._channel:
            self._channel.close()  # what the process takes as its end, even if we are killed
        if self._process:
            self._process.kill()
            self._process.wait()
        self._process = self._channel = None
