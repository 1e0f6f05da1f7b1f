"""What is asked of a Slurm, and what it says."""

import shlex
import sys

import pytest

from playground.errors import BackendUnavailable
from playground.runs.cluster.backend import job_of, name_of, options_of
from playground.runs.cluster.slurm_backend import NODE_MODULE, SlurmBackend
from playground.runs.folder.directory import RunDirectory
from tests.runs.cluster import fake_slurm
from tests.support import PROJECT, small_config, wait_until


def test_what_is_submitted_says_all_that_slurm_has_to_know(outputs, slurm):
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


def test_a_controller_that_is_away_says_so(outputs, slurm):
    (slurm / "away").touch()
    with pytest.raises(BackendUnavailable, match="Slurm's squeue says: Unable to contact slurm controller"):
        SlurmBackend().states()
