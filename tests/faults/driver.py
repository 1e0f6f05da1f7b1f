"""What starts runs with the fake worker and may be killed itself: `python -m tests.faults.driver ...` is the real web
process, `app.py ...`; forked (`main`, tests/forking.py) it starts one run or trial, and waits."""

import signal
import sys
import time
from pathlib import Path

from playground.runs import launcher, trial
from tests.support import small_config, the_tests_have_ended


def main(arguments):
    """Start a run of a name, which is also its id, or make a `trial` of it."""
    outputs, name, *what = arguments
    launcher.WORKER_MODULE = "tests.fake_worker"
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

    launcher.WORKER_MODULE = "tests.fake_worker"
    server.StandbyWorker = NoStandby
    sys.exit(app.main())
