"""A worker's log, to which its libraries and children append too: the line that begins an attempt, its end, and `cap`,
which a thread of the worker calls every now and then: the beginning and the end stay, the middle goes."""

from __future__ import annotations

import os
import time
from pathlib import Path

from playground.plain_files import open_plain

CUT_AT_BYTES = 8_000_000  # between two looks a burst goes on, to less than 20 MB
BEGINNING_BYTES = 1_000_000
END_BYTES = 3_000_000
ATTEMPT_LINE = "--- attempt "  # so begins the line before what an attempt has printed
MARK = b"[... cut here to keep this file small ...]\n"


def attempt_line(attempt: int, event: str = "") -> str:
    """The line that begins an attempt; `event`: what happens then, where it is not the start."""
    return f"{ATTEMPT_LINE}{attempt}, {event}{time.strftime('%Y-%m-%d %H:%M:%S')} ---"


def log_tail(path: Path, max_bytes: int) -> str:
    """The end of a log; empty where it cannot be read."""
    try:
        with open_plain(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - max_bytes))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


def cap(path: Path) -> int:
    """Cut the middle out of the file, in place, once it is larger than `CUT_AT_BYTES`; returns how many bytes went.
    Lines that are appended in these milliseconds may be lost. Raises: OSError."""
    size = path.stat().st_size if path.exists() else 0
    if size <= max(CUT_AT_BYTES, BEGINNING_BYTES + END_BYTES):
        return 0
    with open(path, "r+b") as file:
        head = file.read(BEGINNING_BYTES)
        keep = head.rfind(b"\n") + 1 or len(head)
        file.seek(size - END_BYTES)
        tail = file.read()
        file.seek(keep)
        file.write(MARK + tail[tail.find(b"\n") + 1 :])
        file.truncate()
        return size - file.tell()
