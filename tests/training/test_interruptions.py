"""What breaks a run off between two micro-batches: somebody's request, or its own time limit."""

import pytest

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.training.process import watch
from playground.training.process.ending import StopRequested, reported
from playground.training.process.watch import WorkerWatch
from tests.support import small_config


@pytest.fixture
def run(outputs):
    return RunDirectory.create(outputs, small_config(), "r")


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    now = [1000.0]
    monkeypatch.setattr(watch.heartbeat, "now", lambda: now[0])
    return now


def test_the_limit_counts_from_the_start_of_the_process_and_in_minutes(run, clock):
    between = WorkerWatch(RunWriter(run, 10), max_minutes=0.5).between
    clock[0] += 29.9
    between()
    clock[0] += 0.1
    with pytest.raises(StopRequested) as caught:
        between()
    assert caught.value.reason == "time_limit"


def test_without_a_limit_only_a_request_breaks_off(run, clock):
    between = WorkerWatch(RunWriter(run, 10)).between
    clock[0] += 1e9
    between()
    run.request_stop()
    with pytest.raises(StopRequested) as caught:
        between()
    assert caught.value.reason == "stopped"


@pytest.mark.parametrize(("minutes", "words"), [(1, "1 minute (max_minutes)"), (30, "30 minutes (max_minutes)")])
def test_the_end_says_that_the_time_is_up_and_after_which_update(run, clock, minutes, words):
    writer = RunWriter(run, 10)
    writer.set_status(update=7)
    with reported(writer):
        between = WorkerWatch(writer, max_minutes=minutes).between
        clock[0] += 60 * minutes
        between()
    status = run.status()
    assert (status.state, status.reason, status.update) == ("stopped", "time_limit", 7)
    assert words in status.message and status.message.endswith("after update 7.")
