"""Who asked for a run, and by which click: a start that is repeated with the same id gives the same run.

Kept as `request.json` in the run's folder, and as one tiny file per id in `<outputs>/.requests/`, so that the answer is
the same for every process and after a restart. An id is hashed before it touches a path or a disk. Knows files only;
the launcher calls it while it holds the folder's lock for starting.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
import time
from pathlib import Path
from typing import NamedTuple

from playground.config import RUN_ID
from playground.errors import InvalidConfig, Problem, RunNotFound
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import read_record, write_atomically
from playground.runs.folder.records import Record, Seconds
from playground.safety.plain_files import read_bytes

INDEX = ".requests"
MOST_BYTES = 200  # of what is kept for an id: the name of a run
MOST_CHARACTERS = {"id": 200, "visitor": 200, "mode": 40}
KEEP_SECONDS = 86_400.0  # how long the id of a run that was deleted is remembered, so that nothing starts it again


class Request(NamedTuple):
    """One wish to start a run. `id` is made by who asks, once for each click; empty: every start is a new one.
    `visitor` names a person without being a secret, `mode` is that of the server."""

    id: str = ""
    visitor: str = ""
    mode: str = "local"


class Asked(Record):
    """request.json: the digest of the id, who asked, when, the device that the run computes on, and a random word that
    its checkpoints carry: by it they are known as its own, also in a copy of its folder."""

    key: str = ""
    id: str = ""
    visitor: str = ""
    mode: str = "local"
    created_at: Seconds = 0.0
    slot: str = ""


def check(request: Request) -> None:
    """Raises: InvalidConfig, if a part of a request is longer than it may be."""
    lengths = {name: len(str(value)) for name, value in request._asdict().items()}
    problems = [
        Problem(f"request.{name}", f"may have at most {most} characters (got {lengths[name]}).")
        for name, most in MOST_CHARACTERS.items()
        if lengths[name] > most
    ]
    if problems:
        raise InvalidConfig(problems)


def digest(request_id: str) -> str:
    """What stands for an id on disk; empty for none."""
    return hashlib.sha256(request_id.encode("utf-8", "surrogatepass")).hexdigest() if request_id else ""


def find(outputs: Path, request: Request) -> RunDirectory | None:
    """The run that this request has started before, in whatever state it is now.

    Raises:
        RunNotFound: if it has been deleted since.
    """
    if not request.id:
        return None
    try:
        name = _kept(outputs / INDEX / digest(request.id))
    except (OSError, ValueError):
        return None
    if not RUN_ID.fullmatch(name):
        return None
    run = RunDirectory(outputs / name)
    if run.config_path.is_file():
        return run
    if not run.path.exists():
        raise RunNotFound(f"The run `{name}`, which this request had started, has been deleted. Start it anew.")
    return None  # whoever began to make it died before it was a run


def record(run: RunDirectory, request: Request, slot: str) -> None:
    """Write down who asked for a run that was just reserved, and on which device it computes."""
    asked = Asked(
        key=secrets.token_hex(8), id=digest(request.id), visitor=request.visitor, mode=request.mode,
        created_at=time.time(), slot=slot,
    )  # fmt: skip
    _write(run, asked)
    if request.id:
        index = run.path.parent / INDEX
        index.mkdir(mode=0o700, exist_ok=True)
        write_atomically(index / asked.id, run.id)


def move(run: RunDirectory, slot: str) -> None:
    """Write down that the next attempt of a run computes on this device."""
    _write(run, of(run).model_copy(update={"slot": slot}))


def of(run: RunDirectory) -> Asked:
    """Who asked for a run; nobody in particular where that is not known."""
    return read_record(run.request_path, Asked) or Asked()


def forget(run: RunDirectory) -> None:
    """Drop the id by which a run was asked for that never became one: who asks again gets it made."""
    asked = of(run).id
    with contextlib.suppress(OSError, ValueError):
        if asked.isalnum() and _kept(run.path.parent / INDEX / asked) == run.id:
            (run.path.parent / INDEX / asked).unlink()


def forget_deleted(outputs: Path) -> None:
    """Drop the ids of runs that were deleted long ago, so that there are never many more ids than runs."""
    for path in (outputs / INDEX).glob("*"):
        with contextlib.suppress(OSError, ValueError):
            name = _kept(path)
            gone = not RUN_ID.fullmatch(name) or not (outputs / name).exists()
            if gone and abs(time.time() - path.stat().st_mtime) > KEEP_SECONDS:
                path.unlink()


def _kept(path: Path) -> str:
    """The run that an id has started. Raises: OSError, ValueError."""
    return read_bytes(path, MOST_BYTES).decode().strip()


def _write(run: RunDirectory, asked: Asked) -> None:
    write_atomically(run.request_path, json.dumps(asked.model_dump()))  # ASCII, whatever a visitor is called
