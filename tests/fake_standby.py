"""A standby worker that is warm at once and is the fake worker of its run, started by the real `runs.start.standby`:
`python -m tests.fake_standby`."""

import sys

from playground.training.process import job, waiting
from tests import fake_worker


def be_fake(arguments: list[str]) -> int:
    sys.argv[1:] = arguments
    fake_worker.main()
    return 0


if __name__ == "__main__":
    waiting.warm_up = lambda: None
    waiting.worker.main = be_fake
    job.be(waiting.main)
