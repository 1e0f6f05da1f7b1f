"""Writes what a place tells (`cluster.news`) into the run's own folder, as its only writer.

The driver holds the run's lock while it uses this. The folder then reads like that of a run that is computed here, but
for two things: the status names no process, since none here could be signalled, and of the checkpoints there are the
newest and the best. Knows no place.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from pathlib import Path

from playground.cluster.news import Appended, News, Piece, Replaced, Taken, Whole
from playground.cluster.parcel import GROWING, inside
from playground.cluster.pump import LOG, STATUS
from playground.runs.folder import checkpoints, logs
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import private, write_atomically
from playground.runs.folder.records import Status, parsed

TRACE = re.compile(r"traces/update-\d{6,9}\.json")
REQUEST = re.compile(r"stop|pause|resume|step|trace|set-[a-z0-9-]{1,60}\.json")
PIECE = re.compile(r"update-\d{6,9}/[A-Za-z0-9_.-]{1,120}")
HALF = ".tmp-mirror"  # in checkpoints/: what has not come whole yet
NO_PROCESS = {"pid": 0, "pid_started_at": 0.0, "pid_ticks": 0, "boot_id": ""}


class Mirror:
    """The folder of one run, for as long as an attempt of it is computed elsewhere."""

    def __init__(self, run: RunDirectory) -> None:
        self.run = run
        self.end: Status | None = None  # the status with which the attempt has ended; not written down yet
        self._half = run.checkpoints_path / HALF
        self._sent: dict[str, int] = {}  # requests on their way to the worker, and when each was made

    def write(self, news: News) -> None:
        """Write one of the news down. Raises: OSError; ValueError, for news that no worker of ours makes."""
        match news:
            case Appended(name, data) if name in (*GROWING, LOG):
                _append(self.run.path / name, data)
                if name == LOG:
                    logs.cap(self.run.log_path)
            case Replaced(name, data) if name == STATUS:
                self._write_status(data)
            case Replaced(name, data) if TRACE.fullmatch(name):
                self.run.traces_path.mkdir(mode=0o700, exist_ok=True)
                write_atomically(self.run.path / name, data.decode())
            case Piece(name, data, first) if PIECE.fullmatch(name):
                path = inside(self._half, name)
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with open(path, "wb" if first else "ab", opener=private) as file:
                    file.write(data)
            case Whole(name) if checkpoints.NAME.fullmatch(name):
                self._name(self._half / name)
            case Taken(name):
                self._drop(name)
            case _:
                raise ValueError(
                    f"{type(news).__name__} of {getattr(news, 'name', '')[:80]!r} is nothing to write down"
                )

    def begin_attempt(self) -> None:
        """Forget what the attempt before has left behind: half a checkpoint, requests that its worker never took."""
        self.end = None
        self._sent = {}
        shutil.rmtree(self._half, ignore_errors=True)

    def asked(self) -> list[tuple[str, bytes | None]]:
        """What the worker is to find in its control folder since the last call, oldest first; None: find no more."""
        there: dict[str, int] = {}
        for path in filter(lambda path: REQUEST.fullmatch(path.name), self.run.control_path.iterdir()):
            with contextlib.suppress(FileNotFoundError):  # taken back meanwhile
                there[path.name] = path.stat().st_mtime_ns
        changes: list[tuple[str, bytes | None]] = [(name, None) for name in self._sent if name not in there]
        for name in sorted(there, key=lambda name: there[name]):
            if self._sent.get(name) != there[name]:
                with contextlib.suppress(FileNotFoundError):
                    changes.append((name, (self.run.control_path / name).read_bytes()))
        self._sent = there
        return changes

    def _drop(self, name: str) -> None:
        """The worker has taken a request: it is no more, unless somebody has asked for the same again since."""
        when = self._sent.pop(name, None)
        path = inside(self.run.control_path, name)
        with contextlib.suppress(FileNotFoundError):
            if when == path.stat().st_mtime_ns and name != "stop":
                path.unlink()

    def _write_status(self, data: bytes) -> None:
        status = parsed(json.loads(data), Status)
        if status is None:
            raise ValueError("that is no status")
        status = status.model_copy(update=NO_PROCESS)
        if status.ended:
            self.end = status
        else:
            self.write_status(status)

    def write_status(self, status: Status) -> None:
        """Replace status.json. Raises: OSError."""
        write_atomically(self.run.status_path, status.model_dump_json())

    def _name(self, folder: Path) -> None:
        """Give a checkpoint that has come whole its name, and let go of those that are neither newest nor best."""
        if problem := checkpoints.problem_of(folder):
            shutil.rmtree(folder, ignore_errors=True)
            raise ValueError(f"the checkpoint {folder.name} came damaged: {problem}")
        target = self.run.checkpoints_path / folder.name
        if target.exists():  # made again by a later attempt
            os.rename(target, target.with_name(f".old-{target.name}"))
        os.rename(folder, target)
        checkpoints.prune(self.run.checkpoints_path, keep_last=1)


def _append(path: Path, data: bytes) -> None:
    with open(path, "ab", opener=private) as file:
        file.write(data)
