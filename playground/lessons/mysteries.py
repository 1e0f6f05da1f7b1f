"""Mystery runs: runs with one mistake that is drawn by the seed (`faults: [drawn]`), and what there is to say of it
once a visitor has answered. `mysteries.toml` has the words; ten recorded ones ship in ui/mysteries.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from playground.analysis.diagnosis import alert
from playground.analysis.diagnosis.alert import Alert
from playground.analysis.diagnosis.run_records import Records
from playground.analysis.run_report import RunReport
from playground.config import RunConfig
from playground.config.faults import DRAWN, FAULTS, Fault
from playground.config.parts import Part
from playground.errors import RunNotFound
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog

PRESET = "mystery"  # what a new one is trained from
EXAMPLE = "examples/minimal_rlhf.py"


class PlantedMistake(Part):
    """A mistake in words, and in lines of a short program."""

    say: str
    shows: str
    lamp: str
    because: str
    wrong: tuple[str, ...]
    right: tuple[str, ...]
    of: str = EXAMPLE
    where: str = ""


_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
MISTAKES: dict[Fault, PlantedMistake] = {fault: PlantedMistake(**_WORDS[fault]) for fault in FAULTS}


class MysteryAnswer(NamedTuple):
    """The mistake of a run, and what its lamp says of it: at the end, or after the update at which it was lit first
    where it is no longer (0: at the end)."""

    fault: Fault
    lamp: Alert
    update: int


def is_mystery(config: RunConfig) -> bool:
    """Whether which mistake is planted is for the visitor to find."""
    return DRAWN in config.faults


def answer(run: RunDirectory) -> MysteryAnswer:
    """Which mistake it is. Raises: RunNotFound, of a run that is no mystery; InvalidConfig."""
    report = RunReport.of(run)
    if not is_mystery(report.config):
        raise RunNotFound(f"The run {run.id[:60]} is no mystery run.")
    (fault,) = report.config.planted
    records, name = report.records, MISTAKES[fault].lamp
    if (now := alert(name, records)).lit:
        return MysteryAnswer(fault, now, 0)
    every = ((update, alert(name, _until(records, update))) for update in range(1, records.updates))
    update, then = next(((update, alert_then) for update, alert_then in every if alert_then.lit), (0, now))
    return MysteryAnswer(fault, then, update)


def _until(records: Records, update: int) -> Records:
    """What there was of them after an update."""
    return replace(
        records,
        metrics=[metric for metric in records.metrics if metric.update <= update],
        samples=[sample for sample in records.samples if sample.update <= update],
        events=[event for event in records.events if event.update <= update],
    )


def without(config: RunConfig) -> RunConfig:
    """The same run without its mistake: the settings and the seed stay."""
    about = config.about.model_copy(update={"title": f"{config.about.title}, without its mistake", "expect": ""})
    return config.model_copy(update={"faults": (), "experiments": False, "about": about, "preset": ""})


def new(seed: int) -> RunConfig:
    """One that was not trained before."""
    return catalog.preset(PRESET).model_copy(update={"seed": seed})


def recorded(folder: Path = catalog.MYSTERIES) -> list[Path]:
    """The recorded ones in their order."""
    return sorted(path.parent for path in folder.glob("*/config.yaml"))
