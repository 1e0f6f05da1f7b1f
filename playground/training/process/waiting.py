"""A worker that waits for its run: `runs.start.standby` starts it with one end of a socket pair and sends the run
later.

It imports and touches everything that a run on a small model needs, then sleeps. A run that comes before it is warm is
taken at once, and can be stopped from then on. It ends by itself when the web process has gone or nothing was started
for a while.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from pathlib import Path

from playground.errors import PlaygroundError
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.processes import STANDBY_VARIABLE
from playground.runs.folder.writer import RunWriter
from playground.runs.start.launcher import LOCK_FD_VARIABLE
from playground.setup import catalog
from playground.training.process import job, worker

IDLE_SECONDS = 1800
LOOK_SECONDS = 0.5
MOST_PATH_BYTES = 65_536
STOPPED = "Stopped while its worker was starting."


def main() -> int:
    """Warm up, wait for a run, be its worker. Exit code: the worker's; 0 if no run came."""
    with socket.socket(fileno=int(os.environ.pop(STANDBY_VARIABLE))) as channel:
        channel.set_inheritable(False)
        assignment = _Assignment(channel)
        waiting = threading.Thread(target=assignment.wait, daemon=True)
        waiting.start()
        warm_up()
        assignment.warm.set()
        waiting.join()
    return worker.main([assignment.folder]) if assignment.folder else 0


class _Assignment:
    """The run that comes through the channel; `wait` is a thread of its own, since warming up takes seconds."""

    def __init__(self, channel: socket.socket) -> None:
        self.warm = threading.Event()
        self.folder = ""
        self._channel = channel

    def wait(self) -> None:
        """Take the run as soon as it comes: its log, its lock, and until we are warm its requests to stop."""
        self._channel.settimeout(IDLE_SECONDS)
        try:
            path, files, _, _ = socket.recv_fds(self._channel, MOST_PATH_BYTES, 2)
        except TimeoutError:
            return
        if not path:  # the server has gone
            if not self.warm.is_set():
                os._exit(0)
            return
        lock, log = files
        os.dup2(log, sys.stdout.fileno())
        os.dup2(log, sys.stderr.fileno())
        os.close(log)
        os.environ[LOCK_FD_VARIABLE] = str(lock)
        self.folder = os.fsdecode(path)
        with contextlib.suppress(PlaygroundError, OSError):  # the worker will say it
            self._listen()

    def _listen(self) -> None:
        """Until the worker's own watch takes over: write down who we are, for who ends us by force, and hear a stop."""
        if self.warm.is_set():
            return
        run = RunDirectory.open(Path(self.folder))
        writer = RunWriter(run, run.config().ppo.num_updates, run.status().attempt)
        while not self.warm.wait(LOOK_SECONDS):
            if run.stop_requested:
                writer.finish("stopped", "stopped", STOPPED)
                os._exit(job.EXIT_CODES["stopped"])


def warm_up() -> None:
    """Everything that the first run in a process pays and the second does not.

    Loads a pocket model, because `from_pretrained` imports most of what it needs when it is called.
    """
    import torch

    from playground.training.models import loading
    from playground.training.process import session  # noqa: F401 - session is what the worker imports first

    loading.load(catalog.model_folder(catalog.MODELS[0].name), torch.device("cpu"))


if __name__ == "__main__":
    job.be(main)
