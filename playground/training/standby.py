"""A worker that waits for its run: `runs.standby` starts it with one end of a socket pair and sends the run later.

It imports and touches everything that a run on a small model needs, then sleeps. It ends by itself when the web
process has gone or nothing was started for a while.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading

from playground import catalog
from playground.runs.launcher import LOCK_FD_VARIABLE
from playground.runs.standby import CHANNEL_FD_VARIABLE
from playground.training import process, worker

IDLE_SECONDS = 1800
LOOK_SECONDS = 0.5
MOST_PATH_BYTES = 65_536


def main() -> int:
    """Warm up, wait for a run, be its worker. Exit code: the worker's; 0 if no run came."""
    with socket.socket(fileno=int(os.environ.pop(CHANNEL_FD_VARIABLE))) as channel:
        channel.set_inheritable(False)
        warm = threading.Event()
        watching = threading.Thread(target=end_with_server, args=(channel, warm), daemon=True)
        watching.start()
        warm_up()
        warm.set()
        watching.join()  # from here on there is one reader: what it reads is the run, or the end
        channel.settimeout(IDLE_SECONDS)
        try:
            path, files, _, _ = socket.recv_fds(channel, MOST_PATH_BYTES, 2)
        except TimeoutError:
            return 0
    if not path:
        return 0
    lock, log = files
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())
    os.close(log)
    os.environ[LOCK_FD_VARIABLE] = str(lock)
    return worker.main([os.fsdecode(path)])


def end_with_server(channel: socket.socket, warm: threading.Event) -> None:
    """End this process if the server closes the channel while we warm up, which takes seconds, and has sent no run."""
    while not warm.wait(LOOK_SECONDS):
        with contextlib.suppress(BlockingIOError):
            if not channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):  # a run that is there stays there
                os._exit(0)


def warm_up() -> None:
    """Everything that the first run in a process pays and the second does not.

    Loads a pocket model, because `from_pretrained` imports most of what it needs when it is called.
    """
    import torch

    from playground.training import loading, session  # noqa: F401 - session is what the worker imports first

    loading.load(catalog.model_folder(catalog.MODELS[0].name), torch.device("cpu"))


if __name__ == "__main__":
    process.be(main)
