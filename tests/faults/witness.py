"""A worker that needs nothing but Python, so that fifty of them take seconds: `python -m tests.faults.witness RUN_DIR`.

Started by the real launcher. It writes its name into the outputs folder's ledger, with a word on whether it was alone
on its device, and ends. WITNESS_SECONDS says how long it takes.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from pathlib import Path

LEDGER = "ledger.txt"
SECONDS_VARIABLE = "PLAYGROUND_TEST_WITNESS_SECONDS"


def main() -> None:
    """Bear witness. The lock that was handed down is open until the process ends."""
    run = Path(sys.argv[1])
    outputs = run.parent
    slot = json.loads((run / "request.json").read_text())["slot"]
    with open(outputs / f"alone-on-{slot.replace(':', '-')}", "w") as witness:
        try:
            fcntl.flock(witness, fcntl.LOCK_EX | fcntl.LOCK_NB)
            word = "alone"
        except BlockingIOError:
            word = "beside-another"
        with open(outputs / LEDGER, "a") as ledger:
            ledger.write(f"{run.name} {word}\n")
        status = json.loads((run / "status.json").read_text())
        _write(run, {**status, "state": "running", "pid": os.getpid()})
        time.sleep(float(os.environ.get(SECONDS_VARIABLE, "0")))
        _write(run, {**status, "state": "finished", "pid": os.getpid(), "update": status["num_updates"]})


def _write(run: Path, status: dict[str, object]) -> None:
    partial = run / ".status.json.witness"
    partial.write_text(json.dumps(status))
    os.replace(partial, run / "status.json")


if __name__ == "__main__":
    main()
