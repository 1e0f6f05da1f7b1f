"""A driver that has died must not leave workers behind where nothing tells them: a file that it writes again and again.

Who computes for it looks at the file by its own clock, so that no two clocks have to agree. Used where a job's queue
outlives us (slurm, jobs); with Ray and on this machine the death is seen at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable

PULL_SECONDS = 20.0


class Leash:
    """The driver's end.

    Args:
        write: puts a text where the workers' machines read it.
    """

    def __init__(self, write: Callable[[str], None], pull_seconds: float = PULL_SECONDS) -> None:
        self._write, self._pull_seconds = write, pull_seconds
        self._pulled = float("-inf")

    def pull(self) -> None:
        """Say that the driver lives; seldom enough by itself. Raises: what `write` does."""
        if time.monotonic() - self._pulled >= self._pull_seconds:
            self._write(str(time.time_ns()))
            self._pulled = time.monotonic()


class Collar:
    """The worker's end.

    Args:
        read: gives that text, or "" where it cannot be read now. patience_seconds: how long it may stay the same.
    """

    def __init__(self, read: Callable[[], str], patience_seconds: float) -> None:
        self._read, self._patience_seconds = read, patience_seconds
        self._text, self._since = "", time.monotonic()

    @property
    def is_loose(self) -> bool:
        """True once the driver has not been heard of for too long."""
        text, now = self._read(), time.monotonic()
        if text and text != self._text:
            self._text, self._since = text, now
        return now - self._since > self._patience_seconds
