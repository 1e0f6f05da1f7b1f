"""Reads the folder in which a worker is at work, and tells what is new in it (`cluster.news`).

Runs beside the worker, or wherever else its folder can be seen. The status is read before all else and told after all
else, so that whatever it says has been told by then; an end is told only when nothing more can follow. Of checkpoints
the newest and the best are told, and no more often than their size allows. Writes nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from playground.cluster.news import Appended, News, Piece, Replaced, Taken, Whole
from playground.cluster.parcel import GROWING
from playground.runs.folder import checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status, parsed

LOG = "worker.log"
STATUS = "status.json"
PIECE_BYTES = 8 * 2**20
READ_BYTES = 4 * 2**20  # of a growing file, at once
SHARE_FOR_CHECKPOINTS = 10  # telling of them may take one part in so many of the time


class Pump:
    """What of one run's folder has been told.

    Args:
        checkpoint_seconds: the least time between two checkpoints that are told.
    """

    def __init__(self, folder: Path, checkpoint_seconds: float) -> None:
        self._run = RunDirectory(folder)
        self._offsets = {name: _size(folder / name) for name in (*GROWING, LOG)}
        self._traces = self._traces_there()
        self._status = self._read_status()
        self._checkpoints = {self._mark(path) for path in self._run.checkpoints()}
        self._checkpoint_seconds = checkpoint_seconds
        self._checkpoints_due = time.monotonic() + checkpoint_seconds
        self.asked: set[str] = set()  # requests that were put into its control folder and have not been told as taken

    def look(self, over: bool = False) -> Iterator[list[News]]:
        """What is new, in batches.

        Args:
            over: the worker had gone before this look. Then everything is told, its end too.
        """
        status = self._read_status()
        yield from self._grown()
        if small := [*self._new_traces(), *self._taken()]:
            yield small
        if over or time.monotonic() >= self._checkpoints_due:
            yield from self._new_checkpoints()
        if status != self._status and status is not None and (over or not _has_ended(status)):
            self._status = status
            yield [Replaced(STATUS, status)]

    def _grown(self) -> Iterator[list[News]]:
        for name, offset in self._offsets.items():
            with contextlib.suppress(FileNotFoundError), open(self._run.path / name, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                self._offsets[name] = file.seek(min(offset, size))  # smaller than it was: the log's middle was cut out
                while (left := size - file.tell()) > 0 and (data := file.read(min(left, READ_BYTES))):
                    self._offsets[name] = file.tell()
                    yield [Appended(name, data)]

    def _new_traces(self) -> Iterator[News]:
        there = self._traces_there()
        for path, mark in there.items():
            if self._traces.get(path) != mark:
                yield Replaced(f"{path.parent.name}/{path.name}", path.read_bytes())
        self._traces = there

    def _taken(self) -> Iterator[News]:
        for name in sorted(self.asked):
            if not (self._run.control_path / name).exists():
                self.asked.discard(name)
                yield Taken(name)

    def _new_checkpoints(self) -> Iterator[list[News]]:
        begun = time.monotonic()
        there = self._run.checkpoints()
        best = checkpoints.best(there)
        for folder in dict.fromkeys(([best] if best else []) + there[-1:]):  # the newest last, as they were made
            mark = self._mark(folder)
            if mark in self._checkpoints:
                continue
            with contextlib.suppress(FileNotFoundError):  # it was deleted meanwhile: there is a newer one
                yield from _pieces(folder)
                yield [Whole(folder.name)]
                self._checkpoints.add(mark)
        took = time.monotonic() - begun
        self._checkpoints_due = time.monotonic() + max(self._checkpoint_seconds, SHARE_FOR_CHECKPOINTS * took)

    def _mark(self, folder: Path) -> tuple[str, bytes]:
        """A checkpoint of that name may be made again by a later attempt."""
        with contextlib.suppress(OSError):
            return folder.name, (folder / checkpoints.MANIFEST).read_bytes()
        return folder.name, b""

    def _read_status(self) -> bytes | None:
        with contextlib.suppress(OSError):
            return self._run.status_path.read_bytes()
        return None

    def _traces_there(self) -> dict[Path, int]:
        found = {}
        for path in self._run.traces_path.glob("update-*.json"):
            with contextlib.suppress(OSError):
                found[path] = path.stat().st_mtime_ns
        return found


def _pieces(folder: Path) -> Iterator[list[News]]:
    """The files of a checkpoint, what names them all last."""
    for path in sorted(folder.iterdir(), key=lambda path: (path.name == checkpoints.MANIFEST, path.name)):
        first = True
        with open(path, "rb") as file:
            while (data := file.read(PIECE_BYTES)) or first:
                yield [Piece(f"{folder.name}/{path.name}", data, first)]
                first = False


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0


def _has_ended(status: bytes) -> bool:
    try:
        found = parsed(json.loads(status), Status)
    except ValueError:
        return False
    return found is not None and found.ended
