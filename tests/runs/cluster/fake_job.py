"""What a job of the hub runs in tests: `job_side` with a worker by script, which keeps its run again and again."""

from __future__ import annotations

import sys
from pathlib import Path

from playground.runs import launcher
from playground.runs.cluster import job_side, node

if __name__ == "__main__":
    launcher.WORKER_MODULE = "tests.fake_worker"
    job_side.KEEP_SECONDS = node.LOOK_SECONDS = 0.1
    job_side.compute(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
