"""A server in small, for tests: starts one run, says where, and waits. `python -m tests.faults.server_process OUTPUTS
NAME [MODULE]`; the policy comes from the environment."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

from playground.runs import launcher
from tests.support import small_config


def main() -> None:
    outputs, name, *module = sys.argv[1:]
    if module:
        launcher.WORKER_MODULE = module[0]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    run, _ = launcher.start(small_config(name), Path(outputs), name)
    print(run.path, flush=True)
    time.sleep(120)


if __name__ == "__main__":
    main()
