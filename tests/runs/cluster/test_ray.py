"""Runs on a Ray cluster of this machine: a head that computes nothing, and two nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from ray.cluster_utils import Cluster

from playground.runs import launcher
from playground.runs.cluster import look_after, remote_jobs
from playground.runs.cluster.backend import options_of
from playground.runs.cluster.ray_backend import RayBackend
from playground.runs.folder import changes
from playground.runs.folder.directory import RunDirectory
from tests.faults.resuming import config, tiny_model
from tests.runs.cluster.scripted import connect, handed_over
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
    made = RayBackend(options_of([f"address={cluster.address}"]))
    connect(monkeypatch, made)
    yield made
    for name in made.states():
        made.cancel(name)


def node_of(cluster: Cluster, run: RunDirectory) -> Any:
    """The node whose processes the worker is below."""
    above = {parent.pid for parent in psutil.Process(run.status().pid).parents()}
    return next(node for node in cluster.worker_nodes if node.all_processes["raylet"][0].process.pid in above)


def test_a_run_is_computed_on_a_node_and_ends_with_it(
    backend: RayBackend, cluster: Cluster, outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_jobs, "GONE_SECONDS", 0.0)
    made = config(tiny_model(tmp_path / "model"), ppo__num_updates=4)
    stopped, lost = (handed_over(outputs, made, name) for name in ("a", "b"))
    for run in (stopped, lost):
        changes.request_step(run)  # one update, and then a pause
    wait_until(lambda: stopped.status().state == lost.status().state == "paused", 120)
    launcher.stop(stopped)
    wait_until(lambda: stopped.status().ended, 120)
    assert (stopped.status().state, stopped.status().message) == ("stopped", "Stopped after update 1.")
    look_after(outputs)
    assert lost.status().state == "paused"
    cluster.remove_node(node_of(cluster, lost), allow_graceful=False)
    wait_until(lambda: backend.states() == {}, 60)
    wait_until(lambda: look_after(outputs) or lost.status().ended, 60)
    assert lost.status().reason in ("place_lost", "server_lost")
    assert lost.status().resumable
