"""What may be set of a backend, what is refused before anything is made, what a job takes of a node, and what is asked
of a Slurm."""

import shlex
import sys

import pytest

from playground.errors import BackendUnavailable, InvalidConfig
from playground.runs.cluster.backend import check, for_processes, job_of, name_of, options_of
from playground.runs.cluster.slurm_backend import NODE_MODULE, SlurmBackend
from playground.runs.folder.directory import RunDirectory
from tests.runs.cluster import fake_slurm
from tests.support import PROJECT, data_beside, fields_of, small_config, wait_until

CASES = data_beside(__file__, "options.yaml")


@pytest.mark.parametrize(("name", "texts", "fields"), CASES["refused"])
def test_what_cannot_be_is_refused_by_the_name_of_its_field(name, texts, fields):
    assert sorted(fields_of(check, name, texts)) == sorted(fields)


def test_a_backend_that_is_not_installed_says_what_to_do(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InvalidConfig, match=r"on: needs the package `ray`, .* pip install -r requirements-ray\.txt"):
        check("ray", [])


@pytest.mark.parametrize(("device", "ranks", "texts", "cpus", "gpus"), CASES["jobs"])
def test_a_job_takes_what_its_run_computes_on(outputs, device, ranks, texts, cpus, gpus):
    run = RunDirectory.create(outputs, small_config(device=device, ranks=ranks), "one")
    options = options_of(texts)
    job = job_of(run, 3, options, options.processes("ray"))
    assert (job.cpus, job.gpus, job.name) == (cpus, gpus, name_of(run, 3))


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
    wait_until(lambda: backend.states() == {"my notebook": "", name_of(run, 2): "over (COMPLETED)"})


def test_a_run_of_several_nodes_has_a_process_for_each_gpu_of_each(outputs, slurm):
    texts = ["nodes=2", "gpus=4", "cpus=3"]
    config = for_processes(small_config(), "slurm", texts)
    assert config.ranks == 8
    run, options = RunDirectory.create(outputs, config, "one"), options_of(texts)
    (slurm / "full").touch()
    SlurmBackend().submit(job_of(run, 1, options, options.processes("slurm")))
    (job,) = fake_slurm.jobs(slurm)
    assert (job["nodes"], job["ntasks-per-node"], job["gpus-per-node"], job.get("gpus")) == ("2", "4", "4", None)
    begun = ["exec", "srun", "--kill-on-bad-exit=0", "--cpus-per-task=3", sys.executable, "-m", NODE_MODULE]
    assert shlex.split(job["wrap"])[:7] == begun
    with pytest.raises(InvalidConfig, match="17 processes need a minibatch of at least 17"):
        for_processes(config, "slurm", ["nodes=17"])


def test_a_controller_that_is_away_says_so(outputs, slurm):
    (slurm / "away").touch()
    with pytest.raises(BackendUnavailable, match="Slurm's squeue says: Unable to contact slurm controller"):
        SlurmBackend().states()
