"""One update as a click on its point of a curve opens it: the line of rollouts.jsonl, found among many without reading
the others, or the reason why there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from playground.config import RunConfig
from playground.errors import RunNotFound
from playground.runs.folder.attempts import Resumption, in_force
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import MOST_DAMAGED, JsonlTail, line_at
from playground.runs.folder.records import OfAnUpdate, parsed
from playground.runs.folder.rollout_records import RolloutRecord

HEAD = re.compile(rb'\{"attempt": (\d{1,15}), "update": (\d{1,15}),')  # as our writer begins a line
OFF = "This run keeps no texts of its updates: that is switched off by evaluation.rollout_texts."
BEFORE = "This run was made before updates kept their texts."
NONE_YET = "No update has been made yet."


class OpenedUpdate(NamedTuple):
    """What is kept of an update, and the updates next to it of which something is kept too."""

    record: RolloutRecord
    previous: int | None
    next: int | None


class Rollouts:
    """The updates of one run. For one reader at a time, who may keep it while the run is being written."""

    def __init__(self, run: RunDirectory, config: RunConfig) -> None:
        self._run, self._config = run, config
        self._index = RolloutIndex(run.rollouts_path)

    def open(self, update: int | None, resumed: Sequence[Resumption]) -> OpenedUpdate:
        """One update; None: the newest. Raises: RunNotFound, with the reason why there is nothing of it."""
        updates = self._index.updates(resumed)
        number = updates[-1] if update is None and updates else update
        opened = None
        if number is not None:
            opened = self._index.read(number, resumed)
        if opened is None:
            raise RunNotFound(self._why_none(number, updates))
        before, after = ([n for n in updates if n < opened.update], [n for n in updates if n > opened.update])
        return OpenedUpdate(opened, max(before, default=None), min(after, default=None))

    def _why_none(self, update: int | None, updates: Sequence[int]) -> str:
        if updates:
            return f"No texts were kept of update {update}; there are some of updates {updates[0]} to {updates[-1]}."
        if not self._config.evaluation.rollout_texts:
            return OFF
        if self._run.status().update:
            return BEFORE
        return NONE_YET


class LineSpan(NamedTuple):
    """Where a line of rollouts.jsonl lies."""

    attempt: int
    update: int
    start: int
    size: int


class RolloutIndex:
    """Finds the line of an update without reading the others again. For one reader at a time."""

    def __init__(self, path: Path) -> None:
        self._path, self._tail = path, JsonlTail(path)
        self._spans: list[LineSpan] = []
        self._damaged = 0

    def updates(self, resumed: Sequence[Resumption]) -> list[int]:
        """The updates of which there is a line that still counts, in order."""
        return [span.update for span in self._in_force(resumed)]

    def read(self, update: int, resumed: Sequence[Resumption]) -> RolloutRecord | None:
        """The line of an update; None where there is none that can be read."""
        spans = [span for span in self._in_force(resumed) if span.update == update]
        if not spans:
            return None
        try:
            return parsed(json.loads(line_at(self._path, spans[-1].start, spans[-1].size)), RolloutRecord)
        except (OSError, ValueError, RecursionError):
            return None

    def _in_force(self, resumed: Sequence[Resumption]) -> list[LineSpan]:
        for start, line in self._tail.lines():
            if self._spans and start <= self._spans[-1].start:  # another file in its place
                self._spans, self._damaged = [], 0
            head = None
            if self._damaged < MOST_DAMAGED:
                head = _head(line)
            if head is None:
                self._damaged += 1
            else:
                self._spans.append(LineSpan(*head, start, len(line)))
        return in_force(self._spans, resumed)


def _head(line: bytes) -> tuple[int, int] | None:
    """Attempt and update of a line, which is parsed only where another program wrote it."""
    if match := HEAD.match(line):
        return int(match[1]), int(match[2])
    try:
        record = parsed(json.loads(line), OfAnUpdate)
    except (ValueError, RecursionError):
        return None
    if record:
        return (record.attempt, record.update)
    return None
