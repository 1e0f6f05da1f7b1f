"""What the page may ask of a run: to be steered, stopped, resumed, forked, saved, named, deleted.

Each is a server function of Gradio's with one argument that anybody could have made up: run ids go through
`history.find_run`, values through the configuration's own checks. Each answers {error}, empty when all is well; what it
raises becomes that error (`Access.guard_all`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playground.config import RunConfig
from playground.errors import InvalidConfig, PlaygroundError
from playground.exports import saving
from playground.runs import fork, history, launcher
from playground.runs.folder import changes, processes
from playground.runs.folder.changes import Edit
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.requests import Request
from playground.runs.model_service import ModelService
from playground.runs.spawning import Workers
from playground.setup import admission
from playground.ui.auth import quota
from playground.ui.auth.access import Access, Action, Caller
from playground.ui.payloads.form import KnobData
from playground.ui.payloads.server import (
    DoneData,
    EditsAnswerData,
    ForkPointData,
    ForkPointsData,
    ResumedData,
    SavedData,
    StartedData,
)
from playground.ui.train import filling, form
from playground.ui.train.form import entry

COMMANDS = {
    "pause": changes.request_pause,
    "resume": changes.request_resume,
    "step": changes.request_step,
    "trace": changes.request_trace,
}
FORCE_GRACE_SECONDS = 1.0  # who says "now" has waited already
LENGTH = "ppo.num_updates"
REQUEST_ID = re.compile(r"[0-9a-zA-Z-]{8,40}")
MAX_TEXT = 60  # of a value that is not a number, when a message quotes it
DONE: DoneData = {"error": ""}


def guarded_functions(
    outputs: Path, access: Access, spawn: Workers | None = None, saver: ModelService | None = None
) -> list[Callable[..., Any]]:
    """The server functions for one outputs folder. `spawn` makes the worker of a run that is resumed or forked."""
    ask = RunActions(outputs, access, spawn, saver)
    return [
        *access.guard_all(Action.SAVE, [ask.save_model]),
        *access.guard_all(Action.NAME, [ask.name_run]),
        *access.guard_all(Action.DELETE, [ask.delete_run]),
        *access.guard_all(Action.STEER, [ask.stop_run, ask.steer_run, ask.change_settings, ask.end_run]),
        *access.guard_all(Action.RESUME, [ask.resume_run]),
        *access.guard_all(Action.START, [ask.fork_run]),
        *access.guard_all(Action.WATCH, [ask.fork_points]),
    ]


class RunActions:
    """The server functions, unguarded. `saver` writes weights below the outputs folder, nowhere else."""

    def __init__(
        self,
        outputs: Path,
        access: Access,
        spawn: Workers | None = None,
        saver: ModelService | None = None,
    ) -> None:
        self._outputs, self._access, self._spawn, self._saver = outputs, access, spawn, saver

    def _run(self, run_id: Any) -> RunDirectory:
        return history.find_run(self._outputs, str(run_id))

    def stop_run(self, run_id: Any) -> DoneData:
        """Ask a run to stop; one that waits in the queue is taken out of it."""
        launcher.stop(self._run(run_id))
        return DONE

    def steer_run(self, payload: Any) -> DoneData:
        """Pause, resume or step a run, or have its next update recorded: {run, command}."""
        command = COMMANDS.get(str(entry(payload, "command")))
        if command is None:
            return {"error": "A run can be paused, resumed, told to make one step, or to record one."}
        command(self._run(entry(payload, "run")))
        return DONE

    def change_settings(self, payload: Any) -> EditsAnswerData:
        """New values of live settings, all or none: {run, changes}; answers {error, problems, edits}."""
        values = form.as_dict(entry(payload, "changes"))
        if not 0 < len(values) <= len(changes.LIVE_FIELDS):
            return {"error": "Change a setting first, then apply it."}
        edits = [Edit(str(field), _plain(value)) for field, value in values.items()]
        try:
            edits_taken = changes.request_edits(self._run(entry(payload, "run")), edits)
        except InvalidConfig as error:
            return {**DONE, "problems": form.problem_data(error.problems)}
        return {**DONE, "edits": dict(edits_taken)}

    def end_run(self, run_id: Any) -> DoneData:
        """End the processes of a run that does not stop by itself; answers {error, sentence} when they are gone."""
        ended = processes.end(self._run(run_id), grace_seconds=FORCE_GRACE_SECONDS)
        if ended.alive:
            return {"error": ended.sentence}
        return {**DONE, "sentence": ended.sentence}

    def name_run(self, payload: Any) -> DoneData:
        """Give a run a name and a note: {run, name, note}; both are shown wherever the run is."""
        run = self._run(entry(payload, "run"))
        run.write_label(str(entry(payload, "name") or ""), str(entry(payload, "note") or ""))
        return DONE

    def delete_run(self, run_id: Any) -> DoneData:
        """Move a run into the bin; called after the person confirmed it."""
        history.delete_run(self._run(run_id))
        return DONE

    def save_model(self, payload: Any) -> SavedData:
        """Save a policy: {run, as}; answers {error, folder, sentence}."""
        if self._saver is None:
            return {"error": "Saving from the page is for one's own machine. Use `python -m playground save`."}
        kind: saving.Kind = "adapter" if entry(payload, "as") == "adapter" else "merged"
        run = self._run(entry(payload, "run"))
        saved = saving.save(run, self._saver, kind, saving.default_folder(run, kind), replace=True)
        size = f"{saved.bytes / 1e6:,.1f} MB"
        sentence = f"Saved after update {saved.written.update}, {size}. {saving.how_to_load(saved)}"
        return {**DONE, "folder": str(saved.folder), "sentence": sentence}

    def resume_run(self, run_id: Any, caller: Caller) -> ResumedData:
        """Let an ended run go on from its last checkpoint, within what one visitor may have at a time. A run that is
        going already is no error: a double click."""
        with quota.admitted(Request(), self._access, caller, self._outputs, resumed=str(run_id)):
            run = self._run(run_id)
            try:
                launcher.resume(run, self._spawn)
            except PlaygroundError:
                if run.status().ended:
                    raise
            return {**DONE, "attempt": run.status().attempt}

    def fork_run(self, payload: Any, caller: Caller) -> StartedData:
        """Start a fork: {run, at, changes: {field: value}, request}; answers {error, problems, run}."""
        new_values = form.as_dict(entry(payload, "changes"))
        run, at = self._run(entry(payload, "run")), entry(payload, "at")
        if not isinstance(at, int) or isinstance(at, bool):
            at = -1
        offered = _forkable(run.config())
        if not new_values.keys() <= offered.keys():
            return {"error": f"Of a fork these can be set here: {', '.join(offered)}."}
        overrides = [f"{field}={json.dumps(_plain(value))}" for field, value in new_values.items()]
        capped = self._access.limits_of(caller)
        try:
            _, config = fork.settings(run, at, overrides, capped)
            request = start_request(entry(payload, "request"), config, self._access, caller)
            with quota.admitted(request, self._access, caller, self._outputs):
                forked = fork.fork(run, at, overrides, workers=self._spawn, request=request, allowed=capped)
        except InvalidConfig as error:
            return {**DONE, "problems": form.problem_data(error.problems)}
        return {**DONE, "run": forked.run.id}

    def fork_points(self, run_id: Any) -> ForkPointsData:
        """The checkpoints, with the settings in force there ([{update, values}]), and the knobs of these settings."""
        run = self._run(run_id)
        config, events = run.config(), run.all_events()
        points: list[ForkPointData] = [
            {"update": update, "values": _forkable(changes.edited(config, changes.replay(events, update).applied))}
            for update in fork.points(run)
        ]
        return {**DONE, "points": points, "knobs": [*knobs(), form.knob_data(LENGTH)]}


def start(
    config: RunConfig, start_name: Any, outputs: Path, spawn: Workers | None, access: Access, caller: Caller
) -> RunDirectory:
    """Start a run, or put it into the queue, if its settings are admitted, within what one visitor may have at a time.
    `start_name`: the page's name for it, see `start_request`. Raises: PlaygroundError, OSError."""
    admitted = admission.admit(config, outputs, access.limits_of(caller))
    request = start_request(start_name, admitted, access, caller)
    with quota.admitted(request, access, caller, outputs):
        return launcher.start(admitted, outputs, workers=spawn, request=request).run


