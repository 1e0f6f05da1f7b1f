"""A driver whose workers on this machine are those by script: `python -m tests.cluster.fake_driver ...`."""

from __future__ import annotations

import sys

from playground.cluster import driver
from playground.runs.start import launcher

if __name__ == "__main__":
    launcher.WORKER_MODULE = "tests.fake_worker"
    sys.exit(driver.main())
