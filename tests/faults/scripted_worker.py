"""A worker by script with everything of a real one but the training: lock, writer, watch, ends, log. No torch.

The configuration's name says what it does, once its phase says so:

    listening               comes by its heartbeat every 10 ms
    deaf, deaf-loading      is away in a call that no signal reaches, in training or while it loads
    saving                  writes a slow checkpoint when asked to stop (PLAYGROUND_TEST_SAVING_SECONDS)
    family, deaf-family     the first two, with children that are hard to end

None lives longer than two minutes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.launcher import adopt_lock
from playground.training.process.ending import StopRequested, leave, reported
from playground.training.process.watch import WorkerWatch
from tests.support import update_metrics

LIFETIME_SECONDS = 120
SAVING_SECONDS = 3.0
IGNORES_TERM = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(300)"
LEAVES_AN_ORPHAN = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'])"


def main() -> int:
    run = RunDirectory.open(sys.argv[1])
    name = run.config().name
    lock = adopt_lock()
    assert lock is not None, "the launcher hands the lock down"
    writer = RunWriter(run, num_updates=3, attempt=run.status().attempt)
    with lock, WorkerWatch(writer) as watch, reported(writer):
        act(name, run, writer, watch)
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
        deadline = time.monotonic() + LIFETIME_SECONDS
        while time.monotonic() < deadline:
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
    time.sleep(LIFETIME_SECONDS)


def start_family() -> None:
    """A child that ignores SIGTERM, an orphan of this session, and an ordinary one."""
    subprocess.Popen([sys.executable, "-c", IGNORES_TERM])
    subprocess.run([sys.executable, "-c", LEAVES_AN_ORPHAN], check=True)
    subprocess.Popen(["sleep", "300"])


def save_slowly(run: RunDirectory) -> None:
    work, whole = run.checkpoints_path / f".tmp-update-000001-{os.getpid()}", run.checkpoints_path / "update-000001"
    work.mkdir(parents=True)
    begun = time.monotonic()
    while time.monotonic() < begun + float(os.environ.get("PLAYGROUND_TEST_SAVING_SECONDS", SAVING_SECONDS)):
        with open(work / "model.safetensors", "ab") as file:
            file.write(b"x" * 1000)
        time.sleep(0.1)
    (work / "MANIFEST.json").write_text("{}")
    work.rename(whole)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    leave(main())
