"""Runs as jobs of a Slurm that is this machine: drivers and nodes as processes, and folders that both see."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.errors import BackendUnavailable
from playground.runs import launcher
from playground.runs.cluster import elsewhere, look_after, remote_jobs
from playground.runs.cluster.backend import job_of, name_of, options_of
from playground.runs.cluster.slurm_backend import NODE_MODULE, SlurmBackend
from playground.runs.folder import changes, placed
from playground.runs.folder.directory import RunDirectory
from tests.faults.resuming import config, tiny_model
from tests.runs.cluster import fake_slurm
from tests.runs.cluster.scripted import handed_over
from tests.support import PROJECT, has_ended, small_config, wait_until


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "slurm"
    for name, value in fake_slurm.install(folder).items():
        monkeypatch.setenv(name, value)
    yield folder
    for job in fake_slurm.jobs(folder):
        fake_slurm.take_back(folder, job["job-name"])
        wait_until(lambda job=job: has_ended(int(job["pid"])))


def test_a_run_goes_on_after_its_node_is_taken_back(
    outputs: Path, tmp_path: Path, slurm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_jobs, "GONE_SECONDS", 1.0)
    run = handed_over(outputs, config(tiny_model(tmp_path / "model"), ppo__num_updates=4))
    changes.request_step(run)  # one update, and then a pause
    wait_until(lambda: run.status().state == "paused", 120)
    look_after(outputs)
    assert run.status().state == "paused"
    assert run.is_alive()
    fake_slurm.take_back(slurm, name_of(run, 1))
    wait_until(lambda: run.status_on_disk().reason == placed.LOST)
    assert run.status().resumable
    assert not run.stop_requested
    launcher.resume(run, elsewhere("slurm", []))
    wait_until(lambda: run.status().ended, 120)
    assert (run.status().state, run.status().attempt) == ("finished", 2), run.log_tail()
    assert [item.attempt for item in run.metrics()] == [1, 2, 2, 2]
    assert len(fake_slurm.jobs(slurm)) == 2


def test_what_is_submitted_says_all_that_slurm_has_to_know(outputs: Path, slurm: Path) -> None:
    run = RunDirectory.create(outputs, small_config(device="cuda:0"), "one")
    backend, options = SlurmBackend(), options_of(["cpus=3", "minutes=90", "partition=short"])
    backend.submit(job_of(run, 2, options))
    (job,) = fake_slurm.jobs(slurm)
    assert {name: job.get(name) for name in ("job-name", "time", "cpus-per-task", "gpus", "partition", "chdir")} == {
        "job-name": name_of(run, 2),
        "time": "90",
        "cpus-per-task": "3",
        "gpus": "1",
        "partition": "short",
        "chdir": str(PROJECT),
    }
    assert shlex.split(job["wrap"])[1:] == [sys.executable, "-m", NODE_MODULE, str(run.path.resolve()), "2", "5400"]
    assert job["output"] == str(run.log_path.resolve())
    assert "no-requeue" in job
    backend.cancel(name_of(run, 2))
    wait_until(lambda: backend.states() == {name_of(run, 2): "over (COMPLETED)"})


def test_a_controller_that_is_away_says_so(outputs: Path, slurm: Path) -> None:
    (slurm / "away").touch()
    with pytest.raises(BackendUnavailable, match="Slurm's squeue says: Unable to contact slurm controller"):
        SlurmBackend().states()
