"""The queue of an outputs folder: one run on each device, first come, first served, on disk.

A slot names the devices of a run: cpu, cuda:0, or cuda:0,cuda:1. A run that has to wait has a file in `.queue/` of the
outputs folder; to change it takes the folder's lock for starting (`launcher.one_at_a_time`).
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from playground.config import RUN_ID, RunConfig
from playground.errors import InvalidConfig
from playground.runs.folder import requests
from playground.runs.folder.directory import QUEUE, RunDirectory
from playground.runs.folder.files import read_record, write_atomically
from playground.runs.folder.records import WHOLE, Count, Record
from playground.setup import devices

LAST = WHOLE  # the ticket of an entry that cannot be read: it keeps its run waiting, behind all others


class Entry(Record):
    """The place of one run. `ticket` is its order (a count: clocks jump), `attempt` the one that waits;
    `elsewhere`: not for a device of this machine."""

    run: str = ""
    ticket: Count = LAST
    slot: str = ""
    attempt: Count = 0
    elsewhere: bool = False


def slot_of(config: RunConfig) -> str:
    """The devices that a configuration takes, as a name; of what is not here, as it was named."""
    try:
        return ",".join(sorted(set(devices.members(config.device, config.ranks))))
    except InvalidConfig:
        return config.device


def are_apart(slot: str, other: str) -> bool:
    """True where two slots have no device in common."""
    return not set(slot.split(",")) & set(other.split(","))


def slot_held(run: RunDirectory) -> str:
    """The slot that a run was given when it was started; for a run that was made by hand, the one it means."""
    if slot := requests.of(run).slot:
        return slot
    try:
        return slot_of(run.config())
    except InvalidConfig:
        return devices.available()[0].name


def entries(outputs: Path) -> list[Entry]:
    """Every entry, the next one first, also those whose run has gone."""
    in_queue = []
    for path in (outputs / QUEUE).glob("*.json"):
        if not RUN_ID.fullmatch(path.stem):
            continue
        entry = read_record(path, Entry)
        if entry or path.exists():  # else it has just left
            in_queue.append((entry or Entry()).model_copy(update={"run": path.stem}))
    return sorted(in_queue, key=lambda entry: (entry.ticket, entry.run))


def holds(run: RunDirectory, entry: Entry) -> bool:
    """True if the run still waits for what its entry says; else the entry is what a crash has left."""
    status = run.status_on_disk()
    same = entry.attempt in (0, status.attempt)
    return run.config_path.is_file() and status.state == "queued" and same and not run.is_alive()


def enter(run: RunDirectory, slot: str, attempt: int, elsewhere: bool = False) -> None:
    """Put a run behind all that wait."""
    folder = run.queue_path.parent
    folder.mkdir(mode=0o700, exist_ok=True)
    tickets = [entry.ticket for entry in entries(run.path.parent) if entry.ticket < LAST]
    ticket = max(tickets, default=0) + 1
    entry = Entry(run=run.id, ticket=ticket, slot=slot, attempt=attempt, elsewhere=elsewhere)
    write_atomically(run.queue_path, entry.model_dump_json())


def leave(run: RunDirectory) -> None:
    """Take a run out, if it is in."""
    with contextlib.suppress(FileNotFoundError):
        run.queue_path.unlink()


def waiting(outputs: Path) -> list[str]:
    """The ids of the runs that wait, the next one first."""
    outputs = Path(outputs)
    return [entry.run for entry in entries(outputs) if holds(RunDirectory(outputs / entry.run), entry)]


def position(run: RunDirectory) -> int | None:
    """The place of a run among those that wait for the same device, from 1; None if it does not wait."""
    waiting_ids = waiting(run.path.parent)
    if run.id not in waiting_ids:
        return None
    before = [slot_held(RunDirectory(run.path.parent / name)) for name in waiting_ids[: waiting_ids.index(run.id)]]
    return 1 + sum(not are_apart(slot, slot_held(run)) for slot in before)
