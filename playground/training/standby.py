"""A worker that waits for its run: `runs.standby` starts it with one end of a socket pair and sends the run later.

It imports and touches everything that a run on a small model needs, then sleeps. It ends by itself when the web
process has gone or nothing was started for a while.
"""

from __future__ import annotations

import os
import socket
import sys

from playground import catalog
from playground.runs.launcher import LOCK_FD_VARIABLE
from playground.runs.standby import CHANNEL_FD_VARIABLE
from playground.training import worker

IDLE_SECONDS = 1800
MOST_PATH_BYTES = 65_536


def main() -> int:
    """Warm up, wait for a run, be its worker. Exit code: the worker's; 0 if no run came."""
    with socket.socket(fileno=int(os.environ.pop(CHANNEL_FD_VARIABLE))) as channel:
        channel.set_inheritable(False)
        warm_up()
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


def warm_up() -> None:
    """Everything that the first run in a process pays and the second does not.

    Loads a pocket model, because `from_pretrained` imports most of what it needs when it is called.
    """
    import torch

    from playground.training import loading, session  # noqa: F401 - session is what the worker imports first

    loading.load(catalog.model_folder(catalog.MODELS[0].name), torch.device("cpu"))


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.exit(main())
