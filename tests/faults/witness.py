"""A worker that needs nothing but Python, so that fifty of them take seconds: `python -m tests.faults.witness RUN_DIR`.

It writes into the outputs folder's ledger its name and whether it was alone on its device, and ends after
PLAYGROUND_TEST_WITNESS_SECONDS.
"""

import fcntl
import json
import os
import sys
import time
from pathlib import Path

LEDGER = "ledger.txt"
SECONDS_VARIABLE = "PLAYGROUND_TEST_WITNESS_SECONDS"


def write(run: Path, status: dict[str, object]) -> None:
    partial = run / ".status.json.witness"
    partial.write_text(json.dumps(status))
    os.replace(partial, run / "status.json")


def ledger(outputs: Path) -> list[str]:
    """A line "RUN alone" or "RUN beside-another" for each run, in the order in which they had their device."""
    path = outputs / LEDGER
    return path.read_text().splitlines() if path.exists() else []


if __name__ == "__main__":
    run = Path(sys.argv[1])
    slot = json.loads((run / "request.json").read_text())["slot"]
    with open(run.parent / f"alone-on-{slot.replace(':', '-')}", "w") as device:
        word = "alone"
        try:
            fcntl.flock(device, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            word = "beside-another"
        with open(run.parent / LEDGER, "a") as file:
            file.write(f"{run.name} {word}\n")
        status = json.loads((run / "status.json").read_text())
        write(run, {**status, "state": "running", "pid": os.getpid()})
        time.sleep(float(os.environ.get(SECONDS_VARIABLE, "0")))
        write(run, {**status, "state": "finished", "pid": os.getpid(), "update": status["num_updates"]})
