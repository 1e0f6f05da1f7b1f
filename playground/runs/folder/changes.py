"""Changing a living run through its control folder: pause, resume, step, a trace, and new values for live settings.

The page drops files (`pause`, `resume`, `step`, `trace`, `set-*.json`), the command line only `resume`. The worker's
`Steering` takes them between two updates, applies edits and waits while paused. `RunDirectory.request_stop` stops.
"""

from __future__ import annotations

import contextlib
import functools
import json
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from playground.config import RunConfig, knobs, yaml_io
from playground.errors import InvalidConfig, Problem, RunNotSteerable
from playground.plain_files import read_bytes
from playground.runs.folder import traces
from playground.runs.folder.attempts import events_in_force
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.folder.records import EDIT as EDIT
from playground.runs.folder.records import RESUMED, Event
from playground.runs.folder.writer import RunWriter
from playground.setup import describe

POLL_SECONDS = 0.1
LIVE_FIELDS = tuple(field for field, knob in knobs().items() if knob["live"])
MOST_TRACES = 100  # of a run: each is up to 1 MB of the room that all runs of a public page share
COMMANDS = ("pause", "resume", "step")
Command = Callable[[RunDirectory], None]
TRACE = "trace"
EDITS = "set-*.json"
MAX_EDIT_BYTES = 10_000
MOST_EDITS = 1_000  # of a run: to list, overlay, fork or resume it goes through all of them


def live_in(config: RunConfig) -> list[str]:
    """The live settings that mean something in a run: no target for a fixed KL penalty, nothing its method ignores."""
    fields = [field for field in LIVE_FIELDS if config.reads(field)]
    if not config.kl.moves:
        fields = [field for field in fields if field != "kl.target"]
    return [field for field in fields if value_of(config, field) is not None]  # None: no rule by which it ends early


class Edit(NamedTuple):
    """One applied or requested change of a live setting."""

    field: str
    value: Any


def _request(name: str, run: RunDirectory) -> None:
    """Ask the run to wait after the update it is in, to go on, or for one more update. Raises: RunNotSteerable."""
    _check_steerable(run)
    for other in COMMANDS:
        if other != name:
            (run.control_path / other).unlink(missing_ok=True)  # the last word counts
    (run.control_path / name).touch(0o600)


request_pause: Command = functools.partial(_request, "pause")
request_resume: Command = functools.partial(_request, "resume")
request_step: Command = functools.partial(_request, "step")


def request_trace(run: RunDirectory) -> None:
    """Ask for the next update in slow motion; a paused run makes one for it. Raises: RunNotSteerable."""
    _check_steerable(run)
    if reason := traces.why_none(run.config()):
        raise RunNotSteerable(reason)
    if len(traces.updates(run)) >= MOST_TRACES:
        raise RunNotSteerable(f"{MOST_TRACES} updates of {run.id} are recorded already, which is the maximum.")
    (run.control_path / TRACE).touch(0o600)


def request_warning(run: RunDirectory, sentence: str) -> Path:
    """Have a sentence among the messages of a run; the file is gone once it is."""
    path = run.control_path / f"say-{time.time_ns():020d}.json"
    write_atomically(path, json.dumps(sentence))
    return path


def request_edits(run: RunDirectory, edits: Iterable[Edit]) -> list[Edit]:
    """Ask for new values of live settings, applied together before the next update; returns them as numbers. Raises:
    RunNotSteerable; InvalidConfig, then none is requested."""
    _check_steerable(run)
    edits = list(edits)
    if sum(event.kind == EDIT for event in run.all_events()) >= MOST_EDITS:
        raise RunNotSteerable(f"{run.id} was changed {MOST_EDITS:,} times, which is the maximum. Stop it and fork it.")
    changed = edited(run.config(), edits)
    edits = [Edit(edit.field, value_of(changed, edit.field)) for edit in edits]
    name = f"set-{time.time_ns():020d}-{uuid.uuid4().hex[:6]}.json"
    write_atomically(run.control_path / name, json.dumps(dict(edits)))
    return edits


