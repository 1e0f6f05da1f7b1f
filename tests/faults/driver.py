"""What starts runs with workers by script and may be killed itself.

`python -m tests.faults.driver MODULE ...` is the real web process, `app.py ...`, with that module for its workers.
Forked (`main`, tests/forking.py) it starts one run or trial, and waits.
"""

import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from playground.runs import launcher, trial
from tests.support import small_config, the_tests_have_ended


def main(arguments: Sequence[str]) -> int:
    """Start a run of a name, which is also its id, or make a `trial` of it."""
    launcher.WORKER_MODULE, outputs, name, *what = arguments
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if what:
        list(trial.make(small_config(name), Path(outputs)))
    launcher.start(small_config(name), Path(outputs), name)
    while not the_tests_have_ended():
        time.sleep(0.1)
    return 0


if __name__ == "__main__":
    import app
    from playground.ui import server
    from tests.ui.fake_server import NoStandby

    launcher.WORKER_MODULE = sys.argv.pop(1)
    server.StandbyWorker = NoStandby  # type: ignore[misc]
    sys.exit(app.main())
