"""What the page may ask of a run: stop, pause, resume, one step, one recorded, new values for live settings, to be
ended by force, to be taken up again after it has ended, to be forked.

Each function is called by train/run_view.js through Gradio's server functions, with one argument that anybody could
have made up: run ids go through `history.find_run`, values through the configuration's own checks. Answers are one
sentence, empty when all is well. The requests themselves are files (`runs.folder.changes`). `train_page` calls
`functions` here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from playground.config import RunConfig
from playground.errors import InvalidConfig, PlaygroundError, in_words
from playground.runs import history
from playground.runs.folder import changes, processes
from playground.runs.folder.changes import Edit
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.requests import Request
from playground.runs.start import fork, launcher
from playground.setup import estimates, limits
from playground.ui.door import quota
from playground.ui.door.access import Access, Action, Caller
from playground.ui.train import filling, form, reward_form, starting

COMMANDS = {
    "pause": changes.request_pause, "resume": changes.request_resume, "step": changes.request_step,
    "trace": changes.request_trace,
}  # fmt: skip
FORCE_GRACE_SECONDS = 1.0  # somebody who says "now" has waited already
FORKABLE = ("ppo.num_updates",)
WEIGHT = {"unit": "", "slider": (-4, 4, 0.25), "log": False, "optional": False, "whole": False, "low": "", "high": "",
          "help": "How much this reward counts from the fork on; the score keeps its unit."}  # fmt: skip
MAX_TEXT = 60  # of a value that is not a number, when it is told back


def functions(outputs: Path, spawn: launcher.Workers | None = None) -> list[Callable[[Any], Any]]:
    """The server functions of the run view for one outputs folder. `spawn` makes the worker of a resumed run."""
    ending: dict[str, asyncio.Task[dict[str, Any]]] = {}

    def stop_run(run_id: Any) -> dict[str, Any]:
        """Ask a run to stop; one that waits in the queue is taken out of it."""
        return _answer(lambda: launcher.stop(history.find_run(outputs, str(run_id))))

    def steer_run(asked: Any) -> dict[str, Any]:
        """Pause, resume or step a run, or have its next update recorded: {run, command}."""
        asked = asked if isinstance(asked, Mapping) else {}
        command = COMMANDS.get(str(asked.get("command")))
        if command is None:
            return {"error": "A run can be paused, resumed, told to make one step, or to record one."}
        return _answer(lambda: command(history.find_run(outputs, str(asked.get("run")))))

    def change_settings(asked: Any) -> dict[str, Any]:
        """Ask for new values of live settings: {run, changes: {field: value}}. All of them are taken, or none."""
        asked = asked if isinstance(asked, Mapping) else {}
        wanted = asked.get("changes")
        if not isinstance(wanted, Mapping) or not 0 < len(wanted) <= len(changes.LIVE_FIELDS):
            return {"error": "Change a setting first, then apply it.", "problems": [], "edits": {}}
        edits = [Edit(str(field), _plain(value)) for field, value in wanted.items()]
        problems: list[dict[str, str]] = []
        taken: list[Edit] = []
        try:
            taken = changes.request_edits(history.find_run(outputs, str(asked.get("run"))), edits)
        except InvalidConfig as error:
            problems = filling.problem_data(error.problems)
        except (PlaygroundError, OSError) as error:
            return {"error": in_words(error), "problems": [], "edits": {}}
        return {"error": "", "problems": problems, "edits": dict(taken)}

    async def end_run(run_id: Any) -> dict[str, Any]:
        """End the processes of a run that does not stop by itself; answers {error, sentence} when they are gone."""
        try:
            run = await asyncio.to_thread(history.find_run, outputs, str(run_id))
        except PlaygroundError as error:
            return {"error": str(error), "sentence": ""}
        task = ending.get(run.id)
        if task is None:  # who asks again waits for the same end
            task = ending[run.id] = asyncio.create_task(asyncio.to_thread(_ended, run))
            task.add_done_callback(lambda _: ending.pop(run.id, None))
        return await asyncio.shield(task)

    return [stop_run, steer_run, change_settings, end_run, resumer(outputs, spawn)]


def guarded_functions(outputs: Path, access: Access, spawn: launcher.Workers | None = None) -> list[Callable[..., Any]]:
    """The functions above for who may steer, and for who may take up a run again: that takes a place like a start."""

    def resume_run(run_id: Any, caller: Caller) -> dict[str, Any]:
        """As `resumer`'s, within what one visitor may have at a time."""
        try:
            with quota.admitted(Request(), access, caller, outputs, resumed=str(run_id)):
                return resumer(outputs, spawn)(run_id)
        except PlaygroundError as error:
            return {"error": str(error)}

    steering = [function for function in functions(outputs, spawn) if function.__name__ != "resume_run"]
    return [
        *access.guard_all(Action.STEER, steering),
        *access.guard_all(Action.RESUME, [resume_run]),
        *access.guard_all(Action.START, [forker(outputs, access, spawn)]),
        *access.guard_all(Action.WATCH, [fork_pointer(outputs)]),
    ]


