"""Runs on a Ray cluster of this machine: a head that computes nothing, and two nodes."""

import psutil
import pytest
from ray.cluster_utils import Cluster

from playground.runs import launcher
from playground.runs.cluster import elsewhere, look_after, remote_jobs
from playground.runs.cluster.backend import options_of
from playground.runs.cluster.ray_backend import RayBackend
from playground.runs.folder import changes
from tests.faults.resuming import alone, apart, config, tiny_model
from tests.runs.cluster.scripted import connect, handed_over
from tests.support import data_beside, wait_until

# A node that is gone fails a check at once; one that is slow has ten seconds for each.
FAST = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 5}
FAST["health_check_timeout_ms"] = 10_000
SETTINGS = data_beside(__file__, "several.yaml")
SMALL = {"object_store_memory": 80_000_000, "include_dashboard": False}


@pytest.fixture(scope="module")
def cluster():
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": FAST, **SMALL})
    for _ in range(2):
        cluster.add_node(num_cpus=2, num_gpus=0, **SMALL)
    yield cluster
    cluster.shutdown()


@pytest.fixture
def backend(cluster, monkeypatch):
    backend = RayBackend(options_of([f"address={cluster.address}"]))
    connect(monkeypatch, backend)
    yield backend
    for name in backend.states():
        backend.cancel(name)


@pytest.mark.parametrize("name", SETTINGS)
def test_two_workers_learn_what_one_process_learns(backend, outputs, tmp_path, name):
    settings = config(tiny_model(tmp_path / "model"), **SETTINGS[name])
    run = launcher.start(settings, outputs, "two", elsewhere("ray", ["workers=2"])).run
    wait_until(lambda: run.status().ended)
    assert run.status().state == "finished", run.log_tail()
    assert {line.ranks for line in run.metrics()} == {2}
    assert apart(run, alone(run)) < 1e-5
    wait_until(lambda: backend.states() == {})


def test_a_run_is_computed_on_a_node_and_ends_with_it(backend, cluster, outputs, tmp_path, monkeypatch):
    monkeypatch.setattr(remote_jobs, "GONE_SECONDS", 0.0)
    settings = config(tiny_model(tmp_path / "model"), ppo__num_updates=4)
    stopped, lost = (handed_over(outputs, settings, name) for name in ("a", "b"))
    for run in (stopped, lost):
        changes.request_step(run)  # one update, and then a pause
    wait_until(lambda: stopped.status().state == lost.status().state == "paused")
    launcher.stop(stopped)
    wait_until(lambda: stopped.status().ended)
    assert (stopped.status().state, stopped.status().message) == ("stopped", "Stopped after update 1.")
    look_after(outputs)
    assert lost.status().state == "paused"
    above = {parent.pid for parent in psutil.Process(lost.status().pid).parents()}
    (node,) = [one for one in cluster.worker_nodes if one.all_processes["raylet"][0].process.pid in above]
    cluster.remove_node(node, allow_graceful=False)
    wait_until(lambda: backend.states() == {})
    wait_until(lambda: look_after(outputs) or lost.status().ended)
    assert lost.status().reason in ("place_lost", "server_lost")
    assert lost.status().resumable
