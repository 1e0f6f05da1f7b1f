"""request.json: who asked for a run, and by which click: a start that is repeated with the same id gives the same run.
The launcher calls this while it holds the folder's lock for starting."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from pathlib import Path
from typing import NamedTuple

from playground.errors import RunNotFound
from playground.runs.folder.directory import BIN, RunDirectory, refuse_too_long
from playground.runs.folder.files import folders, read_record, write_atomically
from playground.runs.folder.records import Record, Seconds

MOST_CHARACTERS = {"request.id": 200, "request.visitor": 200, "request.mode": 40}


class Request(NamedTuple):
    """One wish to start a run. `id` names a click; empty: every start is a new one. `visitor` names a person."""

    id: str = ""
    visitor: str = ""
    mode: str = "local"


class Asked(Record):
    """request.json: `id` as a digest, `slot` the device that the run computes on, and `key`, a random word that its
    checkpoints carry: by it they are known as its own, also in a copy of its folder."""

    key: str = ""
    id: str = ""
    visitor: str = ""
    mode: str = "local"
    created_at: Seconds = 0.0
    slot: str = ""


def check(request: Request) -> None:
    """Raises: InvalidConfig, if a part of a request is longer than it may be."""
    refuse_too_long({f"request.{name}": str(value) for name, value in request._asdict().items()}, MOST_CHARACTERS)


def digest(request_id: str) -> str:
    """What stands for an id on disk; empty for none."""
    if request_id:
        return hashlib.sha256(request_id.encode("utf-8", "surrogatepass")).hexdigest()
    return ""


def find(outputs: Path, request: Request) -> RunDirectory | None:
    """The run that this request has started before, in whatever state. Raises: RunNotFound, if it lies in the bin."""
    if not request.id:
        return None
    key = digest(request.id)
    for run in map(RunDirectory, [*folders(outputs), *folders(outputs / BIN)]):
        if of(run).id != key:
            continue
        if run.path.parent.name == BIN:
            raise RunNotFound(f"The run `{run.id}`, which this request had started, has been deleted. Start it anew.")
        if run.config_path.is_file():
            return run
    return None  # or what began to make it died before it was a run


def record(run: RunDirectory, request: Request, slot: str) -> None:
    """Write down who asked for a run that was just reserved, and on which device it computes."""
    facts = {"key": secrets.token_hex(8), "created_at": time.time(), "slot": slot}
    facts_asked = Asked(**request._asdict() | {"id": digest(request.id)} | facts)
    _write(run, facts_asked)


def move(run: RunDirectory, slot: str) -> None:
    """Write down that the next attempt of a run computes on this device."""
    _write(run, of(run).model_copy(update={"slot": slot}))


def of(run: RunDirectory) -> Asked:
    """Who asked for a run; an empty record where that is not known."""
    return read_record(run.request_path, Asked) or Asked()


def _write(run: RunDirectory, record: Asked) -> None:
    write_atomically(run.request_path, json.dumps(record.model_dump()))  # ASCII, whatever a visitor is called
