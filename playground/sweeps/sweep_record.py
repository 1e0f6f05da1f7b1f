"""What a sweep is on disk: `<outputs>/.sweeps/<name>.json`, from which every one of its runs can be told and made.

The file holds the configuration that all runs share, what varies, and their ids in order. What has become of the runs
stands in their own folders and nowhere else, so a run of a sweep is a run like any other. Knows files only; starts
nothing (see sweep_making.py).
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from playground.config import RUN_ID, RunConfig, yaml_io
from playground.errors import InvalidConfig, Problem, RunNotFound
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import read_record, write_atomically
from playground.runs.folder.records import Record, Seconds, Status
from playground.runs.folder.requests import Request

FOLDER = ".sweeps"  # in the outputs folder
SEED = "seed"
MOST_RUNS = 200
KEEP_SECONDS = 60.0  # the record of one of which all runs were deleted
NAME_CHARACTERS = 50  # a run's id is the name, a hyphen and a number
Where = Literal["here", "ray", "slurm", "jobs"]


class Sweep(Record):
    """A sweep, as planned; written before its first run is made, and again when all of them are (`made`), or when
    somebody stops it before that (`stopped`: until it is resumed, no more are made).

    Attributes:
        preset: what somebody named to begin with, for reading. base: that configuration as plain data, with what was
            set for all runs. vary: dotted field -> its values; the runs take them in order, the last field fastest.
        on: where they are computed. options: of that, as `name=value`. runs: their ids. visitor, mode: who asked,
            as in request.json of each run.
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
    made: bool = False
    stopped: bool = False
    visitor: str = ""
    mode: str = "local"

    def cells(self) -> dict[str, dict[str, Any]]:
        """The id of each run -> the values that it has of the fields that vary."""
        return dict(zip(self.runs, cells(self.vary), strict=False))

    def config(self, run_id: str) -> RunConfig:
        """The configuration of one of its runs. Raises: InvalidConfig."""
        return with_values(self.base, self.cells()[run_id])

    def request(self, run_id: str) -> Request:
        """By which a run is known as this sweep's, however often somebody begins to make it."""
        return Request(f"sweep {self.name} {self.created_at:.6f} {run_id}", self.visitor, self.mode)

    def owns(self, run: RunDirectory) -> bool:
        """True for the run that was made for this sweep; false for another one that has been given its id since."""
        return requests.of(run).id == requests.digest(self.request(run.id).id)

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


def find(outputs: Path, name: str) -> Sweep:
    """The sweep of that name. Safe with names from strangers. Raises: RunNotFound."""
    found = read_record(path_of(outputs, name), Sweep) if RUN_ID.fullmatch(name) else None
    if found is None or found.name != name:
        raise RunNotFound(
            f"There is no sweep `{name[:60]}` here. It may have been deleted; the Runs page and `sweep list` show "
            "those there are."
        )
    return found


def every(outputs: Path) -> list[Sweep]:
    """The sweeps of an outputs folder, the newest first, without those that are gone or cannot be read."""
    shown = [sweep for sweep in _readable(outputs) if not is_gone(outputs, sweep)]
    return sorted(shown, key=lambda sweep: sweep.created_at, reverse=True)


def gone(outputs: Path) -> list[Sweep]:
    """Those of which nothing is left but their records, which nobody has written for a while: a page may have just
    shown them."""
    old = time.time() - KEEP_SECONDS
    found = [sweep for sweep in _readable(outputs) if is_gone(outputs, sweep)]
    return [sweep for sweep in found if _stamp(path_of(outputs, sweep.name))[0] < old * 1e9]


def _readable(outputs: Path) -> list[Sweep]:
    paths = [path for path in (Path(outputs) / FOLDER).glob("*.json") if RUN_ID.fullmatch(path.stem)]
    found = [_kept(path, _stamp(path)) for path in paths]
    return [sweep for sweep, path in zip(found, paths, strict=True) if sweep and sweep.name == path.stem]


def name_problem(outputs: Path, name: str) -> Problem | None:
    """Why a new sweep cannot have this name; None if it can."""
    if not RUN_ID.fullmatch(name) or len(name) > NAME_CHARACTERS:
        return Problem("name", f"Use 1 to {NAME_CHARACTERS} small letters, digits and hyphens.")
    there = read_record(path_of(outputs, name), Sweep)
    if path_of(outputs, name).exists() and (there is None or not is_gone(outputs, there)):
        return Problem("name", f"There is already a sweep `{name}`. Choose another name, or go on with that one.")
    return None


def runs_of(outputs: Path, sweep: Sweep) -> list[RunDirectory]:
    """Its runs that are there, in order; without those that were deleted or not made yet."""
    found = [RunDirectory(Path(outputs) / run_id) for run_id in sweep.runs]
    return [run for run in found if run.config_path.is_file() and sweep.owns(run)]


def statuses(outputs: Path, sweep: Sweep) -> dict[str, Status]:
    """Where each of its runs is, of those that are there."""
    return {run.id: run.status() for run in runs_of(outputs, sweep)}


def is_gone(outputs: Path, sweep: Sweep) -> bool:
    """True where all its runs have been deleted: then nothing of it is shown, its name is free, and its record goes."""
    return sweep.made and not any((Path(outputs) / run_id).exists() for run_id in sweep.runs)


def after_restart(outputs: Path, names: Iterable[str]) -> None:
    """Of sweeps that came back from a bucket, the runs that did not come with them (they waited, or had no checkpoint
    yet, or were deleted) count as not made: who resumes the sweep makes them again."""
    for name in names:
        with contextlib.suppress(RunNotFound):
            sweep = find(outputs, name)
            if 0 < len(runs_of(outputs, sweep)) < len(sweep.runs):
                write(outputs, sweep.model_copy(update={"made": False}))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        info = path.stat()
    except OSError:
        return 0, 0
    return info.st_mtime_ns, info.st_size


_cache: dict[Path, tuple[tuple[int, int], Sweep | None]] = {}


def _kept(path: Path, stamp: tuple[int, int]) -> Sweep | None:
    """The record in a file, read again only where that has changed: the Runs page asks every few seconds."""
    if path not in _cache or _cache[path][0] != stamp:
        _cache[path] = stamp, read_record(path, Sweep)
    return _cache[path][1]


def problems_once(problems: list[Problem]) -> list[Problem]:
    """Without repetitions: a wrong value is in as many configurations as the other fields have values."""
    return list(dict.fromkeys(problems))


def raise_if(problems: list[Problem]) -> None:
    """Raises: InvalidConfig, where there are any."""
    if problems:
        raise InvalidConfig(problems_once(problems))
