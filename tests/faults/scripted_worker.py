"""A worker by script with everything of a real one but the training: lock, writer, watch, ends, log. No torch.

The configuration's name says what it does, once its phase says so:

    listening               comes by its heartbeat every 10 ms
    deaf, deaf-loading      is away in a call that no signal reaches, in training or while it loads
    saving                  writes a slow checkpoint when asked to stop
    family, deaf-family     the first two, with children that are hard to end

None outlives the tests.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

from playground import worker
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.launcher import adopt_lock
from playground.training.process.ending import StopRequested, reported
from playground.training.process.watch import WorkerWatch
from tests.support import the_tests_have_ended, update_metrics

SAVING_SECONDS = 1.0
IGNORES_TERM = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
LEAVES_AN_ORPHAN = "import subprocess; subprocess.Popen(['sleep', '600'])"


def main(arguments: Sequence[str]) -> int:
    run = RunDirectory.open(arguments[0])
    lock = adopt_lock()
    assert lock is not None, "the launcher hands the lock down"
    writer = RunWriter(run, num_updates=3, attempt=run.status().attempt)
    with lock, WorkerWatch(writer) as watch, reported(writer):
        act(run.config().name, run, writer, watch)
    return {"finished": 0, "stopped": 3}.get(writer.status.state, 1)


def act(name: str, run: RunDirectory, writer: RunWriter, watch: WorkerWatch) -> None:
    if name == "deaf-loading":
        writer.set_status(phase="loading PyTorch")
        hang()
    if name.endswith("family"):
        start_family()
    writer.metrics(update_metrics(1))
    writer.set_status(state="running", phase="training", update=1)
    if name.startswith("deaf"):
        hang()
    try:
        while not the_tests_have_ended():
            watch.between()
            time.sleep(0.01)
    except StopRequested:
        writer.set_status(phase="saving")
        if name == "saving":
            save_slowly(run)
        raise


def hang() -> None:
    """As in a library that does not come back: Python's own handlers of signals, which run in this thread, have to
    wait."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    while not the_tests_have_ended():
        time.sleep(1)


def start_family() -> None:
    """A child that ignores SIGTERM, an orphan of this session, and an ordinary one."""
    subprocess.Popen([sys.executable, "-c", IGNORES_TERM])
    subprocess.run([sys.executable, "-c", LEAVES_AN_ORPHAN], check=True)
    subprocess.Popen(["sleep", "600"])


def save_slowly(run: RunDirectory) -> None:
    work, whole = run.checkpoints_path / f".tmp-update-000001-{os.getpid()}", run.checkpoints_path / "update-000001"
    work.mkdir(parents=True)
    time.sleep(SAVING_SECONDS)
    (work / "MANIFEST.json").write_text("{}")
    work.rename(whole)


if __name__ == "__main__":
    worker.be(lambda: main(sys.argv[1:]))