def forget_commands(run: RunDirectory) -> None:
    """Drop what the attempt that has ended was asked for, but not a setting: its update never began, so it is set when
    the run goes on."""
    for path in run.control_path.glob("*"):
        if not path.match(EDITS):
            path.unlink(missing_ok=True)


def edited(config: RunConfig, edits: Iterable[Edit]) -> RunConfig:
    """The configuration with live settings changed. Raises: InvalidConfig, for fields that are not live and values out
    of range, all at once."""
    data, edits = config.as_data(), list(edits)
    sentence = f"cannot be changed while a run trains. These can: {', '.join(LIVE_FIELDS)}."
    problems = [Problem(edit.field, sentence) for edit in edits if edit.field not in LIVE_FIELDS]
    for field, value in edits:
        if field in LIVE_FIELDS:
            group, _, name = field.rpartition(".")
            data[group][name] = value
    try:
        changed = yaml_io.from_dict(data)
    except InvalidConfig as error:
        raise InvalidConfig([*problems, *error.problems]) from None
    if problems:
        raise InvalidConfig(problems)
    return changed


def edits_of(events: Iterable[Event]) -> list[Edit]:
    """What was changed in the course of a run, in order, and still holds."""
    return [edit for _, edit in dated_edits_of(events)]


def dated_edits_of(events: Iterable[Event]) -> list[tuple[int, Edit]]:
    """The same, each with the updates that were done when it was made."""
    return _with_updates(events_in_force(events))


def in_words(config: RunConfig, events: Iterable[Event]) -> str:
    """What a run is in words, and what of that was changed while it trained."""
    edits = [(update, *edit) for update, edit in dated_edits_of(events)]
    return describe.changed_on_the_way(describe.of(config).what, config, edits)


class Replay(NamedTuple):
    """The changes of earlier attempts: those made before some update, and (updates done, change) of later ones."""

    applied: list[Edit]
    ahead: list[tuple[int, Edit]]


def replay(events: Iterable[Event], update: int) -> Replay:
    """What an attempt that goes on after `update` has to repeat. A person's change in a resumed attempt cancels what
    was still ahead for that setting."""
    applied: list[tuple[int, Edit]] = []
    ahead: list[tuple[int, Edit]] = []

    def go_back(to: int) -> None:
        nonlocal applied, ahead
        again = [item for item in applied if item[0] >= to]
        ahead = sorted([*again, *ahead], key=lambda item: item[0])
        applied = [item for item in applied if item[0] < to]

    for event in events:
        if event.kind == RESUMED:
            go_back(event.update)
        for done, edit in _with_updates([event]):
            same = [item for item in ahead if item[1].field == edit.field]
            if event.data.get("replayed"):
                same = same[:1]
            ahead = [item for item in ahead if not any(item is other for other in same)]
            applied.append((done, edit))
    go_back(update)
    return Replay([edit for _, edit in applied], ahead)


class Requests(NamedTuple):
    """What the worker found in the control folder."""

    commands: list[str]
    edits: list[Edit]
    trace: bool
    warnings: list[str]


def take(run: RunDirectory) -> Requests:
    """In the worker: the requests that wait, the oldest first, removed from the folder; without damaged ones."""
    edits: list[Edit] = []
    for data in _taken(run, EDITS):
        if isinstance(data, dict):
            edits.extend(Edit(field, value) for field, value in data.items())
    warnings = [str(data) for data in _taken(run, "say-*.json")]
    commands: dict[str, int] = {}
    for name in (*COMMANDS, TRACE):
        with contextlib.suppress(OSError):
            commands[name] = (run.control_path / name).stat().st_mtime_ns
            (run.control_path / name).unlink(missing_ok=True)
    trace = commands.pop(TRACE, None) is not None
    return Requests(sorted(commands, key=commands.__getitem__), edits, trace, warnings)


