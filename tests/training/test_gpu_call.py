"""One attempt where there is a GPU for seconds: it ends with its time, and leaves the process as it was."""

import os
import signal
import threading

import pytest
import torch

from playground import worker
from playground.errors import RunBusy
from playground.runs import launcher, queue
from playground.runs.spawning import Elsewhere
from tests.faults import resuming
from tests.support import at_once

SLOT = "zerogpu"


@pytest.fixture
def waiting(outputs, tmp_path, monkeypatch):
    """A run for which a GPU was called."""
    monkeypatch.setattr(worker.redaction, "cover_streams", lambda: None)
    monkeypatch.setattr(worker, "print_into", os.close)
    called = []
    config = resuming.config(resuming.tiny_model(tmp_path / "model"))
    run, process = launcher.start(config, outputs, "run", workers=Elsewhere(SLOT, lambda run: called.append(run.id)))
    assert process is None
    assert called == queue.waiting(outputs) == ["run"]
    return run


def attempt(run, seconds):
    """As a fork makes it: in another thread than the process's first."""
    states = []
    threads = torch.get_num_threads()
    at_once(lambda: states.append(worker.attempt(str(run.path), seconds)))
    torch.set_num_threads(threads)
    return states[0]


def test_an_attempt_ends_with_its_time_and_the_next_one_goes_on(waiting):
    handler = signal.getsignal(signal.SIGTERM)
    assert attempt(waiting, 0.0) == "stopped"
    status = waiting.status()
    assert status.reason == "time_limit"
    assert "(max_minutes) was reached after update 0" in status.message
    assert not waiting.is_alive()
    assert not waiting.queue_path.exists()
    again = []
    launcher.resume(waiting, workers=Elsewhere(SLOT, again.append))
    assert [run.id for run in again] == queue.waiting(waiting.path.parent) == ["run"]
    assert attempt(waiting, 1e6) == "finished"
    assert waiting.status().attempt == 2
    assert len(waiting.metrics()) == resuming.UPDATES
    assert signal.getsignal(signal.SIGTERM) is handler
    assert not [thread for thread in threading.enumerate() if thread.name == "watch"]


def test_a_run_that_was_stopped_while_it_waited_is_left_alone(waiting):
    launcher.stop(waiting)
    assert attempt(waiting, 60.0) == "stopped"
    assert waiting.status().message == "Stopped while it waited in the queue."
    assert not waiting.log_path.exists()  # no attempt has begun


def test_an_attempt_beside_another_process_at_work_is_refused(waiting, monkeypatch):
    monkeypatch.setattr(launcher, "LOCK_PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(queue, "waiting", lambda outputs: ["run"])  # it has just been taken by another process
    with open(waiting.lock_path, "wb") as lock:
        launcher.take(lock)
        with pytest.raises(RunBusy):
            worker.attempt(str(waiting.path), 60.0)
    assert waiting.status().state == "queued"
    assert launcher.LOCK_FD_VARIABLE not in os.environ
