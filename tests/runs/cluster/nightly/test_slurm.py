"""A run on a Slurm that is this machine: drivers and nodes as processes, and folders that both see."""

import pytest

from playground.runs import launcher
from playground.runs.cluster import elsewhere, look_after, remote_jobs
from playground.runs.cluster.backend import name_of
from playground.runs.folder import changes, placed
from tests.faults.resuming import UPDATES, alone, apart, config, tiny_model
from tests.runs.cluster import fake_slurm
from tests.runs.cluster.scripted import handed_over
from tests.support import data_beside, wait_until

SETTINGS = data_beside(__file__, "several.yaml")


def test_a_run_goes_on_after_its_node_is_taken_back(outputs, tmp_path, slurm, monkeypatch):
    monkeypatch.setattr(remote_jobs, "GONE_SECONDS", 1.0)
    run = handed_over(outputs, config(tiny_model(tmp_path / "model"), ppo__num_updates=4))
    changes.request_step(run)  # one update, and then a pause
    wait_until(lambda: run.status().state == "paused")
    look_after(outputs)
    assert run.status().state == "paused"
    assert run.is_alive()
    fake_slurm.take_back(slurm, name_of(run, 1))
    wait_until(lambda: run.status_on_disk().reason == placed.LOST)
    assert run.status().resumable
    assert not run.stop_requested
    launcher.resume(run, elsewhere("slurm", []))
    wait_until(lambda: run.status().ended)
    assert (run.status().state, run.status().attempt) == ("finished", 2), run.log_tail()
    assert [item.attempt for item in run.metrics()] == [1, 2, 2, 2]
    assert len(fake_slurm.jobs(slurm)) == 2


@pytest.mark.parametrize("name", SETTINGS)
def test_two_nodes_learn_what_one_process_learns_also_after_they_were_taken_back(outputs, tmp_path, slurm, name):
    settings = config(tiny_model(tmp_path / "model"), **SETTINGS[name])
    run = handed_over(outputs, settings, "two", "nodes=2")
    changes.request_step(run)  # one update, and then a pause
    wait_until(lambda: run.status().state == "paused")
    fake_slurm.take_back(slurm, name_of(run, 1))
    wait_until(lambda: run.status_on_disk().reason == placed.LOST)
    wait_until(lambda: not fake_slurm.runs(fake_slurm.jobs(slurm)[0]))
    assert run.latest_checkpoint().name == "update-000001"
    launcher.resume(run, elsewhere("slurm", ["nodes=2"]))
    wait_until(lambda: run.status().ended)
    assert run.status().state == "finished", run.log_tail()
    assert [(line.attempt, line.ranks) for line in run.metrics()] == [(1, 2)] + [(2, 2)] * (UPDATES - 1)
    assert apart(run, alone(run)) < 1e-5
