"""Runs of a tiny model in this process, broken off where a test says and taken up again from what is on disk."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from playground.config import RunConfig, yaml_io
from playground.runs.folder.checkpoints import name_of
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.folder.writer import RunWriter
from playground.training.process.session import Session
from tests.support import config_with
from tests.training.snapshots import snapshot

UPDATES = 8
TIMINGS = ("attempt", "memory_gb")  # and what is counted in seconds


class Interrupted(BaseException):
    """The process dies here, as far as the run is concerned: nothing is cleaned up."""


def config(model: Path | str, **changes: Any) -> RunConfig:
    """Eight small updates; keyword `kl__coef=2` sets kl.coef."""
    data = yaml_io.read_yaml(Path(__file__).with_name("tiny.yaml"))
    return config_with({**data, "model": {"source": str(model)}}, changes)


def tiny_model(folder: Path, family: str = "llama") -> Path:
    """A model of a few thousand weights with a tokenizer, as a folder."""
    return snapshot(folder, family, own_pad=True)


def attempt(run: RunDirectory, between: Callable[[Session], None] = lambda session: None) -> Session:
    """One attempt in this process, as the worker makes it.

    Args:
        between: called between micro-batches and tokens; what it raises goes through.
    """
    made, threads_before = run.config(), torch.get_num_threads()
    writer = RunWriter(run, made.ppo.num_updates, run.status().attempt)
    try:
        session = Session(run, made, writer, lambda: between(session))
        session.begin()
        session.evaluate_if_due()
        writer.set_status(state="running", phase="training")
        session.train()
    finally:
        torch.set_num_threads(threads_before)
    writer.finish("finished")
    return session


def broken_off(run: RunDirectory, update: int, calls: int = 1) -> None:
    """An attempt that dies in the update after `update`, whose checkpoint is written, at that call of `between`."""
    left = [calls]

    def die(session: Session) -> None:
        if session.trainer.updates_done == update and (run.checkpoints_path / name_of(update)).exists():
            left[0] -= 1
            if not left[0]:
                raise Interrupted

    dies(run, die)


def dies(run: RunDirectory, between: Callable[[Session], None]) -> None:
    """An attempt that `between` breaks off."""
    with pytest.raises(Interrupted):
        attempt(run, between)


def queue_again(run: RunDirectory) -> None:
    """What the launcher does for a run that is resumed."""
    run.queue_again(run.status(), run.config().ppo.num_updates)


def resume(run: RunDirectory, between: Callable[[Session], None] = lambda session: None) -> Session:
    """The next attempt, to its end."""
    queue_again(run)
    return attempt(run, between)


def resumed_at(run: RunDirectory) -> list[int]:
    """From which updates the attempts have gone on."""
    return [event.update for event in run.events() if event.kind == "resumed"]


class Hand:
    """What happens to a run while it trains: settings are changed in some updates, and it dies in one.

    Args:
        edits: number of updates done -> settings that are asked for then, applied before the next update but one.
        dies: once so many updates are done.
    """

    def __init__(self, run: RunDirectory, edits: dict[int, dict[str, float]] | None = None, dies: int = -1) -> None:
        self.run, self.edits, self.dies = run, dict(edits or {}), dies

    def __call__(self, session: Session) -> None:
        """Between two micro-batches."""
        done = session.trainer.updates_done
        if done in self.edits:
            write_atomically(self.run.control_path / f"set-{done}.json", json.dumps(self.edits.pop(done)))
        if done == self.dies:
            raise Interrupted


def weights(run: RunDirectory) -> dict[str, str]:
    """SHA-256 of every file of weights in the last checkpoint, optimizer included."""
    folder = run.checkpoints_path / name_of(run.config().ppo.num_updates)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.safetensors")}


def figures(run: RunDirectory) -> list[dict[str, Any]]:
    """Every metric but timings and memory, training texts, samples and evaluations, in force."""
    records = [*run.metrics(), *run.rollouts(), *run.samples(), *run.evaluations()]
    return [
        {name: value for name, value in item.model_dump().items() if name not in TIMINGS and "seconds" not in name}
        for item in records
    ]


def are_same(run: RunDirectory, other: RunDirectory) -> bool:
    """Bit by bit: weights, value head, optimizer, every metric, every text."""
    return (weights(run), figures(run)) == (weights(other), figures(other))


def strict_lines(path: Path) -> list[dict[str, Any]]:
    """A file of JSON lines, each whole and strict."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return [json.loads(line, parse_constant=refuse) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
