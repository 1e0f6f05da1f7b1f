"""Real workers without the seconds of imports: a process that has imported everything forks one for each run.

`python -m tests.forking FD`: gets run folders, each with its lock, its log and a channel, through a socket; through the
channel it answers with the worker's process id, and with its exit code once it has ended. For tests of what a run does;
how its process comes to be is tested with new processes.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
from typing import IO, NoReturn

from playground import worker
from playground.runs import children, launcher
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import private

NUMBER = struct.Struct("<i")
PATIENCE_SECONDS = 300
MOST_BYTES = 65_536


class Forked:
    """A worker; as much of a Popen as the launcher needs."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self.returncode: int | None = None
        channel.settimeout(PATIENCE_SECONDS)
        (self.pid,) = NUMBER.unpack(channel.recv(NUMBER.size))

    def poll(self) -> int | None:
        """Its exit code, minus the signal that killed it; None while it lives."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended."""
        if self.returncode is None:
            self._channel.settimeout(timeout)
            try:
                (self.returncode,) = NUMBER.unpack(self._channel.recv(NUMBER.size))
            except (BlockingIOError, TimeoutError):
                raise subprocess.TimeoutExpired("a forked worker", timeout or 0) from None
            self._channel.close()
        return self.returncode


class Forker:
    """The process that forks. `spawn` is for the launcher, and does what its `new_worker` does."""

    def __enter__(self) -> Forker:
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forking", str(theirs.fileno())], pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL, cwd=children.PROJECT, env=children.torch_environment(),
            )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()
        self._process.kill()
        self._process.wait()

    def spawn(self, run: RunDirectory, lock: IO[bytes]) -> Forked:
        """The worker of a run."""
        ours, theirs = socket.socketpair()
        with theirs, open(run.log_path, "ab", opener=private) as log:
            message = os.fsencode(run.path.resolve())
            socket.send_fds(self._channel, [message], [lock.fileno(), log.fileno(), theirs.fileno()])
        worker = Forked(ours)
        launcher.name_worker(run, worker.pid)
        return worker


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how the keepers ended
    os.umask(0o077)
    worker.warm_up()
    channel = socket.socket(fileno=int(sys.argv[1]))
    while True:
        message, files, _, _ = socket.recv_fds(channel, MOST_BYTES, 3)
        if not message:
            return
        if not os.fork():
            channel.close()
            keep(os.fsdecode(message), *files)
        for file in files:
            os.close(file)


def keep(path: str, lock: int, log: int, channel: int) -> NoReturn:
    """In a process between: fork the worker, and say how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    worker = os.fork()
    if not worker:
        os.close(channel)
        be_worker(path, lock, log)
    os.close(lock)
    os.close(log)
    os.write(channel, NUMBER.pack(worker))
    _, status = os.waitpid(worker, 0)
    os.write(channel, NUMBER.pack(os.waitstatus_to_exitcode(status)))
    os._exit(0)


def be_worker(path: str, lock: int, log: int) -> NoReturn:
    os.setsid()
    worker.print_into(log)
    os.environ[launcher.LOCK_FD_VARIABLE] = str(lock)
    worker.be(lambda: worker.main([path]))


if __name__ == "__main__":
    main()
