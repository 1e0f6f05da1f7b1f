"""The training of one reward model on disk: `<outputs>/reward-models/<name>/`, and starting and finding it.

The folder becomes the reward model itself; what belongs to the training lies in `training/` inside it, in the form of a
run directory, whose `update` counts optimizer steps, with one `StepMetrics` for each.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playground import plain_files
from playground.config import RUN_ID, RewardTrainingConfig, yaml_io
from playground.errors import OutputsNotWritable, RunBusy, RunExists, RunNotFound
from playground.runs import launcher
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import make_outputs, read_records, refuse_links, write_atomically
from playground.runs.folder.records import Count, Figure, Record, Seconds, Status, finite_or_null
from playground.setup import catalog
from playground.setup.admission import AdmittedTraining

TRAINING = "training"
MAX_NAME_CHARACTERS = 60  # as RUN_ID allows


class StepMetrics(Record):
    """One optimizer step (`held_out` False), or an evaluation on the held-out pairs after it (True)."""

    step: Count
    held_out: bool = False
    loss: Figure | None
    accuracy: Figure | None
    margin: Figure | None = None
    learning_rate: Figure | None = None
    seconds: Seconds = 0.0


class RewardTraining(RunDirectory):
    """One training. `folder` is the reward model's folder, `path` the `training` folder in it."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        super().__init__(self.folder / TRAINING)
        self.card_path = self.folder / catalog.REWARD_CARD

    @property
    def id(self) -> str:
        """The name of the reward model."""
        return self.folder.name

    @classmethod
    def open(cls, path: Path | str) -> RewardTraining:
        """An existing training, given the reward model's folder. Raises: RunNotFound."""
        training = cls(path)
        training.refuse_links()
        if not training.config_path.is_file():
            raise RunNotFound(f"`{training.id}` is not a reward model that was trained here.")
        return training

    def refuse_links(self) -> None:
        """Raises: RunNotFound if its folder, or anything in it, leads elsewhere; see `directory.refuse_links`."""
        if self.folder.parent.is_symlink():
            raise RunNotFound(f"{self.folder.parent.name} is a link, which is not followed: put a folder in its place.")
        refuse_links(self.folder)
        refuse_links(self.path)

    def config(self) -> RewardTrainingConfig:  # type: ignore[override]
        """What was asked for. Raises: InvalidConfig."""
        return yaml_io.validated(yaml_io.read_yaml(self.config_path, links=False), RewardTrainingConfig)

    def steps(self) -> list[StepMetrics]:
        """All metrics so far."""
        return read_records(self.metrics_path, StepMetrics)

    def card(self) -> dict[str, Any] | None:
        """reward.json: the report of a training that ended well, else None."""
        try:
            card = finite_or_null(plain_files.read_json(self.card_path, catalog.MAX_CARD_BYTES))
        except (OSError, ValueError):
            return None
        if isinstance(card, dict):
            return card
        return None


def doubt(card: Mapping[str, Any]) -> str:
    """What is to be said of a reward model whose held-out pairs do not show that it knows more than a coin does; ""
    where they do, or where `card` does not tell."""
    try:
        share, low, high = (float(card["report"][name]) for name in ("accuracy", "accuracy_low", "accuracy_high"))
        pairs = int(card["report"]["num_pairs"])
    except (KeyError, TypeError, ValueError):
        return ""
    if low > 0.5:
        return ""
    return (
        f"As far as its {pairs} held-out pairs tell, it is no better than a coin toss: right on {share:.1%} (95 % "
        f"interval {low:.0%} to {high:.0%}). A run that it pays may learn nothing but chance."
    )


def start(config: AdmittedTraining, outputs: Path, replace: bool = False) -> tuple[RewardTraining, Any]:
    """Make the folder and start the worker; the training and the worker's process. With `replace` a new reward model
    may take the name of one that is there, which is kept as NAME-before. Raises: RunBusy, if another reward model is in
    training; RunExists; RunNotFound, if a link is in its place; OutputsNotWritable, WorkerNotStarted."""
    outputs = make_outputs(outputs)
    with launcher.one_at_a_time(outputs):
        if busy := living(outputs):
            raise RunBusy(f"The reward model `{busy.id}` is in training. Stop it or wait for it, then start again.")
        training = RewardTraining(outputs / catalog.REWARD_MODELS / config.name)
        _make_room(training, replace)
        now = time.time()
        write_atomically(training.status_path, Status(started_at=now, updated_at=now).model_dump_json())
        publish = functools.partial(write_atomically, training.config_path, config.to_yaml())
        return training, launcher.give_worker(training, publish=publish)


def _make_room(training: RewardTraining, replace: bool) -> None:
    """Make the folder; what is left of a training that did not end well goes, and a reward model takes another name."""
    training.refuse_links()
    folder, complete = training.folder, training.card() is not None
    if complete and not replace:
        raise RunExists(
            f"There is already a reward model `{training.id}`. Choose another name, or replace it (`--replace`)."
        )
    try:
        if complete:
            folder.rename(folder.with_name(name_before(training)))
        elif folder.is_dir():
            if not training.config_path.is_file() and {path.name for path in folder.iterdir()} - {TRAINING}:
                raise RunExists(f"{folder} was not made by a training. Choose another name, or move it away.")
            shutil.rmtree(folder)
        training.control_path.mkdir(parents=True, mode=0o700)
    except OSError as error:
        raise OutputsNotWritable(f"Cannot write to {folder}: {error.strerror}.") from None


def name_before(training: RewardTraining) -> str:
    """A name that is free, for a reward model whose own is to be taken by a new one."""
    endings = itertools.chain(["-before"], (f"-before-{number}" for number in itertools.count(2)))
    names = (training.id[: MAX_NAME_CHARACTERS - len(ending)] + ending for ending in endings)
    return next(name for name in names if not os.path.lexists(training.folder.with_name(name)))


def living(outputs: Path) -> RewardTraining | None:
    """The training whose worker is alive, if there is one."""
    return next((training for training in trainings(outputs) if training.is_at_work()), None)


def trainings(outputs: Path) -> list[RewardTraining]:
    """All of them, whatever became of them, the newest first."""
    folders = []
    for path in (Path(outputs) / catalog.REWARD_MODELS).glob(f"*/{TRAINING}/config.yaml"):
        with contextlib.suppress(RunNotFound):  # a link in it, or it has just gone
            folders.append(RewardTraining.open(path.parents[1]))
    return sorted(folders, key=lambda training: training.status().started_at, reverse=True)


def find(outputs: Path, name: str) -> RewardTraining:
    """A training by the name of its reward model. Raises: RunNotFound."""
    if not RUN_ID.fullmatch(name):
        raise RunNotFound(f"`{name[:60]}` cannot be the name of a reward model.")
    return RewardTraining.open(Path(outputs) / catalog.REWARD_MODELS / name)


def delete(training: RewardTraining) -> None:
    """Remove a reward model and its training for good. Raises: RunBusy, if it is still in training."""
    with launcher.one_at_a_time(training.folder.parents[1]):  # it is not started again meanwhile
        if training.is_at_work():
            raise RunBusy(f"`{training.id}` is still in training. Stop it first.")
        shutil.rmtree(training.folder)
