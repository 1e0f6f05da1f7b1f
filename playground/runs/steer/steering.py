"""The worker's side of `runs.steer.changes`: between two updates it takes requests, applies edits, and waits while
paused.

Knows the run directory and its writer, no torch. The worker calls `before_update`; what a change means for the
trainer is the worker's `change`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable

from playground.config import RunConfig, knobs
from playground.errors import InvalidConfig
from playground.runs.folder.writer import RunWriter
from playground.runs.steer import changes

POLL_SECONDS = 0.1


class Steering:
    """One run's pause state and live settings.

    Args:
        change: gets the new configuration and the names of the fields that were set.
        between: called while waiting; raises to break off, for example when the run is to stop.
        ahead: changes to repeat, each after so many updates: a resumed run makes them again when their time comes.
    """

    def __init__(
        self,
        writer: RunWriter,
        config: RunConfig,
        change: Callable[[RunConfig, Collection[str]], None],
        between: Callable[[], None] = lambda: None,
        ahead: Iterable[tuple[int, changes.Edit]] = (),
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
        found = changes.take(self._writer.run)
        for message in found.refused:
            self._writer.event("warning", message)
        for command in found.commands:
            self._paused = command != "resume"
            self._steps = self._steps + 1 if command == "step" else 0
        if found.trace:
            self.trace_asked = True
            self._steps += self._paused
        if found.edits:
            self._apply(found.edits)

    def _apply(self, edits: list[changes.Edit], **facts: bool) -> None:
        try:
            config = changes.edited(self.config, edits)
        except InvalidConfig as error:
            self._writer.event("warning", f"A request to change settings was refused. {error}")
            return
        before, self.config = self.config, config
        asked = dict(edits)
        if not facts:  # a person's newest word counts
            self._ahead = [item for item in self._ahead if item[1].field not in asked]
        self._change(config, asked.keys())
        labels = {field: knob["label"] for field, knob in knobs().items()}
        for field in asked:
            old, new = changes.value_of(before, field), changes.value_of(config, field)
            message = f"{labels[field]} {old:g} \u2192 {new:g}"
            self._writer.event(changes.EDIT, message, field=field, old=old, value=new, **facts)
