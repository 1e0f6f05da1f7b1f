"""What the worker writes: strict JSON, whole lines, and every change of state as an event."""

from __future__ import annotations

import json
import os
from pathlib import Path

import psutil

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import to_json_line
from playground.runs.folder.writer import RunWriter, write_end
from tests.support import sample, small_config, update_metrics


def test_numbers_that_json_does_not_know_become_null() -> None:
    line = to_json_line(update_metrics(1, score_mean=float("nan"), terms={"length": float("inf"), "truth": 1.0}))
    assert line.endswith("\n") and line.count("\n") == 1
    item = json.loads(line, parse_constant=lambda name: pytest_fail(name))
    assert item["score_mean"] is None and item["terms"] == {"length": None, "truth": 1.0}


def pytest_fail(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def test_text_with_line_breaks_stays_on_one_line(outputs: Path) -> None:
    run = RunDirectory.create(outputs, small_config())
    hostile = sample(0, "before", 1.0, completion="a\nb\r\u2028c\x00 <b>'\"")
    RunWriter(run, 3).samples([hostile, sample(1, "before", 2.0)])
    assert run.samples_path.read_bytes().count(b"\n") == 2
    assert run.samples() == [hostile, sample(1, "before", 2.0)]


def test_the_writer_says_who_it_is(outputs: Path) -> None:
    run = RunDirectory.create(outputs, small_config())
    status = RunWriter(run, 3).status
    assert (status.state, status.pid, status.num_updates) == ("starting", os.getpid(), 3)
    assert status.pid_started_at == psutil.Process().create_time()


def test_a_change_of_state_is_an_event_and_a_change_of_figures_is_not(outputs: Path) -> None:
    run = RunDirectory.create(outputs, small_config())
    writer = RunWriter(run, 3)
    writer.set_status(state="running", phase="training")
    writer.set_status(update=2)
    writer.event("warning", "Careful.", evidence=1.5)
    writer.finish("failed", "diverged", "It blew up.")
    assert [(event.seq, event.kind, event.update, event.message, event.data) for event in run.events()] == [
        (0, "state", 0, "", {"state": "running", "reason": ""}),
        (1, "warning", 2, "Careful.", {"evidence": 1.5}),
        (2, "state", 2, "It blew up.", {"state": "failed", "reason": "diverged"}),
    ]
    status = run.status()
    assert (status.state, status.phase, status.reason, status.update) == ("failed", "", "diverged", 2)


def test_the_end_of_a_dead_worker_can_be_read_behind_half_a_line_and_frees_the_reserve(outputs: Path) -> None:
    run = RunDirectory.create(outputs, small_config(), "run")
    writer = RunWriter(run, 3)
    writer.set_status(state="running", phase="training")
    writer.reserve()
    with open(run.events_path, "ab") as file:
        file.write(b'{"seq": 7, "kind": "war')  # killed in the middle of it
    write_end(run, run.status_on_disk(), "failed", "model", "Cannot load the tokenizer.")
    status, last = run.status_on_disk(), run.events()[-1]
    assert (status.state, status.reason, status.updated_at) == ("failed", "model", writer.status.updated_at)
    assert (last.seq, last.kind, last.data["state"], last.message) == (1, "state", "failed", status.message)
    assert not run.reserve_path.exists()
