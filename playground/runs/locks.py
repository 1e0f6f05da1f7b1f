"""Kernel locks (flock) on open files: they are free once no process has the file open any more."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from typing import IO

from playground.errors import RunBusy


def take(file: IO[bytes], patience_seconds: float, sentence: str) -> None:
    """Raises: RunBusy, with the sentence, if another process holds it for so long."""
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise RunBusy(sentence) from None
            time.sleep(0.005)


@contextlib.contextmanager
def let_go_of(file: IO[bytes]) -> Iterator[None]:
    """Unlock at the end. To close the file is not enough: a fork of this process (ZeroGPU) may have a copy of it."""
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def not_in_forks(file: IO[bytes]) -> IO[bytes]:
    """A forked child that outlives the worker must not make the run look alive: it closes its copy."""
    os.register_at_fork(after_in_child=file.close)
    return file
