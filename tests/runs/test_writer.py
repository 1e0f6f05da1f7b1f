"""What the worker writes: strict JSON, whole lines, and every change of state as an event."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import psutil
import pytest

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status, to_json_line
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


def test_time_at_work_has_no_pauses_and_nothing_that_lies_between_attempts(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [500.0]
    monkeypatch.setattr("playground.runs.folder.writer.time.monotonic", lambda: clock[0])

    def then(seconds: float, **changes: Any) -> float | None:
        clock[0] += seconds
        writer.set_status(**changes)
        return run.status_on_disk().worked_seconds

    run = RunDirectory.create(outputs, small_config())
    writer = RunWriter(run, 3)
    assert then(4.0, state="running") == 4.0
    assert then(6.0, state="paused") == 10.0
    assert then(600.0, phase="still paused") == 10.0
    assert then(60.0, state="running") == 10.0
    assert then(5.0, state="paused") == 15.0
    assert then(900.0, state="stopped") == 15.0  # in the pause
    run.queue_again(run.status_on_disk(), 3)
    assert run.status_on_disk().seconds_at_work(now=run.status_on_disk().updated_at + 9) == 15.0  # it waits
    clock[0] += 3600.0
    writer = RunWriter(run, 3, attempt=2)
    assert then(2.0, state="running") == 17.0
    assert run.status_on_disk().seconds_at_work(now=run.status_on_disk().updated_at + 9) == 26.0


def test_a_run_of_before_tells_the_time_of_its_last_attempt() -> None:
    old = Status(state="finished", started_at=1000.0, updated_at=1090.0)
    assert old.seconds_at_work(now=9999.0) == 90.0


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
