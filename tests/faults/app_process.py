"""The real web process, `app.py`, with a worker by script: `python -m tests.faults.app_process WORKER_MODULE ...`."""

import sys

import app
from playground.runs import launcher
from playground.ui import server
from tests.ui.fake_server import NoStandby

if __name__ == "__main__":
    launcher.WORKER_MODULE = sys.argv.pop(1)
    server.StandbyWorker = NoStandby  # type: ignore[misc]
    sys.exit(app.main())
