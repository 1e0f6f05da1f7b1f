"""A process that hangs in a stranger's program, for the tests of `training.models.time_limit`: `python -m ... KIND
[RUN_DIR]`.

What it hangs in: `number`, a product of huge numbers, which keeps Python's own lock so that no thread and no signal
handler runs; `loop`, a loop of Python; `memory`, which takes 2 GB; `crash`, which ends the process; `nothing`, which
comes to an end.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.start.launcher import take_lock
from playground.training.models import time_limit

SECONDS = 0.7
MORE_BYTES = 300_000_000
PATIENT_SECONDS = 50.0  # for what is not noticed by its time


def hang(kind: str) -> None:
    if kind == "number":
        10 ** (10**9)
    while kind == "loop":
        pass
    if kind == "memory":
        held = [bytearray(20_000_000) for _ in range(100) if time.sleep(0.01) is None]
        print(len(held), file=sys.stderr)
    if kind == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)


def main(kind: str, folder: str | None = None) -> int:
    if folder is None:
        time_limit.watch_answers()
        time_limit.answering(7)
    else:
        run = RunDirectory.open(Path(folder))
        lock = take_lock(run)
        assert lock is not None
        time_limit.watch_run(run, attempt=1)
        writer = RunWriter(run, 3)
        writer.set_status(phase="loading the model")
    time_limit.MORE_BYTES = MORE_BYTES
    seconds = PATIENT_SECONDS if kind in ("memory", "crash") else SECONDS
    with time_limit.limited("Cannot load the tokenizer in some/folder", seconds=seconds):
        hang(kind)
    if kind == "nothing":
        time.sleep(2 * SECONDS)  # longer than the limit, which is over
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
