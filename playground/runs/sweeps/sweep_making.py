"""Makes the runs of a sweep, stops them all, resumes them all, deletes them. Called by the command line and the page.

First the plan is on disk, then the runs are made, each by the launcher under an id and a request that follow from the
plan: none is made a second time, and what is missing after an interruption can be made later (`complete`).
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from playground.config import RunConfig
from playground.errors import InvalidConfig, PlaygroundError, Problem, RunBusy, RunNotFound, WorkerNotStarted
from playground.runs import cluster, history, launcher
from playground.runs.folder import changes
from playground.runs.folder.files import make_outputs
from playground.runs.folder.requests import Request
from playground.runs.spawning import Workers
from playground.runs.sweeps import grid, sweep_record
from playground.runs.sweeps.sweep_record import MOST_RUNS, NAME_CHARACTERS, SEED, Sweep, Where
from playground.setup import admission
from playground.setup.estimates import disk

HERE: Where = "here"


class SweepPlan(NamedTuple):
    """A sweep, which may be there already, and the configurations of its runs."""

    sweep: Sweep
    configs: list[RunConfig]


class Resumed(NamedTuple):
    """What became of taking up a sweep: the runs that go on or wait, and why others do not."""

    going: list[str]
    refused: dict[str, str]


class SweepRequest(NamedTuple):
    """A sweep as it is asked for. `base`: the preset as plain data; `overrides`: `path=value` for all runs; `vary`:
    `field=value,value`; `options`: of the backend, as `name=value`."""

    preset: str
    base: dict[str, Any]
    overrides: Sequence[str]
    vary: Sequence[str]
    name: str | None = None
    on: Where = HERE
    options: Sequence[str] = ()
    origin: Request = Request()


def plan(outputs: Path, request: SweepRequest, admit: grid.Admit) -> SweepPlan:
    """What a sweep would be; nothing is made. The plan of the same sweep that is there is that sweep: who repeats a
    command goes on with what it has begun. Raises: InvalidConfig, with everything that is wrong."""
    problems: list[Problem] = []
    made_grid = None
    try:
        made_grid = grid.grid(request.base, request.overrides, grid.read(request.vary), admit)
    except InvalidConfig as error:
        problems += error.problems
    if request.on != HERE:
        try:
            cluster.check(request.on, request.options)
        except InvalidConfig as error:
            problems += error.problems
    elif request.options:
        problems.append(Problem("option", "is for a cluster (--on ray or slurm); there is none here."))
    chosen = request.name or fresh_name(outputs, request.preset)
    existing = sweep_record.named(outputs, chosen)
    same = (
        made_grid
        and existing
        and (existing.base, existing.vary, existing.on) == (made_grid.base, made_grid.vary, request.on)
    )
    if made_grid and existing and same and not sweep_record.is_gone(outputs, existing):
        return SweepPlan(
            existing.model_copy(update={"options": [*request.options]}), [*map(existing.config, existing.runs)]
        )
    if problem := sweep_record.name_problem(outputs, chosen):
        problems.append(problem)
    sweep_record.raise_if(problems)
    assert made_grid is not None
    width = len(str(len(made_grid.configs)))
    ids = [f"{chosen}-{number:0{width}d}" for number in range(1, len(made_grid.configs) + 1)]
    sweep_record.raise_if(_taken(outputs, ids))
    sweep = Sweep(
        name=chosen,
        created_at=time.time(),
        preset=request.preset,
        base=made_grid.base,
        vary=made_grid.vary,
        on=request.on,
        options=[*request.options],
        runs=ids,
        visitor=request.origin.visitor,
        mode=request.origin.mode,
    )
    return SweepPlan(sweep, made_grid.configs)


def create(outputs: Path, sweep: Sweep, workers: Workers | None = None) -> Sweep:
    """Write the plan down, then make its runs, and give the sweep as it is then. Raises: OutputsNotWritable; OSError in
    the middle of it, then `complete` makes the rest; InvalidConfig, if a name was taken since it was planned."""
    outputs = make_outputs(outputs)
    with launcher.one_at_a_time(outputs):
        existing = sweep_record.named(outputs, sweep.name)
        if existing is None or existing.created_at != sweep.created_at:
            if problem := sweep_record.name_problem(outputs, sweep.name):
                raise InvalidConfig([problem])
            sweep_record.raise_if(_taken(outputs, sweep.runs))
        else:
            sweep = existing.model_copy(update={"options": sweep.options})  # which may have been corrected
        sweep_record.write(outputs, sweep)
    complete(outputs, sweep, workers)
    return sweep_record.find(outputs, sweep.name)


def complete(outputs: Path, sweep: Sweep, workers: Workers | None = None) -> list[str]:
    """Make the runs that were not made yet; gives their ids. Raises: see `launcher.start`."""
    workers = _elsewhere(sweep) or workers
    ids = {run.id for run in sweep_record.runs_of(outputs, sweep)}
    for run_id in sweep.missing(ids)[1]:
        with contextlib.suppress(RunNotFound, WorkerNotStarted):  # deleted since; it has ended, and says so
            config = admission.admitted(sweep.config(run_id), outputs)
            launcher.start(config, outputs, run_id, workers, sweep.request(run_id))
    sweep_record.write(outputs, sweep.model_copy(update={"made": len(sweep.runs)}))
    return [run.id for run in sweep_record.runs_of(outputs, sweep) if run.id not in ids]


def add_seeds(outputs: Path, name: str, count: int, workers: Workers | None = None) -> list[str]:
    """Make every setting of a sweep with so many further seeds, which follow the largest it has; gives the ids of these
    runs. The seed then varies slowest, so that the runs there are keep their places. Raises: RunNotFound;
    InvalidConfig; see `complete`."""
    with launcher.one_at_a_time(outputs):
        sweep = sweep_record.find(outputs, name)
        seeds = sweep.vary.get(SEED, [sweep.config(sweep.runs[0]).seed])
        seeds_added = [max(seeds) + 1 + number for number in range(count)]
        kept_ids = [run_id for seed in seeds for run_id, cell in sweep.cells().items() if cell.get(SEED, seed) == seed]
        count_added = len(kept_ids) // len(seeds) * count
        if count < 1:
            raise InvalidConfig([Problem("seeds", "Ask for at least 1 more seed.")])
        if len(kept_ids) + count_added > MOST_RUNS:
            fits = f"A sweep has at most {MOST_RUNS} runs; this would make {len(kept_ids) + count_added}."
            raise InvalidConfig([Problem("seeds", fits)])
        if sweep.missing({run.id for run in sweep_record.runs_of(outputs, sweep)})[1]:
            raise InvalidConfig(
                [Problem("seeds", "Some of its runs were never made. Resume it first, which makes them.")]
            )
        width = len(sweep.runs[0]) - len(sweep.name) - 1
        names = (f"{sweep.name}-{number:0{width}d}" for number in itertools.count(len(kept_ids) + 1))
        added = [*itertools.islice((name for name in names if not (Path(outputs) / name).exists()), count_added)]
        vary = {SEED: [*seeds, *seeds_added], **{field: sweep.vary[field] for field in sweep.settings}}
        grown = sweep.model_copy(update={"vary": vary, "runs": [*kept_ids, *added], "made": len(kept_ids)})
        disk.check([grown.config(run_id) for run_id in added], outputs)
        sweep_record.write(outputs, grown)
    return complete(outputs, grown, workers)


def stop_all(outputs: Path, sweep: Sweep) -> list[str]:
    """Ask all its runs to stop; those that wait have ended when this returns. Gives the ids of all that were asked."""
    stopping = []
    for run in reversed(sweep_record.runs_of(outputs, sweep)):  # last those that train: none of them makes room
        if not run.status().ended:
            launcher.stop(run)
            stopping.append(run.id)
    return stopping


def resume_all(outputs: Path, sweep: Sweep, workers: Workers | None = None) -> Resumed:
    """Make what is missing of it, wake what is paused, take up what has ended early. Raises: see `complete`."""
    runs = sweep_record.runs_of(outputs, sweep)
    resumed = Resumed(complete(outputs, sweep, workers), {})
    workers = _elsewhere(sweep) or workers
    for run in runs:
        status = run.status()
        try:
            if status.state == "paused":
                changes.request_resume(run)
            elif not status.resumable or status.state == "finished":
                if status.ended and status.state != "finished":
                    resumed.refused[run.id] = status.message or f"It has {status.state} and would do so again."
                continue
            else:
                launcher.resume(run, workers)
        except PlaygroundError as error:
            resumed.refused[run.id] = str(error)
            continue
        resumed.going.append(run.id)
    return resumed


def delete_all(outputs: Path, sweep: Sweep) -> int:
    """Move all its runs into the bin; gives how many that were. Raises: RunBusy, if one has not ended; see
    `history.delete_run`."""
    runs = sweep_record.runs_of(outputs, sweep)
    if going := sum(not run.status().ended for run in runs):
        answer = "1 of its runs has"
        if going != 1:
            answer = f"{going} of its runs have"
        raise RunBusy(f"{answer} not ended. Press Stop all first, then delete `{sweep.name}`.")
    for run in runs:
        history.delete_run(run)
    return len(runs)


def forget_gone(outputs: Path) -> None:
    """Take away the records of sweeps of which all runs have been deleted, a while after. Raises: RunBusy, OSError."""
    if sweep_record.gone(outputs):
        with launcher.one_at_a_time(outputs):  # no sweep of such a name is made meanwhile
            for path in sweep_record.gone(outputs):
                path.unlink(missing_ok=True)


def fresh_name(outputs: Path, preset: str) -> str:
    """A name for a sweep without one: its preset and the time."""
    slug = re.sub(r"[^a-z0-9]+", "-", Path(preset).stem.lower())[: NAME_CHARACTERS - 25].strip("-")
    moment = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    name = f"{slug or 'sweep'}-{moment}"
    names = [name, *(f"{name}-{number}" for number in range(2, 100))]
    return next((free for free in names if not sweep_record.path_of(outputs, free).exists()), name)


def _taken(outputs: Path, ids: Sequence[str]) -> list[Problem]:
    existing = [run_id for run_id in ids if (Path(outputs) / run_id).exists()]
    if not existing:
        return []
    return [
        Problem("name", f"There is already a run `{existing[0]}`, which this sweep would make. Choose another name.")
    ]


def _elsewhere(sweep: Sweep) -> Workers | None:
    """What begins its runs where the sweep says; None here. Raises: InvalidConfig."""
    if sweep.on == HERE:
        return None
    return cluster.elsewhere(sweep.on, sweep.options)