def answer_start(
    make: Callable[[], RunConfig],
    start_name: Any,
    outputs: Path,
    spawn: Workers | None,
    access: Access,
    caller: Caller,
) -> StartedData:
    """The same as an answer, of what `make` gives: {error, problems, run, sentence}, the last why it waits."""
    try:
        config = make()
        sentence = filling.why_it_waits(config, outputs, access.limits_of(caller))
        run = start(config, start_name, outputs, spawn, access, caller)
    except InvalidConfig as error:
        return {"error": form.message_of(error), "problems": form.problem_data(error.problems)}
    return {"error": "", "run": run.id, "sentence": sentence}


def start_request(start_name: Any, config: RunConfig, access: Access, caller: Caller) -> Request:
    """The page's name for one intended start: sent again (a double click, a lost answer), it gets the same run; with
    other settings, or by another visitor, it is another start."""
    visitor = caller.visitor
    name = ""
    if isinstance(start_name, str) and REQUEST_ID.fullmatch(start_name):
        settings = hashlib.sha256(config.to_yaml().encode()).hexdigest()[:12]
        name = f"{start_name}-{settings}-{visitor.cookie or visitor.address}"
    return Request(name, str(visitor), access.mode)


def knobs() -> list[KnobData]:
    """The live settings as the page draws them, beta first."""
    fields = sorted(changes.LIVE_FIELDS, key=lambda field: not field.startswith("kl."))
    return [form.knob_data(field) for field in fields]


def _forkable(config: RunConfig) -> dict[str, Any]:
    """What the page lets a fork set: the live settings, and how long it goes on."""
    return {field: changes.value_of(config, field) for field in (*changes.live_in(config), LENGTH)}


def _plain(value: Any) -> Any:
    """A number as it is; anything else as a short text, for the configuration to say what is wrong with it."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if value is None:
        return ""
    return str(value)[:MAX_TEXT]
