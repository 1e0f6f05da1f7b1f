"""A process beside a worker (or the model service) that ends it when a stranger's program does not come to an end.

`python -I -S watchdog.py PID [NOTE]`. The process it watches tells it on stdin what it begins: one JSON object a line,
with `seconds`, how long that may take, and `words`, what is to be said if it takes longer; and `{}` when it is done.
Nothing inside a process can break off every loop: one that holds Python's own lock stops all threads and signal
handlers. So this one kills it from outside. The words go into the file NOTE, where whoever writes the end of the dead
run finds them (`runs.folder.evidence`), or to stdout, as the answer to the question. It ends when its stdin closes,
which the death of the other process does by itself.

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

DEATH_SECONDS = 10.0


def main(arguments: list[str]) -> int:
    """Watch until the other process ends or has to be ended."""
    pid, *note = arguments
    words, rest = "", b""
    deadline: float | None = None
    while True:
        patience = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([0], [], [], patience)[0]:
            break
        data = os.read(0, 65_536)
        if not data:
            return 0
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            begun = json.loads(line)
            words = begun.get("words", "")
            deadline = time.monotonic() + begun["seconds"] if begun else None
    if os.getppid() == int(pid):  # else it has gone by itself, and its number may be somebody else's
        _end(int(pid), words, *note)
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
