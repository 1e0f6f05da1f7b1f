"""The end that the watchdog writes in the place of a worker that it had to kill."""

from __future__ import annotations

from pathlib import Path

from playground.runs.end import watchdog
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from tests.support import small_config


def test_its_end_can_be_read_behind_half_a_line_and_frees_the_reserve(outputs: Path) -> None:
    run = RunDirectory.create(outputs, small_config(), "run")
    writer = RunWriter(run, 3)
    writer.set_status(state="running", phase="training")
    writer.reserve()
    with open(run.events_path, "ab") as file:
        file.write(b'{"seq": 7, "kind": "war')  # killed in the middle of it
    watchdog._write_end(str(run.path), "Cannot load the tokenizer: it did not come to an end within 30 seconds.")
    status, last = run.status_on_disk(), run.events()[-1]
    assert (status.state, status.reason) == (watchdog.STATE, watchdog.REASON) and "tokenizer" in status.message
    assert (last.kind, last.data["state"], last.message) == ("state", "failed", status.message)
    assert not run.reserve_path.exists() and run.reserve_path.name == watchdog.RESERVE
