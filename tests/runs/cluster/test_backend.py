"""What may be set of a backend, what is refused before anything is made, and what a job takes of a node."""

import pytest

from playground.errors import InvalidConfig
from playground.runs import bucket
from playground.runs.cluster.backend import check, job_of, name_of, options_of
from playground.runs.folder.directory import RunDirectory
from tests.support import small_config

JOBS = ["image=hf.co/spaces/me/playground", "bucket=me/runs"]


@pytest.mark.parametrize(
    ("name", "texts", "fields"),
    [
        ("slurm", ["adress=auto", "gpus=-1", "cpus"], ["option.adress", "option.gpus", "option.cpus"]),
        ("jobs", [], ["option.image", "option.bucket", bucket.VARIABLE]),
        ("cloud", [], ["on"]),
    ],
)
def test_what_cannot_be_is_refused_by_the_name_of_its_field(name, texts, fields):
    with pytest.raises(InvalidConfig) as refused:
        check(name, texts)
    assert sorted(problem.field for problem in refused.value.problems) == sorted(fields)


def test_a_backend_that_is_not_installed_says_what_to_do(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InvalidConfig, match=r"on: needs the package `ray`, .* pip install -r requirements-ray\.txt"):
        check("ray", [])


@pytest.mark.parametrize(
    ("device", "ranks", "texts", "cpus", "gpus"),
    [
        ("cpu", 1, [], 1, 0),
        ("cpu", 2, ["gpus=1", "cpus=3"], 6, 0),
        ("auto", 1, [], 1, None),
        ("auto", 1, ["gpus=0.5"], 1, 0.5),
        ("cuda:0", 1, [], 1, 1),
        ("auto", 2, [], 1, 2),
    ],
)
def test_a_job_takes_what_its_run_computes_on(outputs, device, ranks, texts, cpus, gpus):
    run = RunDirectory.create(outputs, small_config(device=device, ranks=ranks), "one")
    job = job_of(run, 3, options_of(texts))
    assert (job.cpus, job.gpus, job.name) == (cpus, gpus, name_of(run, 3))
