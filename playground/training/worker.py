"""The process of one run: `python -m playground.training.worker RUN_DIR`.

Loads the models, drives the trainer update by update, writes the run directory, listens to its control folder. It
never waits for a reader. How it can end is told in ending.py, and a watch beside it (watch.py) sees that it does.
"""

from __future__ import annotations

import faulthandler
import functools
import os
import sys
from pathlib import Path

from playground import checks, estimates, redaction
from playground.config import RunConfig
from playground.errors import PlaygroundError
from playground.estimates import disk
from playground.runs.directory import RunDirectory
from playground.runs.evidence import smaller
from playground.runs.launcher import adopt_lock, take_lock
from playground.runs.writer import RunWriter
from playground.training import guard
from playground.training.ending import StopRequested, leave, reported
from playground.training.watch import Watch


def main(arguments: list[str] | None = None) -> int:
    """Run the worker. Exit code: 0 finished, 1 failed, 3 stopped."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 1:
        print("usage: python -m playground.training.worker RUN_DIR", file=sys.stderr)
        return 2
    try:
        run = RunDirectory.open(Path(arguments[0]))
        config = run.config()
    except PlaygroundError as error:
        print(error, file=sys.stderr)
        return 2
    lock = adopt_lock() or take_lock(run)
    if lock is None:
        print(f"Another worker is training {run.id}.", file=sys.stderr)
        return 2
    redaction.cover_streams()
    guard.watch_run(run, lock)
    writer = RunWriter(run, config.ppo.num_updates, run.status().attempt)
    advice = functools.partial(memory_advice, config, run.path.parent)
    with lock, Watch(writer, max_minutes=config.max_minutes) as watch, reported(writer, memory_advice=advice):
        train(run, config, writer, watch)
    guard.dismiss()
    return {"finished": 0, "stopped": 3}.get(writer.status.state, 1)


def train(run: RunDirectory, config: RunConfig, writer: RunWriter, watch: Watch) -> None:
    """Everything between starting and ending.

    Raises:
        StopRequested, PlaygroundError, and whatever the machine throws; `reported` turns each into a terminal state.
    """
    checks.check(config, run.path.parent)
    between = watch.between

    def tell_download(text: str) -> None:
        between()
        if text != writer.status.phase:
            writer.set_status(phase=text)

    checks.fetch(checks.needs(config, run.path.parent), tell_download)
    held = sum(path.stat().st_size for path in run.checkpoints_path.rglob("*"))
    disk.check(config, run.path.parent, held)
    writer.set_status(phase="loading PyTorch")
    from playground.training.session import Session  # seconds of imports, after the page knows that we are alive

    writer.set_status(phase="loading the model")
    session = Session(run, config, writer, between)
    session.begin()
    try:
        session.look_if_due()
        writer.set_status(state="running", phase="training")
        session.train()
    except StopRequested:
        writer.set_status(phase="saving")
        session.save()
        raise


def memory_advice(config: RunConfig, outputs: Path) -> str:
    """What to change after memory has run out: what the estimate says is enough, else what helps a little."""
    told = estimates.advice(config, outputs)
    return f"{told} A little less: {smaller(config)}" if told.startswith(estimates.NO_SETTING) else told


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    faulthandler.enable()  # a crash in a library says in the log where it was
    leave(main())
