"""What becomes of a run when the server that started it dies, under both policies; and of status files that name
processes which are not their workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import psutil
import pytest

from playground.errors import InvalidConfig
from playground.runs import launcher, lifeline
from playground.runs.folder import heartbeat, processes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.standby import StandbyWorker
from playground.runs.supervisor import Supervisor
from tests.faults.test_ends import ALLOWED_SECONDS, gone, members
from tests.figures import Figure
from tests.support import PROJECT, small_config, wait_until

WORKER = "tests.faults.scripted_worker"


def server(outputs: Path, name: str, policy: str) -> tuple[subprocess.Popen[str], RunDirectory]:
    """A server with one run in training."""
    command = [sys.executable, "-m", "tests.faults.server_process", str(outputs), name, WORKER]
    environment = {**os.environ, lifeline.POLICY_VARIABLE: policy}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT, env=environment)
    assert process.stdout is not None
    run = RunDirectory(process.stdout.readline().strip())
    wait_until(lambda: run.status().phase == "training" and heartbeat.read(run.path), 60)
    return process, run


SLOW = [("deaf-family", signal.SIGKILL), ("saving", signal.SIGKILL)]


@pytest.mark.parametrize(
    ("name", "how"), [("family", signal.SIGTERM), *(pytest.param(*pair, marks=pytest.mark.slow) for pair in SLOW)]
)
def test_a_run_bound_to_its_server_ends_with_it_and_nothing_is_left(outputs, name, how, figure):
    process, run = server(outputs, name, "die")
    session = run.status().pid
    assert heartbeat.read(run.path).on_server_death == "die" and members(session)
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
    assert run.status().state == "running" and heartbeat.read(run.path).on_server_death == "survive"
    run.request_stop()
    wait_until(lambda: gone(worker), ALLOWED_SECONDS)
    assert run.status().state == "stopped"


def test_a_policy_that_there_is_not_is_refused_by_name(monkeypatch):
    monkeypatch.setenv(lifeline.POLICY_VARIABLE, "die")
    with pytest.raises(InvalidConfig, match="survive, die"):
        lifeline.choose("perhaps")
    assert lifeline.policy() == "die", "the one before holds"
    lifeline.choose("survive")
    assert lifeline.policy() == "survive" and lifeline.for_worker() == {lifeline.SERVER_VARIABLE: ""}


def test_a_run_whose_worker_still_warms_up_can_be_ended(outputs):
    standby = StandbyWorker()
    standby.prepare()
    run, process = launcher.start(small_config(), outputs, "cold", standby.worker_for)
    assert processes.end(run, grace_seconds=0).signals[0] == "SIGTERM"
    process.wait(ALLOWED_SECONDS)
    assert not run.is_alive() and launcher.living_runs(outputs) == []


@pytest.fixture
def innocent() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with any run."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def no_signals(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every way to signal a process raises, and is noted."""
    sent: list[str] = []

    def refuse(name: str) -> Callable[..., NoReturn]:
        def raise_(*arguments: object) -> NoReturn:
            sent.append(f"{name}{arguments}")
            raise AssertionError(f"{name} was called with {arguments}")

        return raise_

    for module, name in [(os, "kill"), (os, "killpg"), (signal, "pidfd_send_signal")]:
        monkeypatch.setattr(module, name, refuse(name), raising=False)
    for name in ("send_signal", "terminate", "kill", "suspend"):
        monkeypatch.setattr(psutil.Process, name, refuse(name))
    return sent


def test_runs_whose_status_files_name_other_processes_are_ended_and_no_signal_is_sent(
    outputs: Path, innocent: subprocess.Popen[bytes], no_signals: list[str], figure: Figure
) -> None:
    begun, own = psutil.Process(innocent.pid).create_time(), psutil.Process().create_time()
    named = {"pid-0": (0, 0.0), "pid-1": (1, psutil.Process(1).create_time()), "pid-minus-1": (-1, 0.0)}
    named |= {"our-own": (os.getpid(), own), "innocent": (innocent.pid, begun), "huge": (2**40, 0.0)}
    named["reused"] = innocent.pid, begun - 1000.0
    good = 0
    for name, (pid, started_at) in named.items():
        run = RunDirectory.create(outputs, small_config(), name)
        changes = {"state": "running", "pid": pid, "pid_started_at": started_at, "updated_at": time.time()}
        write_atomically(run.status_path, run.status_on_disk().model_copy(update=changes).model_dump_json())
        seen = run.status().state
        Supervisor(outputs).look()
        on_disk = run.status_on_disk()
        good += (seen, on_disk.state, on_disk.reason) == ("interrupted", "interrupted", "killed")
    assert no_signals == [] and innocent.poll() is None
    figure("stale status files (pid 0, 1, -1, our own, innocent, reused, huge): ended, no signal", len(named), good)
