"""One of several processes that start runs at the same moment: `python -m tests.faults.starting`, and its arguments
OUTPUTS ROUNDS THREADS NAME.

Waits for OUTPUTS/go, then asks in every round, from every thread, for the run of that round. Prints the run ids that
it was given, a line a round.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playground.runs import launcher
from playground.runs.folder.requests import Request
from tests.support import at_once, small_config, wait_until


def main() -> None:
    """Start and tell."""
    outputs, rounds, threads = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    launcher.WORKER_MODULE = "tests.faults.witness"
    (outputs / f"ready-{sys.argv[4]}").touch()
    wait_until((outputs / "go").exists, seconds=60)
    for number in range(rounds):
        found: list[str] = []

        def start(request_id: str = f"round-{number}", found: list[str] = found) -> None:
            found.append(launcher.start(small_config(), outputs, request=Request(request_id)).run.id)

        at_once(*[start] * threads)
        print(" ".join(found), flush=True)


if __name__ == "__main__":
    main()
