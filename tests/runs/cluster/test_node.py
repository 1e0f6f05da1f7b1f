"""What is started on a node: the ordinary worker, in the folder that both sides see."""

import threading

import pytest

from playground.runs import lifeline
from playground.runs.cluster import node
from tests.runs.cluster.scripted import Scripted, connect, handed_over
from tests.support import small_config

pytestmark = pytest.mark.usefixtures("fake_worker")


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """What a node changes of its process is put back, and nothing is submitted."""
    monkeypatch.setenv(lifeline.POLICY_VARIABLE, "survive")
    connect(monkeypatch, Scripted())


def compute(run, attempt=1, *seconds):
    """As a node does it, but not in the first thread of a process."""
    thread = threading.Thread(target=node.compute, args=(run.path, attempt, *seconds))
    thread.start()
    thread.join()


@pytest.mark.parametrize(
    ("does", "state", "reason"),
    [("finish", "finished", ""), ("fail", "failed", "out_of_memory"), ("crash", "failed", "bug")],
)
def test_a_run_ends_there_as_it_would_here(outputs, does, state, reason):
    run = handed_over(outputs, small_config(does))
    compute(run)
    assert (run.status().state, run.status().reason, run.is_alive()) == (state, reason, False)
    assert "fake worker's last words" in run.log_tail()
    assert does != "crash" or "exit code 9" in run.status().message  # which only the node has seen


@pytest.mark.parametrize("attempt", [0, 2])
def test_a_job_whose_attempt_is_not_asked_for_does_nothing(outputs, attempt, monkeypatch):
    monkeypatch.setattr(node, "STALE_SECONDS", 0.0)
    run = handed_over(outputs, small_config())
    compute(run, attempt)
    assert run.status().state == "queued"
    assert not run.log_path.exists()
    compute(run)
    compute(run)
    assert len(run.metrics()) == 3, "nor does the second of two that were submitted for one"


def test_a_worker_ends_before_the_time_of_its_job_is_up(outputs, monkeypatch):
    monkeypatch.setattr(node, "LOOK_SECONDS", 0.05)
    run = handed_over(outputs, small_config("wait"))
    compute(run, 1, 4.0)
    assert run.status_on_disk().reason == "killed", "a worker by script saves nothing"
