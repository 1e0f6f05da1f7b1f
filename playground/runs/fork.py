"""A fork: a new run that begins with the state that another one had after an update, with other settings from there on.

What the parent wrote until then is copied, and so is its checkpoint; then it goes on as a run that is resumed does.
With nothing changed it is bit-identical to its parent.
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
from playground.runs import half_made, launcher
from playground.runs.folder import changes, checkpoints, records, requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import private, write_atomically
from playground.runs.folder.records import Event, Record, Status, UpdateMetrics, to_json_line
from playground.runs.folder.requests import Request
from playground.runs.folder.rollout_records import RolloutRecord
from playground.runs.folder.token_records import TokenFigures
from playground.runs.launcher import Started
from playground.runs.spawning import Here, Workers
from playground.setup import admission, describe
from playground.setup.admission import Admitted
from playground.setup.limits import LIMITS, Limits

FIXED = tuple(
    "format seed method engine model. reference. prompts. rewards score. sampling. evaluation.num_prompts "
    "evaluation.prompts evaluation.samples_per_prompt evaluation.text".split()
)
Line = UpdateMetrics | RolloutRecord | records.Sample | records.Evaluation | TokenFigures
KEPT = (records.SCORE_SCALE, "model", records.REFERENCE)  # events about what the fork begins with


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
    workers: Workers | None = None,
    request: Request | None = None,
    allowed: Limits = LIMITS["local"],
) -> Started:
    """Make the fork after update `at`, with `path=value` overrides, and let it go on, or wait where its device is busy.
    Raises: RunNotResumable, if there is no such checkpoint, or it is damaged; InvalidConfig, for a setting that is
    invalid, or that what has been trained depends on; RunExists, OutputsNotWritable, WorkerNotStarted."""
    checkpoints.check_engine(parent.config())
    _require_point(parent, at)
    before, config = settings(parent, at, overrides, allowed)
    place = (workers or Here()).place(config)  # may ask a slow tool, so before the lock
    folder = parent.checkpoints_path / checkpoints.name_of(at)
    if problem := checkpoints.problem_of(folder):
        raise RunNotResumable(f"The checkpoint {folder.name} of {parent.id} cannot be used: {problem}.")
    request = request or Request()
    requests.check(request)
    outputs = parent.path.parent
    with launcher.one_at_a_time(outputs):
        if earlier := requests.find(outputs, request):
            return Started(earlier, None)
        run = half_made.reserved(outputs, config, run_id, request, place.slot)
        try:
            different = differences(config, before)
            changed, was = ({field: pair[side] for field, pair in different.items()} for side in (1, 0))
            _copy_records(parent, run, at, changed, was)
            _copy_checkpoint(folder, run, config, changed)
            run.write_label("", note_of(parent, at, config, before))
            run.queue_again(run.status_on_disk(), config.ppo.num_updates)
        except BaseException:
            shutil.rmtree(run.path, ignore_errors=True)  # half a run is none
            raise
        attempt = run.status_on_disk().attempt
        return launcher.begin(run, place, attempt, lambda: run.publish(config))


def settings(
    parent: RunDirectory, at: int, overrides: Sequence[str], allowed: Limits = LIMITS["local"]
) -> tuple[RunConfig, Admitted]:
    """The settings that held in the parent after an update, and those of the fork. Raises: see `fork`."""
    edits, _ = changes.replay(parent.all_events(), at)
    before = changes.edited(parent.config(), edits)
    config = yaml_io.overridden(before.model_dump(mode="json"), list(overrides), RunConfig)
    problems = [
        Problem(field, "cannot be changed in a fork, whose starting point depends on it. Start a new run.")
        for field in differences(config, before)
        if field.startswith(FIXED)
    ]
    if config.ppo.num_updates <= at:
        problems.append(Problem("ppo.num_updates", f"must be more than {at}, where the fork begins."))
    if problems:
        raise InvalidConfig(problems)
    return before, admission.admit(config, parent.path.parent, allowed)


def note_of(parent: RunDirectory, at: int, config: RunConfig, before: RunConfig) -> str:
    """What it is, in a line."""
    changed = describe.differences_in_words(config, before)
    changes = ", nothing changed"
    if changed:
        changes = f": {describe.listed(changed)}"
    return f"Forked from {parent.id} after update {at}{changes}"


def parent_of(events: Iterable[Event]) -> tuple[str, int] | None:
    """The run that a fork comes from, and after which update; None for a run that is none."""
    fork_event = next((event for event in events if event.kind == records.FORK), None)
    if fork_event:
        return (str(fork_event.data.get("parent", "")), fork_event.update)
    return None


def _require_point(parent: RunDirectory, at: int) -> None:
    updates = points(parent)
    if at not in updates:
        listed = ", ".join(map(str, updates)) or "none"
        raise RunNotResumable(
            f"{parent.id} has no checkpoint after update {at} to train on from; there are: {listed}. "
            "More are kept with checkpoint.keep."
        )


def _copy_records(
    parent: RunDirectory, run: RunDirectory, at: int, changed: dict[str, Any], was: dict[str, Any]
) -> None:
    """What still holds of the first updates, as one attempt's; the fork itself is an event."""
    last = 0.0
    copies: dict[Path, Sequence[Line]] = {
        run.metrics_path: parent.metrics(),
        run.rollouts_path: parent.rollouts(),
        run.samples_path: parent.samples(),
        run.evaluations_path: parent.evaluations(),
        run.tokens_path: parent.token_figures(),
    }
    for path, lines in copies.items():
        before = [line for line in lines if line.update <= at]
        _write(path, map(_kept, before))
        last = max([last, *(getattr(line, "seconds", 0.0) for line in before)])
    events = [event for event in parent.events() if event.update <= at and event.kind in KEPT]
    copied = [event.model_copy(update={"attempt": 1, "seq": number}) for number, event in enumerate(events, 1)]
    fork_event = Event(
        seq=len(events) + 1,
        time=time.time(),
        kind=records.FORK,
        update=at,
        message=f"Forked from {parent.id} after update {at}.",
        data={"parent": parent.id, "changed": changed, "before": was},
    )
    _write(run.events_path, [*copied, fork_event])
    status = Status(
        state="interrupted",
        update=at,
        num_updates=parent.status().num_updates,
        started_at=time.time(),
        updated_at=time.time(),
        worked_seconds=last,
    )
    write_atomically(run.status_path, status.model_dump_json())


