"""Writes the end of a run whose worker cannot: it died, or it was never started.

Only for who holds the run's lock, or knows under the folder's lock for starting that the run is in the queue; so there
is never a second writer. The launcher (a stop in the queue) and the reconciler call this.
"""

from __future__ import annotations

import time

from playground.errors import InvalidConfig
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import cut_torn_line, private, write_atomically
from playground.runs.folder.records import Event, State, Status, to_json_line


def write(run: RunDirectory, status: Status, state: State, reason: str, message: str) -> Status:
    """Enter a terminal state in the place of the worker.

    `updated_at` stays what the worker wrote last: the run lasted until then, not until somebody looked.
    """
    ended = status.model_copy(update={"state": state, "phase": "", "reason": reason, "message": message})
    run.reserve_path.unlink(missing_ok=True)  # the disk may be full, and a killed worker has left it
    write_atomically(run.status_path, ended.model_dump_json())
    _append_event(run, ended)
    return ended


def recovered(run: RunDirectory) -> Status:
    """What can be known of a run without its status.json, from what else it has written."""
    metrics, events = run.metrics(), run.all_events()
    try:
        num_updates = run.config().ppo.num_updates
    except (InvalidConfig, AttributeError):  # damaged too; or the training of a reward model, which has no updates
        num_updates = 0
    times = [event.time for event in events]
    return Status(
        attempt=max([1, *(item.attempt for item in metrics), *(event.attempt for event in events)]),
        update=metrics[-1].update if metrics else 0,
        num_updates=num_updates,
        started_at=min(times, default=0.0),
        updated_at=max(times, default=0.0),
    )


def _append_event(run: RunDirectory, status: Status) -> None:
    before = [event.seq for event in run.all_events() if event.attempt == status.attempt]
    event = Event(
        attempt=status.attempt, seq=max(before, default=-1) + 1, time=time.time(), kind="state", update=status.update,
        message=status.message, data={"state": status.state, "reason": status.reason},
    )  # fmt: skip
    cut_torn_line(run.events_path)  # or the two would be one line that nobody can read
    with open(run.events_path, "ab", opener=private) as file:
        file.write(to_json_line(event).encode())
