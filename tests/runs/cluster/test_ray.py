"""Runs on a Ray cluster of this machine: a head that computes nothing, and two nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from ray.cluster_utils import Cluster

from playground.errors import BackendUnavailable
from playground.runs import launcher
from playground.runs.cluster import driver, handing
from playground.runs.cluster.backend import job_of, options_of
from playground.runs.cluster.ray_backend import RayBackend
from playground.runs.folder import changes
from playground.runs.folder.directory import RunDirectory
from tests.faults.resuming import config, figures, tiny_model, weights
from tests.runs.cluster.driving import driving, handed_over
from tests.support import wait_until

FAST = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 1000, "health_check_failure_threshold": 4}
SMALL = {"object_store_memory": 80_000_000, "include_dashboard": False}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": FAST, **SMALL})
    for _ in range(2):
        made.add_node(num_cpus=2, num_gpus=0, **SMALL)
    yield made
    made.shutdown()


@pytest.fixture
def backend(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[RayBackend]:
    monkeypatch.setattr(handing, "ensure_driver", lambda *_: None)
    made = RayBackend(options_of([f"address={cluster.address}"]))
    yield made
    for name in made.states():
        made.cancel(name)
    made.close()


def node_of(cluster: Cluster, run: RunDirectory) -> Any:
    """The node whose processes the worker is below."""
    above = {parent.pid for parent in psutil.Process(run.status().pid).parents()}
    return next(node for node in cluster.worker_nodes if node.all_processes["raylet"][0].process.pid in above)


def test_runs_outlive_their_node_and_their_driver(
    backend: RayBackend, cluster: Cluster, outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "GONE_SECONDS", 1.0)
    made = config(tiny_model(tmp_path / "model"), ppo__num_updates=4)
    stopped, *runs = (handed_over(outputs, made, name) for name in ("a", "b", "c", "d"))
    for run in (stopped, *runs):
        changes.request_step(run)  # one update, and then a pause
    with driving(outputs, backend):
        wait_until(lambda: all(run.status().state == "paused" for run in (stopped, *runs)), 120)
        launcher.stop(stopped)
        wait_until(lambda: stopped.status().ended)
    assert (stopped.status().state, stopped.status().message) == ("stopped", "Stopped after update 1.")
    doomed = node_of(cluster, runs[0])
    lost = [run for run in runs if node_of(cluster, run) is doomed]
    cluster.remove_node(doomed, allow_graceful=False)
    wait_until(lambda: len(backend.states()) == len(runs) - len(lost), 60)
    assert all(run.status().state == "paused" for run in runs), "nobody drives them now"
    with driving(outputs, backend):
        for run in runs:
            changes.request_resume(run) if run not in lost else None
        wait_until(lambda: all(run.status().ended for run in runs), 180)
    assert [run.status().state for run in runs] == ["finished"] * 3
    assert [run.status().attempt for run in runs] == [2 if run in lost else 1 for run in runs]
    assert all(weights(run) == weights(runs[0]) != {} and figures(run) == figures(runs[0]) for run in runs)


def test_a_node_that_does_not_see_the_folder_lets_go_of_its_job(
    backend: RayBackend, outputs: Path, tmp_path: Path
) -> None:
    run = handed_over(outputs)
    job = job_of(run, 1, options_of([]))
    run.path.rename(tmp_path / "away")
    backend.submit(job)
    wait_until(lambda: job.name not in backend.states())


def test_a_cluster_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: Any) -> None:
        raise ConnectionError("Could not find any running Ray instance.\nAnd much more.")

    monkeypatch.setattr("ray.init", refused)
    with pytest.raises(BackendUnavailable, match=r"at nowhere:1 \(Could not find any running Ray instance\.\)"):
        RayBackend(options_of(["address=nowhere:1"]))
