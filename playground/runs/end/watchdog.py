"""A process beside a worker (or the model service) that ends it when a stranger's program does not come to an end, or
takes too much memory.

`python -I -S watchdog.py PID [NOTE]`. The process it watches tells it on stdin what it begins: one JSON object a line,
with `seconds`, how long that may take, `bytes`, what the process may hold meanwhile (0: as much as it likes), and what
is to be said of it: `late`, `large`, and `dead`, if the process dies of it; and `{}` when it is done.
Nothing inside a process can break off every loop: one that holds Python's own lock stops all threads and signal
handlers. So this one kills it from outside. The words go into the file NOTE, where whoever writes the end of the dead
run finds them (`runs.folder.evidence`), or to stdout, as the answer to the question. It ends when its stdin closes,
which the death of the other process does by itself. What a run died of is not its to say: its exit code tells more.

Imports the standard library only, because it has to be there within milliseconds. `training.models.time_limit` starts
it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from typing import Any

DEATH_SECONDS = 10.0
LOOK_SECONDS = 0.05  # between two looks at the memory, in which it may grow by 100 MB


def main(arguments: list[str]) -> int:
    """Watch until the other process ends or has to be ended."""
    pid, *note = arguments
    rest = b""
    begun: dict[str, Any] = {}
    deadline, words = 0.0, ""
    while not words:
        patience = min(LOOK_SECONDS, max(0.0, deadline - time.monotonic())) if begun else None
        if select.select([0], [], [], patience)[0]:
            data = os.read(0, 65_536)
            if not data:
                if begun and not note:
                    os.write(1, begun["dead"].encode() + b"\n")
                return 0
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                begun = json.loads(line)
                deadline = time.monotonic() + begun.get("seconds", 0.0)
        elif begun and time.monotonic() >= deadline:
            words = begun["late"]
        elif begun and begun["bytes"] and resident_bytes(pid) > begun["bytes"]:
            words = begun["large"]
    if os.getppid() == int(pid):  # else it has gone by itself, and its number may be somebody else's
        _end(int(pid), words, *note)
    return 0


def resident_bytes(pid: str) -> int:
    """The memory that a process holds; 0 where that cannot be seen."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _end(pid: int, words: str, note: str = "") -> None:
    if note:  # before the kill: whoever finds it dead finds the reason too
        with contextlib.suppress(OSError), open(note, "w", encoding="utf-8") as file:
            file.write(words)
    given_up = time.monotonic() + DEATH_SECONDS
    os.kill(pid, signal.SIGKILL)
    while os.getppid() == pid and time.monotonic() < given_up:
        time.sleep(0.002)  # it takes a moment to die, and who hears the answer may ask the next question at once
    if not note:
        os.write(1, words.encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
