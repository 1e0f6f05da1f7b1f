"""Real workers at once: a process that has imported everything and forks one for each line on its stdin.

A line is RUN_DIR PHASE HOW. The child is a worker as the launcher makes them, but that it stays in PHASE for a while,
so that a test can meet it there: HOW is `listening` (it comes by its heartbeat) or `deaf` (it does not). With the phase
`none` HOW is what goes wrong after the first checkpoint: `nothing`, `files=BYTES` (no file may be larger), `gpu` (it
refuses), `memory=BYTES` (it gets no more than that, and asks for more). `python -m tests.faults.nursery`
"""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from playground import worker
from playground.runs.folder.directory import RunDirectory
from playground.setup.estimates import disk
from playground.train.loop.trainer import PPOTrainer
from playground.train.models import checkpoint_files, loading
from playground.train.process.ending import leave
from playground.train.process.session import Session

DWELL_SECONDS = 60
A_WHILE_SECONDS = 3  # of a checkpoint, in which nobody listens, but which comes to its end


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how they ended
    worker.warm_up()
    print("ready", flush=True)
    for line in sys.stdin:
        if not os.fork():
            os.setsid()
            be_worker(*line.split())


def be_worker(path: str, phase: str, how: str) -> None:
    """Never returns."""
    run = RunDirectory(path)
    log = os.open(run.log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    disk.check = lambda *_, **__: None  # these tests fill small disks on purpose
    if phase == "none":
        go_wrong(how)
    else:
        dwell(run, phase, deaf=how == "deaf")
    faulthandler.enable()
    leave(worker.main([path]))


def go_wrong(how: str) -> None:
    """From the first checkpoint on."""
    name, _, number = how.partition("=")
    save, collect = checkpoint_files.save, PPOTrainer.collect

    def refuse(trainer: PPOTrainer) -> Any:
        if name == "gpu":
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        torch.empty(4 * int(number), dtype=torch.uint8)
        return collect(trainer)

    def limited(*arguments: Any, **options: Any) -> Path:
        saved = save(*arguments, **options)
        if name == "files":
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(number), resource.RLIM_INFINITY))
        if name == "memory":
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            most = pages * resource.getpagesize() + int(number)
            resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
        if name in ("memory", "gpu"):
            PPOTrainer.collect = refuse  # type: ignore[method-assign]
        return saved

    checkpoint_files.save = limited


def dwell(run: RunDirectory, phase: str, deaf: bool) -> None:
    """Make the worker stay in one phase, and say in a file that it is there."""

    def stay(between: Callable[[], None]) -> None:
        (run.path / "there").touch()
        deadline = time.monotonic() + (A_WHILE_SECONDS if phase == "checkpoint" and not deaf else DWELL_SECONDS)
        while time.monotonic() < deadline:
            if not deaf:
                between()
            time.sleep(0.01)

    def before(owner: Any, name: str, when: Callable[..., bool] = lambda *_: True) -> None:
        original = getattr(owner, name)

        def patched(*arguments: Any, **options: Any) -> Any:
            if when(*arguments):
                stay(getattr(arguments[0], "between", lambda: None))
            return original(*arguments, **options)

        setattr(owner, name, patched)

    def is_saved(*_: object) -> bool:
        return any(run.checkpoints_path.glob("update-*"))

    match phase:
        case "import":
            sys.modules.pop("playground.train.process.session")
            sys.meta_path.insert(0, SlowImport(lambda: stay(lambda: None)))
        case "load":
            before(loading, "load")
        case "before":
            before(Session, "evaluate_and_record", lambda _, stage: stage == "before")
        case "rollout":
            before(PPOTrainer, "collect")
        case "update":
            before(PPOTrainer, "optimise")
        case "evaluation":
            before(Session, "evaluate_and_record", lambda _, stage: stage == "during" and is_saved())
        case "checkpoint":
            before(checkpoint_files, "save", is_saved)


class SlowImport:
    """An import of the session that takes its time."""

    def __init__(self, stay: Callable[[], None]) -> None:
        self._stay = stay

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == "playground.train.process.session":
            self._stay()


if __name__ == "__main__":
    main()
