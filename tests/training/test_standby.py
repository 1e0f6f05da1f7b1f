"""The worker that waits for its run: as good as a new one, and never in the way."""

import os
import signal
import subprocess
import sys

import pytest

from playground import worker
from playground.runs import children, launcher
from playground.runs.folder import processes
from playground.runs.standby import StandbyWorker
from playground.runs.supervisor import Supervisor
from playground.ui.feed import run_state
from tests.support import PROJECT, has_ended, small_config, wait_until
from tests.training import small_run

HANG_SECONDS = 120


@pytest.fixture
def standby():
    standby = StandbyWorker()
    yield standby
    standby.close()


@pytest.fixture
def forked(forker, monkeypatch):
    """The waiting process is forked from one that has imported everything."""

    def new_process(module, *, descriptor, variable, output):
        with os.fdopen(os.dup(descriptor), "rb") as channel, open(os.devnull, "wb") as nothing:
            return forker.fork(__name__, [variable], children.torch_environment(), nothing.fileno(), channel)

    monkeypatch.setattr(children, "new_process", new_process)


def main(arguments):
    """In the forked process: the environment that a new one would have."""
    os.environ[arguments[0]] = os.environ.pop(launcher.LOCK_FD_VARIABLE)
    return worker.main([])


def test_the_waiting_process_becomes_the_worker_of_the_run(forked, standby, outputs):
    standby.prepare()
    waiting = standby.pid
    standby.prepare()
    assert standby.pid == waiting, "one at a time"
    run, process = launcher.start(small_run.config(), outputs, "one", workers=standby)
    assert process.pid == waiting
    assert standby.pid is None
    assert run.is_alive(), "also while it is still importing"
    assert process.wait(HANG_SECONDS) == 0, run.log_tail()
    assert (run.status().state, run.status().pid, run.status().update) == ("finished", waiting, 2)
    assert not run.is_alive()
    assert launcher.living_runs(outputs) == []


def test_where_the_waiting_process_has_died_a_new_one_is_started(standby, outputs, fake_worker):
    standby.prepare()
    os.kill(standby.pid, signal.SIGKILL)
    wait_until(lambda: standby.pid is None)
    run, process = launcher.start(small_config("finish"), outputs, "one", workers=standby)
    assert (process.wait(HANG_SECONDS), run.status().state) == (0, "finished")


def test_a_worker_frozen_before_its_first_word_is_called_stalled_and_can_be_ended(
    standby, outputs, fake_worker, monkeypatch
):
    """Stopped in the moment of the hand-over: the run's lock lies in its channel, and it has written nothing."""
    monkeypatch.setattr(processes, "FIRST_WORD_SECONDS", 0.2)
    standby.prepare()
    waiting = standby.pid
    os.kill(waiting, signal.SIGSTOP)
    run, process = launcher.start(small_config(), outputs, "one", workers=standby)
    status = run.status()
    assert (status.state, status.pid) == ("queued", waiting)
    assert run.is_alive()
    wait_until(lambda: processes.stalled(run) > 0.2)
    assert run_state.of(run, run.status()).silent is not None
    launcher.stop(run)
    assert run.status().state == "stopping"
    ended = processes.end(run, grace_seconds=0.1)
    assert not ended.alive
    assert ended.signals == ("SIGTERM", "SIGKILL")
    assert process.wait(HANG_SECONDS) == -signal.SIGKILL
    Supervisor(outputs).look()
    assert (run.status_on_disk().state, run.status_on_disk().reason) == ("interrupted", "stalled")


def test_the_waiting_process_does_not_outlive_the_web_process():
    code = (
        "import os; from playground.runs.standby import StandbyWorker; "
        "standby = StandbyWorker(); standby.prepare(); print(standby.pid, flush=True); os._exit(1)"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True)
    pid = int(answer.stdout)
    wait_until(lambda: has_ended(pid))
