"""Real workers without the seconds of imports: a process that has imported everything forks one for each run.

`python -m tests.faults.forking FD`: gets run folders with their lock and log through a socket; answers with the
worker's process id, and with its exit code once it has ended.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from typing import IO

from playground.runs.folder.directory import RunDirectory
from playground.runs.start.launcher import LOCK_FD_VARIABLE

NUMBER = struct.Struct("<i")


class Forked:
    """A worker; as much of a Popen as the launcher needs."""

    def __init__(self, channel: socket.socket, pid: int) -> None:
        self._channel, self.pid = channel, pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, minus the signal that killed it; None while it lives."""
        if self.returncode is None:
            self._channel.setblocking(False)
            try:
                (self.returncode,) = NUMBER.unpack(self._channel.recv(NUMBER.size))
            except BlockingIOError:
                return None
        return self.returncode

    def wait(self, timeout: float) -> int:
        """Wait until it has ended."""
        if self.returncode is None:
            self._channel.settimeout(timeout)
            (self.returncode,) = NUMBER.unpack(self._channel.recv(NUMBER.size))
        return self.returncode


class Forker:
    """The process that forks. `spawn` is for the launcher; one worker at a time."""

    def __enter__(self) -> Forker:
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.forking", str(theirs.fileno())], pass_fds=(theirs.fileno(),)
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()
        self._process.kill()
        self._process.wait()

    def spawn(self, run: RunDirectory, lock: IO[bytes]) -> Forked:
        """The worker of a run."""
        with open(run.log_path, "ab") as log:
            socket.send_fds(self._channel, [os.fsencode(run.path.resolve())], [lock.fileno(), log.fileno()])
        self._channel.settimeout(300)
        (pid,) = NUMBER.unpack(self._channel.recv(NUMBER.size))
        return Forked(self._channel, pid)


def main() -> None:
    from playground.training.process import session, waiting, worker  # noqa: F401

    waiting.warm_up()
    channel = socket.socket(fileno=int(sys.argv[1]))
    while True:
        path, files, _, _ = socket.recv_fds(channel, 65_536, 2)
        if not path:
            return
        lock, log = files
        child = os.fork()
        if not child:
            channel.close()
            os.setsid()
            os.dup2(log, sys.stdout.fileno())
            os.dup2(log, sys.stderr.fileno())
            os.environ[LOCK_FD_VARIABLE] = str(lock)
            os._exit(worker.main([os.fsdecode(path)]))
        os.close(lock)
        os.close(log)
        channel.sendall(NUMBER.pack(child))
        _, status = os.waitpid(child, 0)
        channel.sendall(NUMBER.pack(os.waitstatus_to_exitcode(status)))


if __name__ == "__main__":
    main()
