"""What a worker died of that could not say so itself."""

from __future__ import annotations

from playground.runs.directory import RunDirectory
from playground.runs.records import State, Status


def of_death(exit_code: int | None, status: Status, run: RunDirectory) -> tuple[str, str]:
    """The reason and a sentence."""
    if run.stop_requested:
        return "stopped", f"Stopped after update {status.update}."
    return "killed", f"The worker ended without saying why. Its last words are in {run.log_path.name}."


def state_after(reason: str) -> State:
    """The terminal state that goes with a reason."""
    return "stopped" if reason == "stopped" else "interrupted"
