"""A run handed to an experiment tracker: TensorBoard (by tensorboardX), trackio or Weights & Biases (if installed), at
its end or while it trains (tracking.py). Only figures and the configuration; no texts, no environment, no token.
trackio keeps its data on this machine; W&B is used in its offline mode, but for a run that names it in `trackers`."""

from __future__ import annotations

import importlib
import os
import socket
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from playground.analysis import frames, plateau
from playground.analysis.run_report import RunReport
from playground.config import flatten
from playground.errors import PlaygroundError
from playground.exports import csv_tables

PROJECT = "rlhf-playground"
MARGIN = "    "  # TensorBoard reads Markdown; this makes it leave a line alone


class TrackerMissing(PlaygroundError):
    """The package of a tracker is not installed."""


class Exported(NamedTuple):
    """Where a run went, and the command that shows it there."""

    where: str
    command: str


class Tracker(Protocol):
    """One run in a tracker. Made with the run, a folder for the tracker's files, and the name by which all attempts of
    one that is sent while it trains are known (`live`)."""

    def __init__(self, report: RunReport, folder: Path, live: str = "") -> None: ...

    def log(self, report: RunReport, update: int, figures: Mapping[str, float]) -> None:
        """The figures of an update; they come in order."""

    def end(self, report: RunReport) -> Exported:
        """What it has come to, and that no more is to come."""


class TensorBoard:
    """One event file in `folder`."""

    def __init__(self, report: RunReport, folder: Path, live: str = "") -> None:
        from tensorboardX import RecordWriter, summary

        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}"
        self._path, self._summary = folder / name, summary
        # Not its SummaryWriter: that writes in a thread, which a full disk ends without a word.
        self._file = RecordWriter(str(self._path))
        self._put(0, time.time(), file_version="brain.Event:2")
        text = summary.text("configuration", textwrap.indent(report.config.to_yaml(), MARGIN))
        self._put(0, report.status.started_at, summary=text)

    def log(self, report: RunReport, update: int, figures: Mapping[str, float]) -> None:
        """See `Tracker`."""
        from tensorboardX.proto.summary_pb2 import Summary

        seconds = next((record.seconds for record in report.metrics if record.update == update), 0.0)
        for name, value in figures.items():
            scalar = Summary(value=[Summary.Value(tag=name, simple_value=value)])
            self._put(update, report.status.started_at + (seconds or 0.0), summary=scalar)
        self._file.flush()

    def end(self, report: RunReport) -> Exported:
        """See `Tracker`."""
        last = "".join(f"{MARGIN}{name}: {value}\n" for name, value in report.summary().items())
        self._put(report.status.update, report.status.updated_at, summary=self._summary.text("summary", last))
        self._file.close()
        return Exported(str(self._path), f"tensorboard --logdir {self._path.parent.parent}")

    def _put(self, update: int, moment: float, **what: Any) -> None:
        from tensorboardX.proto.event_pb2 import Event

        self._file.write(Event(wall_time=moment, step=update, **what).SerializeToString())


class Trackio:
    """A run in trackio's local store."""

    def __init__(self, report: RunReport, folder: Path, live: str = "") -> None:
        self._trackio = _package("trackio")
        known = {"project": PROJECT, "name": report.run_id, "config": flatten(report.config)}
        if live:
            known["resume"] = "allow"
        self._trackio.init(**known)

    def log(self, report: RunReport, update: int, figures: Mapping[str, float]) -> None:
        """See `Tracker`."""
        self._trackio.log(figures, step=update)

    def end(self, report: RunReport) -> Exported:
        """See `Tracker`."""
        last = {f"summary/{name}": value for name, value in report.summary().items() if isinstance(value, (int, float))}
        self._trackio.log(last, step=report.metrics[-1].update if report.metrics else 0)
        self._trackio.finish()
        return Exported(f"trackio's project {PROJECT}", f"trackio show --project {PROJECT}")


class WandB:
    """A run of Weights & Biases, with its files in `folder`."""

    def __init__(self, report: RunReport, folder: Path, live: str = "") -> None:
        wandb, self._folder = _package("wandb"), folder
        folder.mkdir(parents=True, exist_ok=True)
        private = dict.fromkeys(("disable_code", "disable_git", "x_disable_meta", "x_disable_stats"), True)
        mode = os.environ.get("WANDB_MODE", "online") if live else "offline"
        settings = wandb.Settings(mode=mode, console="off", save_code=False, **private)
        known = {"project": PROJECT, "name": report.run_id, "config": flatten(report.config)}
        if live:
            known |= {"id": live, "resume": "allow"}
        self._run = wandb.init(**known, dir=str(folder), settings=settings)

    def log(self, report: RunReport, update: int, figures: Mapping[str, float]) -> None:
        """See `Tracker`."""
        self._run.log(figures, step=update)

    def end(self, report: RunReport) -> Exported:
        """See `Tracker`."""
        self._run.summary.update({name: value for name, value in report.summary().items() if value is not None})
        self._run.finish()
        return Exported(str(self._folder / "wandb"), f"wandb sync {self._folder / 'wandb' / 'offline-run-*'}")


TRACKERS: dict[str, type[Tracker]] = {"tensorboard": TensorBoard, "trackio": Trackio, "wandb": WandB}


def handed_over(kind: str, report: RunReport, folder: Path) -> Exported:
    """All of a run at once. Raises: TrackerMissing."""
    tracker = TRACKERS[kind](report, folder)
    for update, figures in steps(report).items():
        tracker.log(report, update, figures)
    return tracker.end(report)


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise TrackerMissing(
            f"{name} is not installed here. Install it with `pip install {name}`, or export as tensorboard or csv, "
            "which need nothing more."
        ) from None


def steps(report: RunReport) -> dict[int, dict[str, float]]:
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
    found = csv_tables.history(report)
    for name, values in measured.items():
        for update, value in values.items():
            found.setdefault(update, {})[name] = value
    return dict(sorted(found.items()))


def default_folder(outputs: Path, run_id: str, kind: str) -> Path:
    """Where a tracker's files go."""
    return Path(os.path.abspath(outputs)) / kind / run_id
