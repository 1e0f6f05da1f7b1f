"""A process beside a worker (or the model service) that ends it when a stranger's program does not come to an end.

`python -I -S watchdog.py PID run RUN_DIR` or `... PID answer`. The process it watches tells it on stdin what it begins
and how long that may take, one JSON object a line, and `{}` when that is done. Nothing inside a process can break off
every loop: one that holds Python's own lock stops all threads and signal handlers. So this one kills it from outside,
and then says why in its place: in status.json and events.jsonl, whose lock it holds too, or as the answer to the
question. It ends when its stdin closes, which the death of the other process does by itself.

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

STATE, REASON = "failed", "model"
DEATH_SECONDS = 10.0
RESERVE = ".reserve"  # `RunDirectory.reserve_path`


def main(arguments: list[str]) -> int:
    """Watch until the other process ends or has to be ended."""
    pid, ending, *place = arguments
    waiting: dict[str, Any] = {}
    deadline, rest = 0.0, b""
    while True:
        patience = max(0.0, deadline - time.monotonic()) if waiting else None
        if not select.select([0], [], [], patience)[0]:
            return _end(int(pid), waiting, place[0] if ending == "run" else None)
        data = os.read(0, 65_536)
        if not data:
            return 0
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            waiting = json.loads(line)
            deadline = time.monotonic() + waiting.get("seconds", 0.0)


def _end(pid: int, waiting: dict[str, Any], folder: str | None) -> int:
    if os.getppid() != pid:  # it has gone by itself, and its number may be somebody else's
        return 0
    given_up = time.monotonic() + DEATH_SECONDS
    os.kill(pid, signal.SIGKILL)
    while os.getppid() == pid and time.monotonic() < given_up:
        time.sleep(0.002)  # it takes a moment to die, and who hears the answer may ask the next question at once
    if folder is None:
        answer = {"id": waiting.get("question"), "event": "error", "message": waiting["message"]}
        os.write(1, json.dumps(answer).encode() + b"\n")
    else:
        _write_end(folder, waiting["message"])
    return 0


def _write_end(folder: str, message: str) -> None:
    """The terminal state of a run whose worker is dead, and its event; `runs.end.last_words` does the same for
    others."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(folder, RESERVE))  # the disk may be full
    path = os.path.join(folder, "status.json")
    with open(path, encoding="utf-8") as file:
        status = json.load(file)
    now = time.time()
    status |= {"state": STATE, "phase": "", "reason": REASON, "message": message, "updated_at": now}
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(status, file)
    os.replace(temporary, path)
    events = os.path.join(folder, "events.jsonl")
    event = {"attempt": status.get("attempt", 1), "seq": _next_seq(events), "time": now, "kind": "state",
             "update": status.get("update", 0), "message": message,
             "data": {"state": STATE, "reason": REASON}}  # fmt: skip
    with open(events, "ab+") as file:
        file.seek(max(0, file.tell() - 1))
        torn = file.read(1) not in (b"", b"\n")  # the worker died while it wrote a line, which nobody reads
        file.write(b"\n" * torn + json.dumps(event).encode() + b"\n")


def _next_seq(path: str) -> int:
    """One more than the last event's; a torn last line counts as none."""
    last = -1
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError), open(path, "rb") as file:
        for line in file:
            last = int(json.loads(line)["seq"])
    return last + 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
