"""What a sweep is on disk: `<outputs>/.sweeps/<name>.json`, a product of values from which each of its runs follows.

The file holds the configuration that all runs share, what varies, their ids in order, and how many of them were made.
Each run carries the tag of its sweep as the id of its request, and is else a run like any other.
"""

from __future__ import annotations

import copy
import itertools
import json
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from playground.config import RUN_ID, RunConfig, yaml_io
from playground.errors import InvalidConfig, Problem, RunNotFound
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import read_record, stamps, write_atomically
from playground.runs.folder.records import Count, Record, Seconds, Status
from playground.runs.folder.requests import Request
from playground.setup import describe

FOLDER = ".sweeps"  # in the outputs folder
SEED = "seed"
MOST_RUNS = 200
KEEP_SECONDS = 60.0  # the record of one of which all runs were deleted
NAME_CHARACTERS = 50  # a run's id is the name, a hyphen and a number
Where = Literal["here", "ray", "slurm", "torchrun", "jobs"]  # jobs: of earlier versions, to be read


class Sweep(Record):
    """A sweep, as planned; written before its first run is made.

    Attributes:
        preset: what was named to begin with, for reading. base: that configuration as plain data, with what was set for
            all runs. vary: dotted field -> its values; the runs take them in order, the last field fastest.
        on: where they are computed. options: of that, as `name=value`. runs: their ids. visitor, mode: who asked,
            as in request.json of each run. made: how many of them were made, whatever has become of them.
    """

    format: Literal[1] = 1
    name: str = Field(pattern=RUN_ID.pattern, max_length=NAME_CHARACTERS)
    created_at: Seconds
    preset: str = ""
    base: dict[str, Any]
    vary: dict[str, list[Any]] = Field(min_length=1)
    on: Where = "here"
    options: list[str] = Field(default=[])
    runs: list[str] = Field(min_length=1, max_length=MOST_RUNS)
    visitor: str = ""
    mode: str = "local"
    made: Count = 0

    def cells(self) -> dict[str, dict[str, Any]]:
        """The id of each run -> the values that it has of the fields that vary."""
        return dict(zip(self.runs, cells(self.vary), strict=False))

    def config(self, run_id: str) -> RunConfig:
        """The configuration of one of its runs, named by what varies unless a name was typed. Raises: InvalidConfig."""
        values = self.cells()[run_id]
        base = self.base
        if base.get("name") in describe.given_names():
            base = {**base, "name": describe.name_of(values)}
        return with_values(base, values)

    def setting_configs(self, run_ids: list[str]) -> list[RunConfig]:
        """Those of some runs, one of each setting; none where this version cannot read them any more."""
        try:
            return [self.config(run_id) for run_id in run_ids]
        except InvalidConfig:
            return []

    def request(self, run_id: str) -> Request:
        """The tag by which a run is known as this sweep's, however often it is begun to be made."""
        return Request(f"sweep {self.name} {self.created_at:.6f} {run_id}", self.visitor, self.mode)

    def owns(self, run_id: str, request_digest: str) -> bool:
        """True for the run that was made for this sweep, by the digest in its request.json."""
        return run_id in self.runs and request_digest == requests.digest(self.request(run_id).id)

    def missing(self, ids: Collection[str]) -> tuple[list[str], list[str]]:
        """Its runs that are not there: those that were deleted, and those that were not made yet. They are made in
        order, so one before the last that is there was made, too."""
        count_made = max([self.made, *(number for number, run_id in enumerate(self.runs, 1) if run_id in ids)])
        return [run_id for run_id in self.runs[:count_made] if run_id not in ids], self.runs[count_made:]

    @property
    def settings(self) -> list[str]:
        """The fields that vary, but for the seed: what differs between the settings that are compared."""
        return [field for field in self.vary if field != SEED]


