"""A run handed to an experiment tracker: TensorBoard (files of our own), trackio or Weights & Biases (if installed).

What is handed over is what is on disk: configuration, every update, the scores of the fixed prompts, the last figures.
No sample texts, no environment, no token. Nothing is sent from here: trackio keeps its data on this machine, and W&B is
used in its offline mode; its own command uploads what it wrote. The command line calls `TRACKERS`.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from playground.config import flatten
from playground.errors import PlaygroundError
from playground.exports import csv_tables
from playground.exports.report import Report
from playground.exports.tensorboard import EventFile
from playground.insight import knee

PROJECT = "rlhf-playground"


class TrackerMissing(PlaygroundError):
    """The package of a tracker is not installed."""


class Handed(NamedTuple):
    """Where a run went, and the command that shows it there."""

    where: str
    command: str


def to_tensorboard(report: Report, folder: Path) -> Handed:
    """One event file in `folder`."""
    started = report.status.started_at
    with EventFile(folder) as file:
        for (update, figures), record in zip(
            csv_tables.history(report.config, report.metrics), report.metrics, strict=True
        ):
            for name, value in figures.items():
                file.scalar(name, value, update, started + record.seconds)
        times = {record.update: started + record.seconds for record in report.metrics}
        for name, steps in _looks(report).items():
            for update, value in steps.items():
                file.scalar(name, value, update, times.get(update, started))
        updates, scores = knee.curve_of(report.samples)
        for update, row in zip(updates, scores, strict=True):
            if len(row):
                file.histogram("fixed_prompts/scores", list(row), int(update), times.get(int(update), started))
        file.text("configuration", _indented(report.config.to_yaml()), 0, started)
        summary = "\n".join(f"{name}: {value}" for name, value in report.summary().items())
        file.text("summary", _indented(summary), report.status.update, report.status.updated_at)
    return Handed(str(file.path), f"tensorboard --logdir {folder.parent}")


def to_trackio(report: Report, folder: Path) -> Handed:
    """A run in trackio's local store."""
    trackio = _package("trackio")
    trackio.init(project=PROJECT, name=report.run_id, config=flatten(report.config))
    _log(report, lambda figures, update: trackio.log(figures, step=update))
    last = report.metrics[-1].update if report.metrics else 0
    trackio.log(_numbers(report.summary(), "summary/"), step=last)
    trackio.finish()
    return Handed(f"trackio's project {PROJECT}", f"trackio show --project {PROJECT}")


def to_wandb(report: Report, folder: Path) -> Handed:
    """An offline run of Weights & Biases in `folder`."""
    wandb = _package("wandb")
    folder.mkdir(parents=True, exist_ok=True)
    settings = wandb.Settings(
        mode="offline", console="off", disable_code=True, disable_git=True, save_code=False, x_disable_meta=True,
        x_disable_stats=True,
    )  # fmt: skip
    run = wandb.init(
        project=PROJECT, name=report.run_id, config=flatten(report.config), dir=str(folder), settings=settings
    )
    _log(report, lambda figures, update: run.log(figures, step=update))
    run.summary.update({name: value for name, value in report.summary().items() if value is not None})
    run.finish()
    return Handed(str(folder / "wandb"), f"wandb sync {folder / 'wandb' / 'offline-run-*'}")


TRACKERS: dict[str, Callable[[Report, Path], Handed]] = {
    "tensorboard": to_tensorboard,
    "trackio": to_trackio,
    "wandb": to_wandb,
}


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise TrackerMissing(
            f"{name} is not installed here. Install it with `pip install {name}`, or export as tensorboard or csv, "
            "which need no package."
        ) from None


def _log(report: Report, log: Callable[[dict[str, float], int], object]) -> None:
    """Every update once, in order, with what was measured at its look; what came before the first is step 0."""
    looks = _looks(report)
    steps = dict(csv_tables.history(report.config, report.metrics))
    for update in sorted({*steps, *(update for values in looks.values() for update in values)}):
        measured = {name: values[update] for name, values in looks.items() if update in values}
        log(steps.get(update, {}) | measured, update)


def _looks(report: Report) -> dict[str, dict[int, float]]:
    """Mean score of the fixed prompts and perplexity on held-out text, by update."""
    updates, scores = knee.curve_of(report.samples)
    found = {
        "fixed_prompts/score": {
            int(update): float(row.mean()) for update, row in zip(updates, scores, strict=True) if len(row)
        },
        "text/perplexity": {
            item.update: item.perplexity_text for item in report.evaluations if item.perplexity_text is not None
        },
    }
    return {name: values for name, values in found.items() if values}


def _numbers(summary: dict[str, Any], prefix: str) -> dict[str, float]:
    return {f"{prefix}{name}": float(value) for name, value in summary.items() if isinstance(value, (int, float))}


def _indented(text: str) -> str:
    """TensorBoard reads Markdown; four spaces make it leave the lines alone."""
    return "\n".join(f"    {line}" for line in text.splitlines())


def default_folder(outputs: Path, run_id: str, kind: str) -> Path:
    """Where a tracker's files go."""
    return Path(os.path.abspath(outputs)) / kind / run_id