def _taken(run: RunDirectory, pattern: str) -> Iterator[Any]:
    """What is in the files of such a name, which are removed."""
    for path in sorted(run.control_path.glob(pattern)):
        with contextlib.suppress(OSError, ValueError, RecursionError):
            yield json.loads(read_bytes(path, MAX_EDIT_BYTES))
        path.unlink(missing_ok=True)


class Steering:
    """In the worker: one run's pause state and live settings. `change` gets the new configuration and the fields that
    were set; `between`, called while waiting, raises to stop; `ahead`: changes to repeat after so many updates."""

    def __init__(
        self,
        writer: RunWriter,
        config: RunConfig,
        change: Callable[[RunConfig, Collection[str]], None],
        between: Callable[[], None] = lambda: None,
        ahead: Iterable[tuple[int, Edit]] = (),
    ) -> None:
        self.config = config
        self.trace_asked = False  # until who writes traces has made one
        self._ahead = list(ahead)
        self._writer, self._change, self._between = writer, change, between
        self._paused = False
        self._steps = 0

    def before_update(self) -> None:
        """Apply what was asked for; return when the next update may begin."""
        while self._ahead and self._ahead[0][0] <= self._writer.status.update:
            self._apply([self._ahead.pop(0)[1]], replayed=True)
        self._take()
        if self._paused and not self._steps:
            self._writer.set_status(state="paused", phase="")
            while self._paused and not self._steps:
                self._between()
                time.sleep(POLL_SECONDS)
                self._take()
            self._writer.set_status(state="running", phase="training")
        self._steps = max(0, self._steps - 1)

    def _take(self) -> None:
        requests = take(self._writer.run)
        for sentence in requests.warnings:
            self._writer.event("warning", sentence)
        for command in requests.commands:
            self._paused = command != "resume"
            self._steps = self._steps + 1 if command == "step" else 0
        if requests.trace:
            self.trace_asked = True
            self._steps += self._paused
        if requests.edits:
            self._apply(requests.edits)

    def _apply(self, edits: list[Edit], **facts: bool) -> None:
        try:
            config = edited(self.config, edits)
        except InvalidConfig as error:
            self._writer.event("warning", f"A request to change settings was refused. {error}")
            return
        before, self.config = self.config, config
        values = dict(edits)
        if not facts:  # a person's newest word counts
            self._ahead = [item for item in self._ahead if item[1].field not in values]
        self._change(config, values.keys())
        for field in values:
            old, new = value_of(before, field), value_of(config, field)
            message = f"{knobs()[field]['label']} {in_figures(old)} \u2192 {in_figures(new)}"
            self._writer.event(EDIT, message, field=field, old=old, value=new, **facts)


def in_figures(value: float | None) -> str:
    """The value of a live setting for a person."""
    if value is None:
        return "none"
    return f"{value:g}"


def value_of(config: RunConfig, field: str) -> Any:
    """The value of a dotted field, for example `kl.coef`."""
    group, _, name = field.rpartition(".")
    return getattr(getattr(config, group), name)


def check_own(run: RunDirectory) -> None:
    """Raises: RunNotSteerable for a run that is only watched."""
    with contextlib.suppress(InvalidConfig):
        config = run.config()
        if config.kind == "watched":
            raise RunNotSteerable(config.why_not_resumed)


def _with_updates(events: Iterable[Event]) -> list[tuple[int, Edit]]:
    return [
        (event.update, Edit(str(event.data["field"]), event.data["value"]))
        for event in events
        if event.kind == EDIT and {"field", "value"} <= event.data.keys()
    ]


def _check_steerable(run: RunDirectory) -> None:
    check_own(run)
    status = run.status()
    if status.ended:
        raise RunNotSteerable(f"{run.id} has already ended ({status.state}); there is nothing to steer.")
