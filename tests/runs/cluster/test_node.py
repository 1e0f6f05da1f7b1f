"""What is started on a node: the ordinary worker, in the folder that both sides see."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from playground.errors import RunNotFound
from playground.runs import lifeline
from playground.runs.cluster import handing, node
from playground.runs.folder.directory import RunDirectory
from tests.runs.cluster.driving import handed_over
from tests.support import small_config, wait_until

pytestmark = pytest.mark.usefixtures("fake_worker")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a node changes of its process is put back, and no driver is started."""
    monkeypatch.setenv(lifeline.POLICY_VARIABLE, "survive")
    monkeypatch.setattr(handing, "ensure_driver", lambda *_: None)


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
    assert run.status().state == "queued" and not run.log_path.exists()
    computed(run).join()
    computed(run).join()
    assert len(run.metrics()) == 3, "nor does the second of two that were submitted for one"


def test_a_worker_ends_before_the_time_of_its_job_is_up(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "LOOK_SECONDS", 0.05)
    run = handed_over(outputs, small_config("wait"))
    computed(run, 1, 4.0).join()
    assert run.status_on_disk().reason == "killed", "a worker by script saves nothing"


def test_a_worker_that_is_killed_is_told_of(outputs: Path) -> None:
    run = handed_over(outputs, small_config("wait"))
    thread = computed(run)
    wait_until(lambda: run.status().state == "running")
    os.kill(run.status().pid, signal.SIGKILL)
    thread.join()
    assert run.status_on_disk().reason == "killed" and run.status().state == "queued"


def test_a_node_that_does_not_see_the_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(RunNotFound):
        node.compute(tmp_path / "not-there", 1)
