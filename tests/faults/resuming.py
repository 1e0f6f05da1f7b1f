"""Runs of a tiny model in this process, broken off where a test says and taken up again from what is on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from playground.config import RunConfig
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
    sizes = {"batch_size": 4, "minibatch_size": 2, "micro_batch_size": 2, "num_epochs": 2}
    data: dict[str, Any] = {
        "name": "tiny",
        "device": "cpu",
        "model": {"source": str(model)},
        "rewards": [{"kind": "length"}, {"kind": "keyword", "words": ["a"], "weight": 0.5}],
        "prompts": {"source": "pocket/reviews", "limit": 12},
        "ppo": {"num_updates": UPDATES, "learning_rate": 3e-3, **sizes},
        "sampling": {"max_new_tokens": 6},
        "evaluation": {"num_prompts": 3, "every": 3},
        "checkpoint": {"every": 1},
        "kl": {"coef": 0.1},
    }
    return config_with(data, changes)


def tiny_model(folder: Path, family: str = "llama") -> Path:
    """A model of a few thousand weights with a tokenizer, as a folder."""
    return snapshot(folder, family, own_pad=True)


def attempt(run: RunDirectory, between: Callable[[Session], None] = lambda session: None) -> Session:
    """One attempt in this process, as the worker makes it.

    Args:
        between: called between micro-batches and tokens; what it raises goes through.
    """
    made = run.config()
    writer = RunWriter(run, made.ppo.num_updates, run.status().attempt)
    session = Session(run, made, writer, lambda: between(session))
    session.begin()
    session.evaluate_if_due()
    writer.set_status(state="running", phase="training")
    session.train()
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

    with pytest.raises(Interrupted):
        attempt(run, die)


def queue_again(run: RunDirectory) -> None:
    """What the launcher does for a run that is resumed."""
    run.queue_again(run.status(), run.config().ppo.num_updates)


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
    folder = run.checkpoints_path / f"update-{run.config().ppo.num_updates:06d}"
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.safetensors")}


def figures(run: RunDirectory) -> list[dict[str, Any]]:
    """Every metric but timings and memory, training texts, samples and evaluations, in force."""
    records = [*run.metrics(), *run.rollouts(), *run.samples(), *run.evaluations()]
    return [
        {name: value for name, value in item.model_dump().items() if name not in TIMINGS and "seconds" not in name}
        for item in records
    ]


def strict_lines(path: Path) -> list[dict[str, Any]]:
    """A file of JSON lines, each whole and strict."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return [json.loads(line, parse_constant=refuse) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def threads(number: int, monkeypatch: Any) -> None:
    """Compute with exactly so many threads."""
    monkeypatch.setattr("playground.training.process.tuning.limit_threads", lambda model: torch.set_num_threads(number))
