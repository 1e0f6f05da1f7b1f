"""What becomes of a run when the server that started it dies, under both policies."""

import os
import signal

import psutil
import pytest

from playground.errors import InvalidConfig
from playground.runs import launcher, lifeline
from playground.runs.folder import heartbeat, processes
from playground.runs.folder.directory import RunDirectory
from playground.runs.standby import StandbyWorker
from tests.faults.test_ends import gone, members
from tests.support import small_config, wait_until

WORKER = "tests.faults.scripted_worker"


@pytest.fixture
def start_server(outputs, scripted):
    """A server with one run in training, of this name and under this policy."""
    servers = []

    def start(name, policy):
        environment = {**os.environ, lifeline.POLICY_VARIABLE: policy}
        servers.append(scripted.fork("tests.faults.driver", [WORKER, str(outputs), name], environment, output=1))
        run = RunDirectory(outputs / name)
        wait_until(lambda: run.status_path.exists() and run.status().phase == "training" and heartbeat.read(run.path))
        return servers[0], run

    yield start
    for server in servers:
        server.kill()


@pytest.mark.parametrize(
    ("name", "how"), [("family", signal.SIGTERM), ("deaf-family", signal.SIGKILL), ("saving", signal.SIGKILL)]
)
def test_a_run_bound_to_its_server_ends_with_it_and_nothing_is_left(start_server, name, how, figure):
    server, run = start_server(name, "die")
    session = run.status().pid
    assert heartbeat.read(run.path).on_server_death == "die"
    assert members(session)
    server.send_signal(how)
    server.wait()
    wait_until(lambda: not members(session))
    status = run.status()
    assert (status.state, status.reason) == ("interrupted", "server_lost"), status
    assert name != "saving" or run.latest_checkpoint() is not None
    figure(f"server dies ({how.name}), policy die, worker {name}: no process left", 1, int(not members(session)))


def test_a_run_survives_its_server_by_default(start_server):
    server, run = start_server("listening", "")
    worker = psutil.Process(run.status().pid)
    server.kill()
    server.wait()
    before = heartbeat.read(run.path).beat
    wait_until(lambda: heartbeat.read(run.path).beat > before + 2)
    assert run.status().state == "running"
    assert heartbeat.read(run.path).on_server_death == "survive"
    run.request_stop()
    wait_until(lambda: gone(worker))
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
    process.wait(60)
    assert not run.is_alive()
    assert launcher.living_runs(outputs) == []
