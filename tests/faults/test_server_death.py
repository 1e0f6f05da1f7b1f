"""What becomes of a run when the server that started it dies, under both policies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from playground.errors import InvalidConfig
from playground.runs import launcher, lifeline
from playground.runs.folder import heartbeat, processes
from playground.runs.folder.directory import RunDirectory
from playground.runs.standby import StandbyWorker
from tests.faults.test_ends import ALLOWED_SECONDS, gone, members
from tests.support import PROJECT, small_config, wait_until

WORKER = "tests.faults.scripted_worker"


def server(outputs: Path, name: str, policy: str) -> tuple[subprocess.Popen[str], RunDirectory]:
    """A server with one run in training."""
    command = [sys.executable, "-m", "tests.faults.driver", WORKER, "one", str(outputs), name]
    environment = {**os.environ, lifeline.POLICY_VARIABLE: policy}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT, env=environment)
    assert process.stdout is not None
    run = RunDirectory(process.stdout.readline().strip())
    wait_until(lambda: run.status().phase == "training" and heartbeat.read(run.path), 60)
    return process, run


SLOW = [("deaf-family", signal.SIGKILL), ("saving", signal.SIGKILL)]


@pytest.mark.parametrize(
    ("name", "how"), [("family", signal.SIGTERM), *(pytest.param(*pair, marks=pytest.mark.nightly) for pair in SLOW)]
)
def test_a_run_bound_to_its_server_ends_with_it_and_nothing_is_left(outputs, name, how, figure):
    process, run = server(outputs, name, "die")
    session = run.status().pid
    assert heartbeat.read(run.path).on_server_death == "die"
    assert members(session)
    process.send_signal(how)
    process.wait(10)
    wait_until(lambda: not members(session), ALLOWED_SECONDS)
    status = run.status()
    assert (status.state, status.reason) == ("interrupted", "server_lost"), status
    assert name != "saving" or run.latest_checkpoint() is not None
    figure(f"server dies ({how.name}), policy die, worker {name}: no process left", 1, int(not members(session)))


def test_a_run_survives_its_server_by_default(outputs):
    process, run = server(outputs, "listening", "")
    worker = psutil.Process(run.status().pid)
    process.kill()
    process.wait(10)
    before = heartbeat.read(run.path).beat
    wait_until(lambda: heartbeat.read(run.path).beat > before + 2, 30)
    assert run.status().state == "running"
    assert heartbeat.read(run.path).on_server_death == "survive"
    run.request_stop()
    wait_until(lambda: gone(worker), ALLOWED_SECONDS)
    assert run.status().state == "stopped"


def test_a_policy_that_there_is_not_is_refused_by_name(monkeypatch):
    monkeypatch.setenv(lifeline.POLICY_VARIABLE, "die")
    with pytest.raises(InvalidConfig, match="survive, die"):
        lifeline.choose("perhaps")
    assert lifeline.policy() == "die", "the one before holds"
    lifeline.choose("survive")
    assert lifeline.policy() == "survive"
    assert lifeline.for_worker() == {lifeline.SERVER_VARIABLE: ""}


def test_a_run_whose_worker_still_warms_up_can_be_ended(outputs):
    standby = StandbyWorker()
    standby.prepare()
    run, process = launcher.start(small_config(), outputs, "cold", standby.worker_for)
    assert processes.end(run, grace_seconds=0).signals[0] == "SIGTERM"
    process.wait(ALLOWED_SECONDS)
    assert not run.is_alive()
    assert launcher.living_runs(outputs) == []
