"""Which process is it? A pid may be given to another process; pid, start and boot together name one for good. On Linux
the start is the kernel's count of ticks since boot, which no step of the clock moves; elsewhere psutil's start time."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple

import psutil

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
TOLERANCE_SECONDS = 2.0  # of start times that are computed from the wall clock
START_FIELD = 22  # of /proc/PID/stat, counted from 1; man 5 proc


class Identity(NamedTuple):
    """One process, in the fields by which a run's status names it. `pid_ticks`: 0 elsewhere than on Linux."""

    pid: int
    pid_started_at: float
    boot_id: str
    pid_ticks: int = 0

    def is_same(self, other: Identity) -> bool:
        """True if both name the same process, as far as can be told; False in doubt."""
        if self.pid != other.pid or not self.boot_id or self.boot_id != other.boot_id:
            return False
        if self.pid_ticks and other.pid_ticks:
            return self.pid_ticks == other.pid_ticks
        return abs(self.pid_started_at - other.pid_started_at) <= TOLERANCE_SECONDS


def identity(pid: int) -> Identity | None:
    """Who has this pid now; None if no one, or a process that is dead and not buried yet."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return Identity(pid, process.create_time(), boot_id(), _ticks(pid))
    except (psutil.NoSuchProcess, psutil.AccessDenied, ValueError):  # ValueError: a negative number
        return None


@functools.cache
def boot_id() -> str:
    """A word for this start of the machine."""
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return f"boot-{psutil.boot_time():.0f}"  # a step of the clock changes it, and then nothing is signalled


def _ticks(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    return int(text[text.rindex(")") + 2 :].split()[START_FIELD - 3])  # the name before it may hold anything
