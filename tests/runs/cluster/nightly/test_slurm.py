"""A run on a Slurm that is this machine: drivers and nodes as processes, and folders that both see."""

from playground.runs import launcher
from playground.runs.cluster import elsewhere, look_after, remote_jobs
from playground.runs.cluster.backend import name_of
from playground.runs.folder import changes, placed
from tests.faults.resuming import config, tiny_model
from tests.runs.cluster import fake_slurm
from tests.runs.cluster.scripted import handed_over
from tests.support import wait_until


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
