"""A standby worker that does not get warm in the time of a test: `python -m tests.faults.cold_standby`, started by the
real `runs.standby`."""

import time

from playground.training import standby

WARM_UP_SECONDS = 60

if __name__ == "__main__":
    standby.warm_up = lambda: time.sleep(WARM_UP_SECONDS)
    standby.main()