def cells(vary: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Every way of choosing one value of each field, the last field fastest."""
    for values in itertools.product(*vary.values()):
        yield dict(zip(vary, values, strict=True))


def with_values(base: dict[str, Any], values: dict[str, Any]) -> RunConfig:
    """Plain data with values put into it, validated. Raises: InvalidConfig."""
    texts = [f"{field}={json.dumps(value, default=str)}" for field, value in values.items()]
    return yaml_io.overridden(copy.deepcopy(base), texts, RunConfig)  # which writes into what it gets


def path_of(outputs: Path, name: str) -> Path:
    """Where the record of a sweep is. `name` must have been checked."""
    return Path(outputs) / FOLDER / f"{name}.json"


def write(outputs: Path, sweep: Sweep) -> None:
    """Write its record, in one step. Raises: OSError."""
    path = path_of(outputs, sweep.name)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_atomically(path, json.dumps(sweep.model_dump(), default=str))


def named(outputs: Path, name: str) -> Sweep | None:
    """The sweep of that name, if there is one. Safe with names from strangers."""
    sweep = None
    if RUN_ID.fullmatch(name):
        sweep = read_record(path_of(outputs, name), Sweep)
    if sweep and sweep.name == name:
        return sweep
    return None


def find(outputs: Path, name: str) -> Sweep:
    """The same. Raises: RunNotFound, where there is none."""
    sweep = named(outputs, name)
    if sweep is None:
        raise RunNotFound(
            f"There is no sweep `{name[:60]}` here. It may have been deleted; the Runs page and `sweep list` show "
            "the existing ones."
        )
    return sweep


def every(outputs: Path) -> list[Sweep]:
    """The sweeps of an outputs folder, the newest first, without those that are gone or cannot be read."""
    sweeps = [sweep for _, sweep in _readable(outputs) if not is_gone(outputs, sweep)]
    return sorted(sweeps, key=lambda sweep: sweep.created_at, reverse=True)


def gone(outputs: Path) -> list[Path]:
    """The records of those of which nothing else is left, and which are not of this moment: a page may show them."""
    paths = [path for path, sweep in _readable(outputs) if is_gone(outputs, sweep)]
    return [path for path in paths if 0 < stamps(path)[0] < (time.time() - KEEP_SECONDS) * 1e9]


def _readable(outputs: Path) -> list[tuple[Path, Sweep]]:
    paths = [path for path in (Path(outputs) / FOLDER).glob("*.json") if RUN_ID.fullmatch(path.stem)]
    records = [(path, read_record(path, Sweep)) for path in paths]
    return [(path, sweep) for path, sweep in records if sweep and sweep.name == path.stem]


def name_problem(outputs: Path, name: str) -> Problem | None:
    """Why a new sweep cannot have this name; None if it can."""
    if not RUN_ID.fullmatch(name) or len(name) > NAME_CHARACTERS:
        return Problem("name", f"Use 1 to {NAME_CHARACTERS} small letters, digits and hyphens.")
    sweep = named(outputs, name)
    if path_of(outputs, name).exists() and (sweep is None or not is_gone(outputs, sweep)):
        return Problem("name", f"There is already a sweep `{name}`. Choose another name, or continue that one.")
    return None


def runs_of(outputs: Path, sweep: Sweep) -> list[RunDirectory]:
    """Its runs that are there, in order; without those that were deleted or not made yet."""
    runs = [RunDirectory(Path(outputs) / run_id) for run_id in sweep.runs]
    return [run for run in runs if run.config_path.is_file() and sweep.owns(run.id, requests.of(run).id)]


def statuses(outputs: Path, sweep: Sweep) -> dict[str, Status]:
    """Of those of its runs that are there, by id."""
    return {run.id: run.status() for run in runs_of(outputs, sweep)}


def is_gone(outputs: Path, sweep: Sweep) -> bool:
    """True where none of its runs is there: then nothing of it is shown, its name is free, and its record goes."""
    return not any((Path(outputs) / run_id).exists() for run_id in sweep.runs)


def raise_if(problems: list[Problem]) -> None:
    """Raises: InvalidConfig, where there are any, each once."""
    if problems:
        raise InvalidConfig(list(dict.fromkeys(problems)))
