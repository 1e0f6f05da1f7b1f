"""What becomes of a run when the server that started it dies, under both policies; and of status files that name
processes which are not their workers."""

from __future__ import annotations

import os
import select
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
from playground.runs.folder import heartbeat, processes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.start import launcher, lifeline, standby
from playground.runs.start.standby import StandbyWorker
from playground.runs.supervisor import Supervisor
from tests.faults.test_ends import ALLOWED_SECONDS, gone, members
from tests.figures import Figure
from tests.support import PROJECT, has_ended, small_config, wait_until

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


def test_a_forked_child_of_the_server_does_not_keep_its_runs_alive(monkeypatch):
    monkeypatch.setenv(lifeline.POLICY_VARIABLE, "die")
    handed = lifeline.for_worker()
    reading = os.dup(handed.descriptors[0])
    child = os.fork()
    if not child:
        signal.pause()
        os._exit(0)
    try:
        lifeline.let_go()
        closed, _, _ = select.select([reading], [], [], 10)
        assert closed and os.read(reading, 1) == b"", "the child would hold the other end"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)


def test_a_policy_that_there_is_not_is_refused_by_name(monkeypatch):
    monkeypatch.setenv(lifeline.POLICY_VARIABLE, "die")
    with pytest.raises(InvalidConfig, match="survive, die"):
        lifeline.choose("perhaps")
    assert lifeline.policy() == "die", "the one before holds"
    lifeline.choose("survive")
    assert lifeline.policy() == "survive" and lifeline.for_worker().descriptors == ()


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> StandbyWorker:
    """A standby worker that still warms up."""
    monkeypatch.setattr(standby, "STANDBY_MODULE", "tests.faults.cold_standby")
    made = StandbyWorker()
    made.prepare()
    return made


def test_a_standby_that_still_warms_up_ends_with_its_server_and_when_it_is_closed(cold):
    code = (
        "import os, time\nfrom playground.runs.start import standby\n"
        "standby.STANDBY_MODULE = 'tests.faults.cold_standby'\n"
        "made = standby.StandbyWorker()\nmade.prepare()\nprint(made.pid, flush=True)\ntime.sleep(0.7)\nos._exit(0)"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, timeout=240)
    wait_until(lambda: has_ended(int(answer.stdout)), ALLOWED_SECONDS)
    pid = cold.pid
    cold.close()
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize("how", ["asked", "by force"])
def test_a_run_whose_worker_still_warms_up_can_be_ended(how, outputs, cold):
    run, process = launcher.start(small_config(), outputs, "cold", cold.worker_for)
    wait_until(lambda: run.status().state == "starting", 30)
    if how == "asked":
        launcher.stop(run)
        assert process.wait(ALLOWED_SECONDS) == 3
        assert (run.status().state, run.status().reason) == ("stopped", "stopped")
    else:
        assert processes.end(run, grace_seconds=0).signals == ("SIGTERM",)
        process.wait(ALLOWED_SECONDS)
    assert not run.is_alive() and launcher.living_run(outputs) is None


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
