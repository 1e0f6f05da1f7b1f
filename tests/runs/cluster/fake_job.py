"""What a job of the hub runs in tests: `node` with a worker by script, which keeps its run again and again."""

from __future__ import annotations

import sys

from playground.runs import launcher
from playground.runs.cluster import node

if __name__ == "__main__":
    launcher.WORKER_MODULE = "tests.fake_worker"
    node.KEEP_SECONDS = node.LOOK_SECONDS = 0.1
    node.main(*sys.argv[1:])
