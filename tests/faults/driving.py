"""A second process that drives a queue, as another web process would: `python -m tests.faults.driving OUTPUTS`.

Ends when its standard input does.
"""

import sys
from pathlib import Path

from playground.runs import launcher
from playground.runs.supervisor import SupervisorThread

if __name__ == "__main__":
    launcher.WORKER_MODULE = "tests.faults.witness"
    watch = SupervisorThread(Path(sys.argv[1]))
    watch.start()
    sys.stdin.read()
    watch.close()
