"""What is started on a node: the ordinary worker, in the folder that both sides see."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from playground.runs import lifeline
from playground.runs.cluster import node
from playground.runs.folder.directory import RunDirectory
from tests.runs.cluster.scripted import Scripted, connect, handed_over
from tests.support import small_config

pytestmark = pytest.mark.usefixtures("fake_worker")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a node changes of its process is put back, and nothing is submitted."""
    monkeypatch.setenv(lifeline.POLICY_VARIABLE, "survive")
    connect(monkeypatch, Scripted())


def computed(run: RunDirectory, *arguments: float) -> threading.Thread:
    thread = threading.Thread(target=node.compute, args=(run.path, *(arguments or (1,))))
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("does", "state", "reason"),
    [("finish", "finished", ""), ("fail", "failed", "out_of_memory"), ("crash", "failed", "bug")],
)
def test_a_run_ends_there_as_it_would_here(outputs: Path, does: str, state: str, reason: str) -> None:
    run = handed_over(outputs, small_config(does))
    computed(run).join()
    assert (run.status().state, run.status().reason, run.is_alive()) == (state, reason, False)
    assert "fake worker's last words" in run.log_tail()
    assert does != "crash" or "exit code 9" in run.status().message  # which only the node has seen


@pytest.mark.parametrize("attempt", [0, 2])
def test_a_job_whose_attempt_is_not_asked_for_does_nothing(
    outputs: Path, attempt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "STALE_SECONDS", 0.0)
    run = handed_over(outputs, small_config())
    computed(run, attempt).join()
    assert run.status().state == "queued"
    assert not run.log_path.exists()
    computed(run).join()
    computed(run).join()
    assert len(run.metrics()) == 3, "nor does the second of two that were submitted for one"


def test_a_worker_ends_before_the_time_of_its_job_is_up(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "LOOK_SECONDS", 0.05)
    run = handed_over(outputs, small_config("wait"))
    computed(run, 1, 4.0).join()
    assert run.status_on_disk().reason == "killed", "a worker by script saves nothing"
