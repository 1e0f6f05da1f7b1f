"""A reward worker by script: `python -m tests.fake_reward_worker FOLDER`, started by the real launcher.

The name of the reward model says what it does: finish, fail, crash, wait (until it is asked to stop), learn (a step
every tenth of a second until then), or anything else: finish too. None lives longer than a minute.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from playground.runs.folder.writer import RunWriter
from playground.runs.reward_models import RewardTraining
from playground.runs.start.launcher import adopt_lock
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
    if name in ("wait", "learn"):
        number = 0
        deadline = time.monotonic() + LIFETIME_SECONDS
        while not training.stop_requested and time.monotonic() < deadline:
            if number == 0 or name == "learn":
                number += 1
                writer.metrics(step(number))
                writer.set_status(update=number, num_updates=10 * LIFETIME_SECONDS)
            time.sleep(0.1 if name == "learn" else 0.01)
        writer.finish("stopped", "stopped", f"Stopped at step {number}; nothing was saved.")
        return
    write_finished(training, training.config(), writer)


if __name__ == "__main__":
    main()
