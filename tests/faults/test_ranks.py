"""A run that two processes compute: stopped, paused, robbed of its helper, taken up by one process and by two again."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from safetensors.torch import load_file

from playground.config import RunConfig
from playground.runs import launcher
from playground.runs.folder import changes, processes
from playground.runs.folder.directory import RunDirectory
from tests.faults import resuming
from tests.forking import Forker
from tests.support import has_ended, wait_until

SECONDS = 120
MANY = 60  # updates: more than a test waits for


@pytest.fixture
def outputs(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "outputs"
    folder.mkdir()
    yield folder
    for run in launcher.living_runs(folder):
        processes.end(run, grace_seconds=0)


def config(**changed: object) -> RunConfig:
    settings = {"ranks": 2, "ppo__num_updates": MANY, "ppo__learning_rate": 3e-4, **changed}
    return resuming.config("pocket-1m", **settings)


def start(outputs: Path, forker: Forker, name: str = "two", **changed: object) -> RunDirectory:
    return launcher.start(config(**changed), outputs, name, spawn=forker.spawn).run


def with_updates(run: RunDirectory, number: int) -> RunDirectory:
    wait_until(lambda: run.status().ended or len(run.metrics()) >= number, SECONDS)
    assert len(run.metrics()) >= number, (run.status(), run.log_tail())
    return run


def helper_of(run: RunDirectory) -> psutil.Process | None:
    children = psutil.Process(run.status_on_disk().pid).children()
    return next((child for child in children if any("spawn_main" in word for word in child.cmdline())), None)


def test_it_stops_with_a_checkpoint_pauses_takes_changes_and_leaves_no_process(outputs: Path, forker: Forker) -> None:
    run = with_updates(start(outputs, forker), 2)
    helper = helper_of(run)
    changes.request_pause(run)
    wait_until(lambda: run.status().state == "paused")
    done = run.status().update
    changes.request_edits(run, [changes.Edit("kl.coef", 0.7)])
    changes.request_step(run)
    wait_until(lambda: run.status().update == done + 1 and run.status().state == "paused")
    assert run.metrics()[-1].kl_coef == 0.7
    changes.request_resume(run)
    with_updates(run, done + 3)
    run.request_stop()
    wait_until(lambda: run.status().ended and not run.is_alive())
    assert (run.status().state, run.status().reason) == ("stopped", "stopped"), run.log_tail()
    assert run.latest_checkpoint() is not None
    wait_until(lambda: has_ended(helper.pid))


def test_a_helper_that_is_ended_ends_the_run_with_its_reason(outputs: Path, forker: Forker) -> None:
    run = with_updates(start(outputs, forker), 2)
    helper_of(run).kill()
    wait_until(lambda: run.status().ended and not run.is_alive())
    status = run.status()
    assert (status.state, status.reason) == ("interrupted", "helper_lost"), run.log_tail()
    assert "Process 1 of the 2" in status.message
    assert "SIGKILL" in status.message
    assert run.latest_checkpoint() is not None


def test_no_helper_outlives_a_worker_that_was_killed(outputs: Path, forker: Forker) -> None:
    """Also not one that still waits for the others: nothing but the pipe tells it."""
    run = start(outputs, forker)
    helper = wait_until(lambda: helper_of(run))
    os.kill(run.status_on_disk().pid, signal.SIGKILL)
    wait_until(lambda: has_ended(helper.pid))


@pytest.mark.nightly
def test_two_processes_begin_one_goes_on_and_two_end_it(outputs: Path, forker: Forker) -> None:
    short = {"ppo__num_updates": 8, "checkpoint__keep": 9}
    whole = RunDirectory.create(outputs, config(**short, ranks=1), "whole")
    resuming.attempt(whole)
    run = start(outputs, forker, **short)
    for ranks, until in ((1, 2), (2, 5)):
        with_updates(run, until)
        run.request_stop()
        wait_until(lambda: run.status().ended and not run.is_alive())
        assert run.status().reason == "stopped", (run.status(), run.log_tail())
        run.config_path.write_text(run.config().model_copy(update={"ranks": ranks}).to_yaml(), encoding="utf-8")
        launcher.resume(run, spawn=forker.spawn)
    wait_until(lambda: run.status().ended and not run.is_alive(), SECONDS)
    assert run.status().state == "finished" and run.status().attempt == 3, run.log_tail()
    assert run.config().ranks == 2
    one, two = (load_file(item.checkpoints_path / "update-000008" / "model.safetensors") for item in (whole, run))
    assert max(float((one[name] - two[name]).abs().max()) for name in one) < 1e-5
