"""A standby worker that does not get warm in the time of a test: `python -m tests.faults.cold_standby`, started by the
real `runs.start.standby`."""

import time

from playground.training.process import waiting

WARM_UP_SECONDS = 60

if __name__ == "__main__":
    waiting.warm_up = lambda: time.sleep(WARM_UP_SECONDS)
    waiting.main()
