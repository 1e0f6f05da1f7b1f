"""A worker by script, for tests: `python -m tests.fake_worker FOLDER`, started by the real launcher, or waiting for its
run (`runs.start.standby`).

The name says what it does: finish, fail, crash (dies without a word), wait (until it is asked to stop), tick (makes
updates until a file `enough` appears in the run folder, then finishes) or deaf (does not listen; ends when a file `die`
appears there). A reward model may also learn (a step every tenth of a second until it is asked to stop). None outlives
the tests.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from playground import worker
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.launcher import adopt_lock
from playground.runs.reward_models import TRAINING, RewardTraining
from tests.reward_tools import step, write_finished
from tests.support import sample, the_tests_have_ended, update_metrics

ENDLESS = 600  # the steps of a training that learns until it is stopped


def work(folder: Path) -> int:
    """In the place of `worker.work`."""
    lock = adopt_lock()
    assert lock is not None, "the launcher hands the lock down"
    print("fake worker's last words")
    if folder.name == TRAINING:
        learn(RewardTraining.open(folder.parent))
    else:
        train(RunDirectory.open(folder))
    return 0


def train(run: RunDirectory) -> None:
    name = run.config().name
    writer = RunWriter(run, num_updates=3, attempt=run.status().attempt)
    writer.samples([sample(0, "before", 0.0), sample(1, "before", 0.5)])
    writer.set_status(state="running", phase="training")
    writer.metrics(update_metrics(1))
    writer.set_status(update=1)
    if name == "crash":
        os._exit(9)
    if name == "fail":
        writer.finish("failed", "out_of_memory", "Out of memory. Halve the batch.")
        return
    if name in ("wait", "deaf"):
        wait_for((lambda: run.stop_requested) if name == "wait" else (run.path / "die").exists)
        writer.finish("stopped", "stopped", "Stopped after update 1.")
        return
    if name == "tick":
        tick(run, writer)
    for update in (2, 3) if name != "tick" else ():
        writer.metrics(update_metrics(update))
        writer.set_status(update=update)
    writer.samples([sample(0, "after", 1.0), sample(1, "after", 3.5)])
    writer.finish("finished")


def tick(run: RunDirectory, writer: RunWriter) -> None:
    while not (run.path / "enough").exists() and not the_tests_have_ended():
        update = writer.status.update + 1
        writer.metrics(update_metrics(update))
        writer.set_status(update=update)
        writer.event("checkpoint", folder=f"update-{update:06d}")
        time.sleep(0.05)


def learn(training: RewardTraining) -> None:
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
        while not training.stop_requested and not the_tests_have_ended():
            if number == 0 or name == "learn":
                number += 1
                writer.metrics(step(number))
                writer.set_status(update=number, num_updates=ENDLESS)
            time.sleep(0.1 if name == "learn" else 0.01)
        writer.finish("stopped", "stopped", f"Stopped at step {number}; nothing was saved.")
        return
    write_finished(training, training.config(), writer)


def wait_for(condition: Callable[[], bool]) -> None:
    while not condition() and not the_tests_have_ended():
        time.sleep(0.01)


def main(arguments: list[str] | None = None) -> int:
    worker.warm_up = lambda: None
    worker.work = work  # type: ignore[assignment]
    return worker.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
