"""A Slurm that is this machine."""

import pytest

from tests.runs.cluster import fake_slurm
from tests.support import wait_until


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Its folder. Its jobs are ended afterwards."""
    folder = tmp_path / "slurm"
    for name, value in fake_slurm.install(folder).items():
        monkeypatch.setenv(name, value)
    yield folder
    for job in fake_slurm.jobs(folder):
        fake_slurm.take_back(folder, job["job-name"])
        wait_until(lambda job=job: not fake_slurm.runs(job))
