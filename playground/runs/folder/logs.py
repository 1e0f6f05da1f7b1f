"""Keeps a worker's log small: its beginning and its end stay, the middle goes, and a line says how much went.

The log is a plain file to which the worker, its libraries and its children append; nobody reads it for them, so nobody
can hold them up. One thread of the worker calls `cap` every now and then. Also the line that tells its attempts apart.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from playground.safety.plain_files import open_plain

MOST_BYTES = 20_000_000  # no log grows larger, unless the disk stands still during a burst
CUT_AT_BYTES = 8_000_000  # cut here already: between two looks a burst goes on
BEGINNING_BYTES = 1_000_000
END_BYTES = 3_000_000
ATTEMPT_LINE = "--- attempt "  # so begins the line before what an attempt has printed
MARK = re.compile(rb"\[\.\.\. (\d+) bytes were cut here to keep this file small \.\.\.\]\n")


def attempt_line(attempt: int, event: str = "") -> str:
    """The line that begins an attempt; `event`, what has happened then, where it is not yet the start."""
    return f"{ATTEMPT_LINE}{attempt}, {event}{time.strftime('%Y-%m-%d %H:%M:%S')} ---"


def log_tail(path: Path, max_bytes: int) -> str:
    """The end of a log; empty where it cannot be read."""
    try:
        with open_plain(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - max_bytes))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


def cap(path: Path, cut_at: int = CUT_AT_BYTES, beginning: int = BEGINNING_BYTES, end: int = END_BYTES) -> int:
    """Cut the middle out of the file, in place, once it is larger than `cut_at`; returns how many bytes went.

    What is appended in the very moment of the cut, microseconds, may be lost. Raises: OSError.
    """
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return 0
    if size <= max(cut_at, beginning + end):
        return 0
    # Not opened for appending: Linux appends what such a file is given, wherever it should go.
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        head = os.pread(descriptor, beginning, 0)
        keep = head.rfind(b"\n") + 1 or len(head)
        earlier = MARK.match(os.pread(descriptor, 200, keep))
        start = size - end
        tail = os.pread(descriptor, end, start)
        skipped = tail.find(b"\n") + 1
        gone = start + skipped - keep
        if earlier:  # cut before: one mark for all
            gone += int(earlier[1]) - len(earlier[0])
        put = keep + _put(descriptor, keep, b"[... %d bytes were cut here to keep this file small ...]\n" % gone)
        put += _put(descriptor, put, tail[skipped:])
        while rest := os.pread(descriptor, end, size):  # written meanwhile
            size += len(rest)
            put += _put(descriptor, put, rest)
        os.ftruncate(descriptor, put)
        return size - put
    finally:
        os.close(descriptor)


def _put(descriptor: int, at: int, data: bytes) -> int:
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done:], at + done)
    return done
