"""A fork: a new run that begins with the state that another one had after an update, with other settings from there on.

What the parent wrote down until then is copied, and so is its checkpoint, whose numbers the fork keeps; then it goes on
as a run that is resumed does. With nothing changed it is bit-identical to its parent. The command line and the page
call this.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from playground.config import RunConfig, differences, yaml_io
from playground.errors import InvalidConfig, Problem, RunNotResumable
from playground.runs.folder import checkpoints, requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import private, write_atomically
from playground.runs.folder.records import FORK, REFERENCE, SCORE_SCALE, Event, Record, Status, to_json_line
from playground.runs.start import launcher, queue
from playground.runs.start.launcher import Spawn, Started
from playground.runs.steer import changes
from playground.setup import telling

FIXED = (
    "format", "seed", "method", "engine", "model.", "reference.", "prompts.", "rewards", "score.", "sampling.",
    "evaluation.num_prompts", "evaluation.samples_per_prompt", "evaluation.text",
)  # fmt: skip


def points(parent: RunDirectory) -> list[int]:
    """The updates after which a run can be forked: those of its whole checkpoints."""
    return [
        checkpoints.update_of(folder) for folder in parent.checkpoints() if (folder / checkpoints.OPTIMIZER).is_file()
    ]


def fork(
    parent: RunDirectory,
    at: int,
    overrides: Sequence[str],
    run_id: str | None = None,
    spawn: Spawn | None = None,
) -> Started:
    """Make the fork and let it go on; where its device is busy it waits in the queue.

    Args:
        at: one of `points`. overrides: `path=value`, as `--set` takes them.

    Raises:
        RunNotResumable: there is no such checkpoint, or it is damaged, or the trainer cannot go on from one.
        InvalidConfig: a setting is invalid, or is one that what has been trained and measured depends on.
        RunExists, OutputsNotWritable, WorkerNotStarted.
    """
    before, config = settings(parent, at, overrides)
    checkpoints.check_engine(config)
    folder = parent.checkpoints_path / checkpoints.name_of(at)
    _check_point(parent, at, folder)
    run = RunDirectory.reserve(parent.path.parent, config, run_id)
    try:
        requests.record(run, requests.Request(), queue.slot_of(config))
        changed = {field: value for field, (_, value) in differences(config, before).items()}
        _copy_records(parent, run, at, changed)
        _copy_checkpoint(folder, run, config, changed)
        run.publish(config)
        run.write_label("", note_of(parent, at, config, before))
    except BaseException:
        shutil.rmtree(run.path, ignore_errors=True)  # half a run is none
        raise
    return launcher.resume(run, spawn)


def settings(parent: RunDirectory, at: int, overrides: Sequence[str]) -> tuple[RunConfig, RunConfig]:
    """The settings that held in the parent after an update, and those of the fork. Raises: see `fork`."""
    made, _ = changes.replay(parent.all_events(), at)
    before = changes.edited(parent.config(), made)
    config = yaml_io.overridden(before.model_dump(mode="json"), list(overrides), RunConfig)
    problems = [
        Problem(field, "cannot be changed in a fork: what it begins with depends on it. Start a new run.")
        for field in differences(config, before)
        if field.startswith(FIXED)
    ]
    if config.ppo.num_updates <= at:
        problems.append(Problem("ppo.num_updates", f"must be more than {at}, where the fork begins."))
    if problems:
        raise InvalidConfig(problems)
    return before, config


def note_of(parent: RunDirectory, at: int, config: RunConfig, before: RunConfig) -> str:
    """What it is, in a line."""
    told = telling.differences_told(config, before)
    return f"Forked from {parent.id} after update {at}" + (f": {telling.listed(told)}" if told else ", nothing changed")


def parent_of(events: Iterable[Event]) -> tuple[str, int] | None:
    """The run that a fork comes from, and after which update; None for a run that is none."""
    found = next((event for event in events if event.kind == FORK), None)
    return (str(found.data.get("parent", "")), found.update) if found else None


def _check_point(parent: RunDirectory, at: int, folder: Path) -> None:
    known = points(parent)
    if at not in known:
        there = ", ".join(map(str, known)) or "none"
        raise RunNotResumable(
            f"{parent.id} has no checkpoint after update {at} from which training can go on; there are: {there}. "
            "More are kept with checkpoint.keep."
        )
    problem = checkpoints.problem_of(folder)
    if problem:
        raise RunNotResumable(f"The checkpoint {folder.name} of {parent.id} cannot be used: {problem}.")


def _copy_records(parent: RunDirectory, run: RunDirectory, at: int, changed: dict[str, Any]) -> None:
    """What still holds of the first updates, as one attempt's; the fork itself is an event."""
    last = 0.0
    for theirs, mine in (
        (parent.metrics(), run.metrics_path),
        (parent.samples(), run.samples_path),
        (parent.evaluations(), run.evaluations_path),
        (parent.token_figures(), run.tokens_path),
    ):
        kept = [_kept(item) for item in theirs if item.update <= at]
        _write(mine, kept)
        last = max([last, *(getattr(item, "seconds", 0.0) for item in kept)])
    events = [
        event.model_copy(update={"attempt": 1, "seq": number})
        for number, event in enumerate(
            (event for event in parent.events() if event.update <= at and event.kind in KEPT), 1
        )
    ]
    told = Event(
        seq=len(events) + 1, time=time.time(), kind=FORK, update=at,
        message=f"Forked from {parent.id} after update {at}.", data={"parent": parent.id, "changed": changed},
    )  # fmt: skip
    _write(run.events_path, [*events, told])
    status = Status(
        state="interrupted", update=at, num_updates=parent.status().num_updates, started_at=time.time(),
        updated_at=time.time(), worked_seconds=last,
    )  # fmt: skip
    write_atomically(run.status_path, status.model_dump_json())


KEPT = (SCORE_SCALE, "model", REFERENCE)  # events that tell of what the fork begins with


def _kept(item: Record) -> Record:
    """A line of the parent as one of the fork: of its first attempt, and a last look is one on the way."""
    last = getattr(item, "stage", "") == "after"
    return item.model_copy(update={"attempt": 1, **({"stage": "during"} if last else {})})


def _copy_checkpoint(folder: Path, run: RunDirectory, config: RunConfig, changed: dict[str, Any]) -> None:
    """The parent's checkpoint as the fork's own: with its key, and with beta and target as the fork sets them."""
    copy = run.checkpoints_path / folder.name
    shutil.copytree(folder, copy)
    facts = checkpoints.facts_of(copy)
    facts |= {checkpoints.RUN_KEY: requests.of(run).key, "config_sha256": checkpoints.digest(config)}
    facts |= {"kl_coef": config.kl.coef} if "kl.coef" in changed else {}
    facts |= {"kl_target": config.kl.target} if "kl.target" in changed or "kl.controller" in changed else {}
    write_atomically(copy / checkpoints.TRAINER, json.dumps(facts))
    os.remove(copy / checkpoints.MANIFEST)
    manifest = {"format": 1, "files": checkpoints.listed(copy)}
    write_atomically(copy / checkpoints.MANIFEST, json.dumps(manifest))


def _write(path: Path, records: Iterable[Record]) -> None:
    with open(path, "w", encoding="utf-8", opener=private) as file:
        file.writelines(map(to_json_line, records))
