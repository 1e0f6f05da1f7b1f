"""What the page may ask of a run: stop, pause, resume, one step, one recorded, new values for live settings, to be
ended by force, to be taken up again after it has ended, to be forked.

Each is called by train/run_view.js through Gradio's server functions, with one argument that anybody could have made
up: run ids go through `history.find_run`, values through the configuration's own checks. Each answers {error}, empty
when all is well; what it raises becomes that error where it is registered (`Access.guard_all`). The requests themselves
are files (`runs.folder.changes`). The pages of Train and Runs call `guarded_functions`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playground.config import RunConfig
from playground.errors import InvalidConfig, PlaygroundError
from playground.runs import fork, history, launcher
from playground.runs.folder import changes, processes
from playground.runs.folder.changes import Edit
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.requests import Request
from playground.setup import estimates, limits
from playground.ui.auth import quota
from playground.ui.auth.access import Access, Action, Caller
from playground.ui.train import form
from playground.ui.train.form import entry

COMMANDS = {
    "pause": changes.request_pause,
    "resume": changes.request_resume,
    "step": changes.request_step,
    "trace": changes.request_trace,
}
FORCE_GRACE_SECONDS = 1.0  # who says "now" has waited already
FORKABLE = ("ppo.num_updates",)
REQUEST_ID = re.compile(r"[0-9a-zA-Z-]{8,40}")
MAX_TEXT = 60  # of a value that is not a number, when a message quotes it
DONE = {"error": ""}


def guarded_functions(outputs: Path, access: Access, spawn: launcher.Workers | None = None) -> list[Callable[..., Any]]:
    """The server functions for one outputs folder. `spawn` makes the worker of a run that is resumed or forked."""
    ask = RunActions(outputs, access, spawn)
    return [
        *access.guard_all(Action.STEER, [ask.stop_run, ask.steer_run, ask.change_settings, ask.end_run]),
        *access.guard_all(Action.RESUME, [ask.resume_run]),
        *access.guard_all(Action.START, [ask.fork_run]),
        *access.guard_all(Action.WATCH, [ask.fork_points]),
    ]


class RunActions:
    """The server functions, unguarded."""

    def __init__(self, outputs: Path, access: Access, spawn: launcher.Workers | None = None) -> None:
        self._outputs, self._access, self._spawn = outputs, access, spawn
        self._ending: dict[str, asyncio.Task[dict[str, Any]]] = {}

    def _run(self, run_id: Any) -> RunDirectory:
        return history.find_run(self._outputs, str(run_id))

    def stop_run(self, run_id: Any) -> dict[str, Any]:
        """Ask a run to stop; one that waits in the queue is taken out of it."""
        launcher.stop(self._run(run_id))
        return DONE

    def steer_run(self, asked: Any) -> dict[str, Any]:
        """Pause, resume or step a run, or have its next update recorded: {run, command}."""
        command = COMMANDS.get(str(entry(asked, "command")))
        if command is None:
            return {"error": "A run can be paused, resumed, told to make one step, or to record one."}
        command(self._run(entry(asked, "run")))
        return DONE

    def change_settings(self, asked: Any) -> dict[str, Any]:
        """Ask for new values of live settings: {run, changes: {field: value}}; answers {error, problems, edits}. All of
        them are taken, or none."""
        wanted = form.as_dict(entry(asked, "changes"))
        if not 0 < len(wanted) <= len(changes.LIVE_FIELDS):
            return {"error": "Change a setting first, then apply it."}
        edits = [Edit(str(field), _plain(value)) for field, value in wanted.items()]
        try:
            taken = changes.request_edits(self._run(entry(asked, "run")), edits)
        except InvalidConfig as error:
            return {**DONE, "problems": form.problem_data(error.problems)}
        return {**DONE, "edits": dict(taken)}

    async def end_run(self, run_id: Any) -> dict[str, Any]:
        """End the processes of a run that does not stop by itself; answers {error, sentence} when they are gone."""
        run = await asyncio.to_thread(self._run, run_id)
        task = self._ending.get(run.id)
        if task is None:  # who asks again waits for the same end
            task = self._ending[run.id] = asyncio.create_task(asyncio.to_thread(_ended, run))
            task.add_done_callback(lambda _: self._ending.pop(run.id, None))
        return await asyncio.shield(task)

    def resume_run(self, run_id: Any, caller: Caller) -> dict[str, Any]:
        """Let an ended run go on from its last checkpoint, within what one visitor may have at a time. A run that is
        going already is no error: a double click."""
        with quota.admitted(Request(), self._access, caller, self._outputs, resumed=str(run_id)):
            run = self._run(run_id)
            try:
                launcher.resume(run, spawn=self._spawn)
            except PlaygroundError:
                if run.status().ended:
                    raise
            return {**DONE, "attempt": run.status().attempt}

    def fork_run(self, asked: Any, caller: Caller) -> dict[str, Any]:
        """Start a fork: {run, at, changes: {field: value}, request}; answers {error, problems, run}."""
        wanted = form.as_dict(entry(asked, "changes"))
        run, at = self._run(entry(asked, "run")), entry(asked, "at")
        at = at if isinstance(at, int) and not isinstance(at, bool) else -1
        offered = _forkable(run.config())
        if not wanted.keys() <= offered.keys():
            return {"error": f"Of a fork these can be set here: {', '.join(offered)}."}
        overrides = [f"{field}={json.dumps(_plain(value))}" for field, value in wanted.items()]
        capped = self._access.limits_of(caller)
        try:
            _, config = fork.settings(run, at, overrides)
            limits.require(config, capped, self._outputs)
            estimates.require_fit(config, capped, self._outputs)
            minutes = limits.capped(config, capped).max_minutes
            overrides += [f"max_minutes={minutes}"] if minutes != config.max_minutes else []
            request = start_request(entry(asked, "request"), config)
            request = request._replace(visitor=str(caller.visitor), mode=self._access.mode)
            with quota.admitted(request, self._access, caller, self._outputs):
                made = fork.fork(run, at, overrides, spawn=self._spawn, request=request)
        except InvalidConfig as error:
            return {**DONE, "problems": form.problem_data(error.problems)}
        return {**DONE, "run": made.run.id}

    def fork_points(self, run_id: Any) -> dict[str, Any]:
        """Each update after which there is a checkpoint, with the settings in force there: [{update, values}]; and the
        words and sliders of those settings."""
        run = self._run(run_id)
        config, events = run.config(), run.all_events()
        points = [
            {"update": update, "values": _forkable(changes.edited(config, changes.replay(events, update).applied))}
            for update in fork.points(run)
        ]
        length = [{"field": field, **form.knob_data(field)} for field in FORKABLE]
        return {**DONE, "points": points, "knobs": [*knobs(), *length]}


def start_request(asked: Any, config: RunConfig) -> Request:
    """The page's name for one intended start: who sends it again (a double click, an answer that was lost) gets the run
    that the first one started. The same button pressed with other settings is another start."""
    if not isinstance(asked, str) or not REQUEST_ID.fullmatch(asked):
        return Request()
    settings = hashlib.sha256(config.to_yaml().encode()).hexdigest()[:12]
    return Request(id=f"{asked}-{settings}")


def knobs() -> list[dict[str, Any]]:
    """The live settings as static/train/live_settings.js draws them, beta first."""
    fields = sorted(changes.LIVE_FIELDS, key=lambda field: not field.startswith("kl."))
    return [{"field": field, **form.knob_data(field)} for field in fields]


def _forkable(config: RunConfig) -> dict[str, Any]:
    """What the page lets a fork set: the live settings, and how long it goes on."""
    return {field: changes.value_of(config, field) for field in (*changes.live_in(config), *FORKABLE)}


def _ended(run: RunDirectory) -> dict[str, Any]:
    ended = processes.end(run, grace_seconds=FORCE_GRACE_SECONDS)
    return {"error": ended.sentence} if ended.alive else {**DONE, "sentence": ended.sentence}


def _plain(value: Any) -> Any:
    """A number as it is; anything else as a short text, for the configuration to say what is wrong with it."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    return "" if value is None else str(value)[:MAX_TEXT]
