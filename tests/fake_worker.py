"""A worker by script, for tests: `python -m tests.fake_worker FOLDER`, started by the real launcher, or waiting for its
run (`runs.start.standby`).

The name says what it does: finish, fail, crash (dies without a word), wait (until it is asked to stop), tick (makes
updates until a file `enough` appears in the run folder, then finishes) or deaf (does not listen; ends when a file `die`
appears there).

Others have everything of a real worker but the training, its watch and its ends too, once their phase says so:

    listening                       comes by its heartbeat every 10 ms
    deaf-training, deaf-loading     is away in a call that no signal reaches, in training or while it loads
    saving                          writes a slow checkpoint when asked to stop
    family, deaf-family             listening or deaf, with children that are hard to end

None outlives the tests.
"""

import os
import signal
import subprocess
import time

from playground import worker
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.launcher import adopt_lock
from playground.runs.reward_models import TRAINING, RewardTraining
from playground.training.process.ending import StopRequested, reported
from playground.training.process.watch import WorkerWatch
from tests.reward_tools import step, write_finished
from tests.support import sample, the_tests_have_ended, update_metrics

WATCHED = ("listening", "saving", "family", "deaf-family", "deaf-training", "deaf-loading")
SAVING_SECONDS = 1.0


def work(folder):
    lock = adopt_lock()
    assert lock is not None, "the launcher hands the lock down"
    print("fake worker's last words")
    if folder.name == TRAINING:
        learn(RewardTraining.open(folder.parent))
        return 0
    run = RunDirectory.open(folder)
    name, writer = run.config().name, RunWriter(run, num_updates=3, attempt=run.status().attempt)
    if name not in WATCHED:
        train(run, writer, name)
        return 0
    with lock, WorkerWatch(writer) as watch, reported(writer):
        train_watched(run, writer, name, watch)
    return worker.EXIT_CODES.get(writer.status.state, 1)


def train(run, writer, name):
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
    enough = (run.path / "enough").exists if name == "tick" else (lambda: writer.status.update == 3)
    while not enough() and not the_tests_have_ended():
        update = writer.status.update + 1
        writer.metrics(update_metrics(update))
        writer.set_status(update=update)
        time.sleep(0.05 if name == "tick" else 0)
    writer.samples([sample(0, "after", 1.0), sample(1, "after", 3.5)])
    writer.finish("finished")


def train_watched(run, writer, name, watch):
    if name == "deaf-loading":
        writer.set_status(phase="loading PyTorch")
        hang()
    if name.endswith("family"):  # a child that ignores SIGTERM, an orphan of this session, and an ordinary one
        subprocess.Popen(["sh", "-c", "trap '' TERM; exec sleep 600"])
        subprocess.run(["sh", "-c", "sleep 600 &"], check=True)
        subprocess.Popen(["sleep", "600"])
    writer.metrics(update_metrics(1))
    writer.set_status(state="running", phase="training", update=1)
    if name.startswith("deaf"):
        hang()
    try:
        wait_for(watch.between)
    except StopRequested:
        writer.set_status(phase="saving")
        if name == "saving":
            save_slowly(run)
        raise


def hang():
    """As in a library that does not come back: Python's own handlers of signals, run in this thread, have to wait."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    wait_for(lambda: False)


def save_slowly(run):
    unfinished = run.checkpoints_path / f".tmp-update-000001-{os.getpid()}"
    unfinished.mkdir(parents=True)
    time.sleep(SAVING_SECONDS)
    (unfinished / "MANIFEST.json").write_text("{}")
    unfinished.rename(run.checkpoints_path / "update-000001")


def learn(training):
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
        wait_for(lambda: training.stop_requested)
        writer.finish("stopped", "stopped", "Stopped at step 1; nothing was saved.")
        return
    write_finished(training, training.config(), writer)


def wait_for(condition):
    while not condition() and not the_tests_have_ended():
        time.sleep(0.01)


def main(arguments=None):
    worker.warm_up = lambda: None
    worker.work = work
    return worker.main(arguments)


if __name__ == "__main__":
    worker.be(main)