def forker(
    outputs: Path, access: Access, spawn: launcher.Workers | None = None
) -> Callable[[Any, Caller], dict[str, Any]]:
    """The server function that starts a fork."""

    def fork_run(asked: Any, caller: Caller) -> dict[str, Any]:
        """Start a fork: {run, at, changes: {field: value}, request}; answers {error, problems, run}."""
        asked = asked if isinstance(asked, Mapping) else {}
        wanted = filling.as_dict(asked.get("changes"))
        try:
            run, at = history.find_run(outputs, str(asked.get("run"))), _whole(asked.get("at"))
            offered = _forkable(run.config())
            if not wanted.keys() <= offered.keys():
                return {"error": f"Of a fork these can be set here: {', '.join(offered)}.", "problems": [], "run": ""}
            overrides = [f"{field}={json.dumps(_plain(value))}" for field, value in wanted.items()]
            _, config = fork.settings(run, at, overrides)
            capped = access.limits_of(caller)
            limits.require(config, capped, outputs)
            estimates.require_fit(config, capped, outputs)
            minutes = limits.capped(config, capped).max_minutes
            overrides += [f"max_minutes={minutes}"] if minutes != config.max_minutes else []
            request = starting.request(asked.get("request"), config)
            request = request._replace(visitor=str(caller.visitor), mode=access.mode)
            with quota.admitted(request, access, caller, outputs):
                made = fork.fork(run, at, overrides, spawn=spawn, request=request)
        except InvalidConfig as error:
            return {"error": "", "problems": filling.problem_data(error.problems), "run": ""}
        except (PlaygroundError, OSError) as error:
            return {"error": in_words(error), "problems": [], "run": ""}
        return {"error": "", "problems": [], "run": made.run.id}

    return fork_run


def fork_pointer(outputs: Path) -> Callable[[Any], dict[str, Any]]:
    """The server function that says where a run can be forked, and what can then be set."""

    def fork_points(run_id: Any) -> dict[str, Any]:
        """Each update after which there is a checkpoint, with the settings in force there: [{update, values}]; and the
        words and sliders of those settings."""
        try:
            run = history.find_run(outputs, str(run_id))
            config, events = run.config(), run.all_events()
            points = [
                {"update": update, "values": _forkable(changes.edited(config, changes.replay(events, update).applied))}
                for update in fork.points(run)
            ]
        except (PlaygroundError, OSError) as error:
            return {"error": in_words(error), "points": [], "knobs": []}
        weights = zip(range(len(config.rewards)), reward_form.term_labels(config.rewards).values(), strict=True)
        told = [
            {"field": f"rewards.{number}.weight", **WEIGHT, "label": f"Weight of {name}"} for number, name in weights
        ]
        also = [{"field": field, **form.knob_data(field)} for field in FORKABLE]
        return {"error": "", "points": points, "knobs": [*knobs(), *also, *told]}

    return fork_points


def _forkable(config: RunConfig) -> dict[str, Any]:
    """What the page lets a fork set: the live settings, how long it goes on, the weights of its rewards."""
    return {
        **{field: changes.value_of(config, field) for field in changes.live_in(config)},
        **{field: changes.value_of(config, field) for field in FORKABLE},
        **{f"rewards.{number}.weight": spec.weight for number, spec in enumerate(config.rewards)},
    }


def resumer(outputs: Path, spawn: launcher.Workers | None = None) -> Callable[[Any], dict[str, Any]]:
    """The server function that takes up an ended run, for the pages that offer it."""

    def resume_run(run_id: Any) -> dict[str, Any]:
        """Let an ended run go on from its last checkpoint. A run that is going already is no error: a double click."""
        try:
            run = history.find_run(outputs, str(run_id))
            try:
                launcher.resume(run, spawn=spawn)
            except PlaygroundError:
                if run.status().ended:
                    raise
        except (PlaygroundError, OSError) as error:
            return {"error": in_words(error)}
        return {"error": "", "attempt": run.status().attempt}

    return resume_run


def _ended(run: RunDirectory) -> dict[str, Any]:
    try:
        ended = processes.end(run, grace_seconds=FORCE_GRACE_SECONDS)
    except (PlaygroundError, OSError) as error:
        return {"error": in_words(error), "sentence": ""}
    if ended.alive:
        return {"error": ended.sentence, "sentence": ""}
    return {"error": "", "sentence": ended.sentence}


def knobs() -> list[dict[str, Any]]:
    """The live settings as static/train/live_settings.js draws them, the leash first."""
    fields = sorted(changes.LIVE_FIELDS, key=lambda field: not field.startswith("kl."))
    return [{"field": field, **form.knob_data(field)} for field in fields]


def _answer(act: Callable[[], object]) -> dict[str, Any]:
    try:
        act()
    except (PlaygroundError, OSError) as error:
        return {"error": in_words(error)}
    return {"error": ""}


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def _plain(value: Any) -> Any:
    """A number as it is; anything else as a short text, for the configuration to say what is wrong with it."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    return "" if value is None else str(value)[:MAX_TEXT]
