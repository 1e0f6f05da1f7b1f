"""What the header of every page shows: the machine, what trains, what waits. Never loads torch to find a GPU."""

from __future__ import annotations

from playground.runs import history, launcher, queue
from playground.setup import devices
from playground.ui.feed.feed import Hub
from playground.ui.payloads.page import HomeData


def home_data(hub: Hub, mode: str) -> HomeData:
    """For static/core/home.js."""
    outputs = hub.outputs
    waiting = queue.waiting(outputs)  # first: a run that begins between the two looks is then seen by the second
    living = launcher.living_runs(outputs)
    newest, ended_well = None, None
    if not living:
        runs = history.list_runs(outputs)
        newest = next((run.id for run in runs), None)
        if mode == "classroom":
            ended_well = next((run.id for run in runs if run.status.state in ("finished", "stopped")), None)
    slots = bool(living) and len(devices.available()) > 1
    return {
        "machine": devices.machine_facts(),
        "living": next((run.id for run in living), None),
        "training": [
            {
                "id": run.id,
                "title": run.title(run.config()),
                "attempt": run.status().attempt,
                "device": queue.slot_held(run) if slots else None,
            }
            for run in living
        ],
        "waiting": waiting,
        "newest": newest,
        # what a page shows of its own accord where nothing trains; elsewhere than in a class that is a recording
        "shown": ended_well,
        "recorded": {folder.name: run_id for run_id, folder in hub.recorded.items()},
    }
