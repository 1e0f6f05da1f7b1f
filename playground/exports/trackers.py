"""A run handed to an experiment tracker: TensorBoard (by tensorboardX), trackio or Weights & Biases (if installed).
Only figures and the configuration; no texts, no environment, no token. Nothing is sent from here: trackio keeps its
data on this machine, W&B is used in its offline mode."""

from __future__ import annotations

import contextlib
import importlib
import os
import socket
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from playground.analysis import frames, plateau
from playground.config import flatten
from playground.errors import PlaygroundError
from playground.exports import csv_tables
from playground.exports.report import Report

PROJECT = "rlhf-playground"
MARGIN = "    "  # TensorBoard reads Markdown; this makes it leave a line alone


class TrackerMissing(PlaygroundError):
    """The package of a tracker is not installed."""


class Exported(NamedTuple):
    """Where a run went, and the command that shows it there."""

    where: str
    command: str


def to_tensorboard(report: Report, folder: Path) -> Exported:
    """One event file in `folder`."""
    from tensorboardX import RecordWriter, summary
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.proto.summary_pb2 import Summary

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}"
    started = report.status.started_at
    times = {record.update: started + record.seconds for record in report.metrics}
    # Not its SummaryWriter: that writes in a thread, which a full disk ends without a word.
    with contextlib.closing(RecordWriter(str(path))) as file:

        def put(update: int, moment: float | None = None, **what: Any) -> None:
            moment = times.get(update, started) if moment is None else moment
            file.write(Event(wall_time=moment, step=update, **what).SerializeToString())

        put(0, time.time(), file_version="brain.Event:2")
        for update, figures in _steps(report).items():
            for name, value in figures.items():
                put(update, summary=Summary(value=[Summary.Value(tag=name, simple_value=value)]))
        put(0, started, summary=summary.text("configuration", textwrap.indent(report.config.to_yaml(), MARGIN)))
        last = "".join(f"{MARGIN}{name}: {value}\n" for name, value in report.summary().items())
        put(report.status.update, report.status.updated_at, summary=summary.text("summary", last))
    return Exported(str(path), f"tensorboard --logdir {folder.parent}")


def to_trackio(report: Report, folder: Path) -> Exported:
    """A run in trackio's local store."""
    trackio = _package("trackio")
    trackio.init(project=PROJECT, name=report.run_id, config=flatten(report.config))
    for update, figures in _steps(report).items():
        trackio.log(figures, step=update)
    last = {f"summary/{name}": value for name, value in report.summary().items() if isinstance(value, (int, float))}
    trackio.log(last, step=report.metrics[-1].update if report.metrics else 0)
    trackio.finish()
    return Exported(f"trackio's project {PROJECT}", f"trackio show --project {PROJECT}")


def to_wandb(report: Report, folder: Path) -> Exported:
    """An offline run of Weights & Biases in `folder`."""
    wandb = _package("wandb")
    folder.mkdir(parents=True, exist_ok=True)
    private = dict.fromkeys(("disable_code", "disable_git", "x_disable_meta", "x_disable_stats"), True)
    settings = wandb.Settings(mode="offline", console="off", save_code=False, **private)
    known = {"project": PROJECT, "name": report.run_id, "config": flatten(report.config)}
    run = wandb.init(**known, dir=str(folder), settings=settings)
    for update, figures in _steps(report).items():
        run.log(figures, step=update)
    run.summary.update({name: value for name, value in report.summary().items() if value is not None})
    run.finish()
    return Exported(str(folder / "wandb"), f"wandb sync {folder / 'wandb' / 'offline-run-*'}")


Tracker = Callable[[Report, Path], Exported]
TRACKERS: dict[str, Tracker] = {"tensorboard": to_tensorboard, "trackio": to_trackio, "wandb": to_wandb}


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise TrackerMissing(
            f"{name} is not installed here. Install it with `pip install {name}`, or export as tensorboard or csv, "
            "which need nothing more."
        ) from None


def _steps(report: Report) -> dict[int, dict[str, float]]:
    """Every update once, in order: its figures, and of the evaluation at it the mean score of the fixed prompts, the
    share of them that shows each behaviour, and the perplexity on held-out text. What came before the first is step 0.
    """
    evaluations = frames.evaluations(report.evaluations).set_index("update")
    shares = frames.shares(report.behaviours).groupby("behaviour")["share"]
    measured = {
        "fixed_prompts/score": plateau.curve_of(report.samples).mean(axis=1).dropna(),
        "text/perplexity": evaluations["perplexity_text"].dropna(),
        **{f"behaviours/{name}": values for name, values in shares},
    }
    steps = csv_tables.history(report.config, report.metrics)
    for name, values in measured.items():
        for update, value in values.items():
            steps.setdefault(update, {})[name] = value
    return dict(sorted(steps.items()))


def default_folder(outputs: Path, run_id: str, kind: str) -> Path:
    """Where a tracker's files go."""
    return Path(os.path.abspath(outputs)) / kind / run_id