def _kept(item: Record) -> Record:
    """A line of the parent as one of the fork: of its first attempt, and the last evaluation is one on the way."""
    last = getattr(item, "stage", "") == "after"
    return item.model_copy(update={"attempt": 1, **({"stage": "during"} if last else {})})


def _copy_checkpoint(folder: Path, run: RunDirectory, config: RunConfig, changed: dict[str, Any]) -> None:
    """The parent's checkpoint as the fork's own: with its key, and with beta and target as the fork sets them."""
    copy = run.checkpoints_path / folder.name
    shutil.copytree(folder, copy, copy_function=_link)
    facts = checkpoints.facts_of(copy)
    facts |= {checkpoints.RUN_KEY: requests.of(run).key, "config_sha256": checkpoints.digest(config)}
    if "kl.coef" in changed:
        facts["kl_coef"] = config.kl.coef
    if "kl.target" in changed or "kl.controller" in changed:
        facts["kl_target"] = config.kl.target
    write_atomically(copy / checkpoints.TRAINER, json.dumps(facts))
    os.remove(copy / checkpoints.MANIFEST)
    manifest = {"format": 1, "files": checkpoints.listed(copy)}
    write_atomically(copy / checkpoints.MANIFEST, json.dumps(manifest))


def _link(source: str, target: str) -> None:
    """The same file in both runs, where the disk can do that: no file of a checkpoint is ever written again."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _write(path: Path, records: Iterable[Record]) -> None:
    with open(path, "w", encoding="utf-8", opener=private) as file:
        file.writelines(map(to_json_line, records))
