"""A reward worker by script: `python -m tests.fake_reward_worker FOLDER`, started by the real launcher.

The name of the reward model says what it does: finish, fail, crash, wait (until it is asked to stop), or anything else:
finish too. None lives longer than a minute.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from playground.runs.launcher import adopt_lock
from playground.runs.reward_training import RewardTraining
from playground.runs.writer import RunWriter
from tests.reward_tools import step, write_finished

LIFETIME_SECONDS = 60


def main() -> None:
    training = RewardTraining.open(Path(sys.argv[1]).parent)
    lock = adopt_lock()
    assert lock is not None, "the launcher hands the lock down"
    print("fake reward worker's last words")
    writer = RunWriter(training, 2)
    writer.set_status(state="running", phase="training")
    name = training.id
    if name == "crash":
        os._exit(9)
    if name == "fail":
        writer.finish("failed", "invalid", "base: cannot make a reward model of it.")
        return
    if name == "wait":
        writer.metrics(step(1))
        writer.set_status(update=1)
        deadline = time.monotonic() + LIFETIME_SECONDS
        while not training.stop_requested and time.monotonic() < deadline:
            time.sleep(0.01)
        writer.finish("stopped", "stopped", "Stopped at step 1; nothing was saved.")
        return
    write_finished(training, training.config(), writer)


if __name__ == "__main__":
    main()
