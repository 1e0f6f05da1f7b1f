"""A server with workers by script, for tests that kill it: `python -m tests.faults.driver MODULE ...` is the real web
process, `app.py ...`; with `one OUTPUTS NAME` it starts one run of that name, says where it is, and waits."""

import signal
import sys
import time
from pathlib import Path

from playground.runs import launcher
from tests.support import small_config

if __name__ == "__main__":
    launcher.WORKER_MODULE = sys.argv.pop(1)
    if sys.argv[1] == "one":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        print(launcher.start(small_config(sys.argv[3]), Path(sys.argv[2]), sys.argv[3]).run.path, flush=True)
        time.sleep(120)
    else:
        import app
        from playground.ui import server
        from tests.ui.fake_server import NoStandby

        server.StandbyWorker = NoStandby  # type: ignore[misc]
        sys.exit(app.main())
