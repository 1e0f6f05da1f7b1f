"""A process that hangs in a stranger's program: `python -m tests.security.guarded KIND [RUN_DIR]`.

What it hangs in: `number`, a product of huge numbers, which keeps Python's own lock so that no thread and no signal
handler runs; `loop`, a loop of Python; `memory`, which takes 2 GB; `nothing`, which comes to an end.
"""

import sys
import time
from pathlib import Path

from playground.errors import ModelNotFound
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.launcher import take_lock
from playground.training.models import time_limit

SECONDS = 0.7
MORE_BYTES = 300_000_000
PATIENT_SECONDS = 300.0  # for what is not noticed by its time
REFUSED = 7


def hang(kind: str) -> None:
    if kind == "number":
        10 ** (10**9)
    while kind == "loop":
        pass
    if kind == "memory":
        print(len([bytearray(20_000_000) for _ in range(100)]), file=sys.stderr)


def main(kind: str, folder: str | None = None) -> int:
    if folder is not None:
        run = RunDirectory.open(Path(folder))
        lock = take_lock(run)
        assert lock is not None
        RunWriter(run, 3).set_status(phase="loading the model")
    time_limit.MORE_BYTES = MORE_BYTES
    time_limit.begin(PATIENT_SECONDS if kind == "memory" else SECONDS)
    try:
        with time_limit.limited("Cannot load the tokenizer in some/folder"):
            hang(kind)
    except ModelNotFound as error:
        print(error)
        return REFUSED
    if kind == "nothing":
        time.sleep(2 * SECONDS)  # longer than the limit, which is over
        print(len(bytearray(2 * MORE_BYTES)), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
