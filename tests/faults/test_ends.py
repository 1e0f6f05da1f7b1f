"""Runs that are asked to end, end: in time, with all they have started, and with the truth about it on disk."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import psutil
import pytest

from playground.runs import launcher
from playground.runs.folder import heartbeat, processes
from playground.runs.folder.directory import RunDirectory
from playground.runs.supervisor import Supervisor
from playground.train.process import watch
from tests.support import has_ended, small_config, wait_until

PROMISED_SECONDS = 10.0
ALLOWED_SECONDS = 15.0  # of a machine that does other things too
SLOW_START_SECONDS = 60


@pytest.fixture(autouse=True)
def scripted_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playground.runs.launcher.WORKER_MODULE", "tests.faults.scripted_worker")


def started(outputs: Path, name: str) -> tuple[RunDirectory, psutil.Process]:
    """A run that has reached what its name says, and its worker."""
    run, _ = launcher.start(small_config(name), outputs, f"r-{name}")
    phase = "loading PyTorch" if name == "deaf-loading" else "training"
    wait_until(lambda: run.status().phase == phase and heartbeat.read(run.path), SLOW_START_SECONDS)
    return run, psutil.Process(run.status().pid)


def gone(process: psutil.Process) -> bool:
    return not process.is_running() or has_ended(process.pid)


def members(session: int) -> list[psutil.Process]:
    """Living processes of a session."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and not gone(process):
                found.append(process)
        except (OSError, psutil.Error):
            continue
    return found


@pytest.mark.parametrize("name", ["listening", pytest.param("deaf", marks=pytest.mark.slow), "deaf-loading", "saving"])
def test_a_stop_ends_the_process_in_time_also_one_that_does_not_listen(outputs, name):
    run, worker = started(outputs, name)
    asked = time.monotonic()
    run.request_stop()
    assert run.status().state == "stopping", "shown at once"
    wait_until(lambda: gone(worker), ALLOWED_SECONDS)
    assert time.monotonic() - asked < ALLOWED_SECONDS, f"the promise is {PROMISED_SECONDS} s"
    status = run.status()
    assert (status.state, status.reason) == ("stopped", "stopped")
    assert ("did not answer" in status.message) == name.startswith("deaf")
    assert not run.is_alive() and not (run.path / ".reserve").exists()
    if name.startswith("deaf"):
        assert "in hang" in run.log_tail(), "the log says where it was"
    if name == "saving":
        assert run.latest_checkpoint() is not None


@pytest.mark.slow
def test_a_checkpoint_that_is_being_written_is_waited_for(outputs, monkeypatch):
    monkeypatch.setenv("PLAYGROUND_TEST_SAVING_SECONDS", str(watch.GRACE_SECONDS + 4))
    run, worker = started(outputs, "saving")
    run.request_stop()
    wait_until(lambda: gone(worker), 60)
    assert run.latest_checkpoint() is not None, "longer than the grace"
    assert run.status().message == "Stopped after update 1."


def test_stopping_twice_and_stopping_what_has_ended_are_harmless(outputs):
    run, worker = started(outputs, "listening")
    run.request_stop()
    run.request_stop()
    worker.send_signal(signal.SIGTERM)
    wait_until(lambda: gone(worker), ALLOWED_SECONDS)
    end = run.status()
    assert end.state == "stopped"
    run.request_stop()
    assert processes.end(run).signals == ()
    assert run.status() == end


@pytest.mark.parametrize("name", ["family", pytest.param("deaf-family", marks=pytest.mark.slow)])
def test_what_a_worker_has_started_ends_with_it(outputs, name):
    run, worker = started(outputs, name)
    session = worker.pid
    assert len(members(session)) == 4, "the worker, a deaf child, an orphan, an ordinary child"
    run.request_stop()
    wait_until(lambda: not members(session), ALLOWED_SECONDS)
    assert run.status().state == "stopped"


def test_a_forked_child_does_not_keep_the_lock(outputs):
    outputs.mkdir()
    run = RunDirectory.create(outputs, small_config("x"), "r")
    lock = launcher.take_lock(run)
    child = os.fork()
    if not child:
        signal.pause()
        os._exit(0)
    try:
        assert run.is_alive()
        lock.close()
        wait_until(lambda: not run.is_alive())
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_end_by_force_ends_a_frozen_worker_and_its_family_and_says_so(outputs):
    run, worker = started(outputs, "family")
    other, other_worker = RunDirectory.create(outputs, small_config("other"), "other"), None
    session = worker.pid
    worker.suspend()
    ended = processes.end(run, grace_seconds=0.5)
    assert ended.signals == ("SIGTERM", "SIGKILL") and not ended.alive
    wait_until(lambda: not members(session))
    status = run.status()
    assert (status.state, status.reason) == ("stopped", "stopped") and "ended" in status.message
    assert other.status_on_disk().state == "queued" and other_worker is None


@pytest.mark.slow
def test_a_frozen_worker_is_called_stalled_and_then_well_again(outputs, monkeypatch, figure):
    monkeypatch.setattr(processes, "LEAST_SILENCE_SECONDS", 4.0)
    monkeypatch.setattr(processes, "GAPS_OF_PATIENCE", 0)
    run, worker = started(outputs, "listening")
    wait_until(lambda: not heartbeat.read(run.path).patient)
    assert processes.stalled(run) == 0
    worker.suspend()
    assert wait_until(lambda: processes.stalled(run), 20) > 4
    assert run.status().state == "running", "none is ended for being slow"
    worker.resume()
    wait_until(lambda: processes.stalled(run) == 0)
    alive = run.is_alive() and run.status().state == "running"
    figure("a worker that was suspended is shown as stalled, then as running", 1, int(alive))
    wait_until(lambda: heartbeat.read(run.path).longest_gap > 2)  # its last beat came a moment before it was noted
    worker.suspend()
    wait_until(lambda: processes.stalled(run), 20)
    processes.end(run, grace_seconds=0.1)
    assert run.status().reason == "stalled" and "not answered for" in run.status().message


@pytest.mark.parametrize("name", ["listening", pytest.param("deaf", marks=pytest.mark.slow)])
def test_a_run_that_is_renamed_while_it_trains_ends_where_it_is_and_says_why(outputs, name):
    run, worker = started(outputs, name)
    run.path.rename(outputs / "renamed")
    wait_until(lambda: gone(worker), ALLOWED_SECONDS)
    moved = RunDirectory.open(outputs / "renamed")
    status = moved.status_on_disk()
    assert (status.state, status.reason, status.update) == ("interrupted", "moved", 1) and status.resumable
    assert status.message.startswith("Its folder was renamed or moved after update 1, so ")
    assert moved.events()[-1].data["reason"] == "moved" and not (moved.path / ".reserve").exists()
    assert not run.path.exists(), "nothing is made anew under the old name"
    assert Supervisor(outputs).end_the_dead() == [] and moved.status_on_disk() == status


def test_the_worker_of_a_run_that_is_deleted_from_the_disk_leaves_and_writes_nothing(outputs):
    run, worker = started(outputs, "listening")
    shutil.rmtree(run.path)
    wait_until(lambda: gone(worker), ALLOWED_SECONDS)
    assert [path.name for path in outputs.iterdir() if not path.name.startswith(".")] == []
