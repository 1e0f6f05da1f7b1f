"""Runs as jobs of a hub whose bucket is a folder here."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from playground.errors import BackendUnavailable
from playground.runs import bucket, launcher
from playground.runs.cluster import jobs_backend, look_after, remote_jobs
from playground.runs.cluster.backend import name_of
from playground.runs.cluster.jobs_backend import JobsBackend
from playground.runs.folder import changes, checkpoints
from playground.runs.folder.directory import RunDirectory
from tests.runs.cluster.scripted import Scripted, connect, handed_over
from tests.support import small_config, wait_until

OPTIONS = ["image=hf.co/spaces/me/playground", "bucket=me/runs", "flavor=t4-small", "minutes=45"]


class FakeHub:
    """As much of `HfApi` as is used. Its jobs are processes here, and `folder` is what they mount."""

    token = "hf_of_a_test"

    def __init__(self, folder, forker):
        self.folder, self.forker = folder, forker
        self.asked, self.jobs = [], []
        self.away = False

    def run_job(self, **asked):
        *program, folder, attempt, seconds, place = asked["command"]
        assert program == ["python", "-m", jobs_backend.NODE_MODULE]
        (volume,) = asked["volumes"]
        here = self.folder / volume.path / Path(folder).relative_to(volume.mount_path)
        words = [str(here), attempt, seconds, place]
        self.asked.append(asked)
        self.jobs.append(self.forker.fork("tests.runs.cluster.scripted", words, os.environ, output=1))
        return SimpleNamespace(id=str(len(self.jobs) - 1))

    def list_jobs(self, *, labels):
        if self.away:
            raise RuntimeError("the hub is away")  # what its client raises is no OSError
        for number, (asked, process) in enumerate(zip(self.asked, self.jobs, strict=True)):
            stage = "RUNNING" if process.poll() is None else "ERROR" if process.returncode else "COMPLETED"
            assert labels.items() <= asked["labels"].items()
            status = SimpleNamespace(stage=stage, message=None)
            yield SimpleNamespace(id=str(number), labels=asked["labels"], status=status)

    def cancel_job(self, *, job_id):
        self.jobs[int(job_id)].kill()


@pytest.fixture
def hub(tmp_path, monkeypatch, scripted):
    hub = FakeHub(tmp_path / "bucket", scripted)
    hub.folder.mkdir()
    monkeypatch.setenv(bucket.VARIABLE, str(hub.folder))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(remote_jobs, "GONE_SECONDS", 0.5)
    connect(monkeypatch, JobsBackend(hub))
    yield hub
    for job in hub.jobs:
        job.kill()
        job.wait()


def come_about(outputs, condition):
    """Look again and again at the jobs until it is so."""
    wait_until(lambda: look_after(outputs) or condition())


def test_a_run_is_computed_there_and_its_records_come_here(outputs, hub):
    run = handed_over(outputs, small_config("finish"), "one", *OPTIONS)
    (asked,) = hub.asked
    assert {name: asked[name] for name in ("image", "flavor", "timeout", "secrets")} == {
        "image": "hf.co/spaces/me/playground",
        "flavor": "t4-small",
        "timeout": "2700s",
        "secrets": {"HF_TOKEN": "hf_of_a_test"},
    }
    (volume,) = asked["volumes"]
    assert (volume.type, volume.source, volume.path) == ("bucket", "me/runs", f"jobs/{name_of(run, 1)}")
    come_about(outputs, lambda: run.status().ended)
    assert run.status().state == "finished"
    assert [item.update for item in run.metrics()] == [1, 2, 3]
    assert len(run.samples()) == 4
    assert "last words" in run.log_tail()
    assert not list((hub.folder / "jobs").iterdir())
    assert not list(run.path.glob(".coming-*"))


def test_requests_travel_and_a_job_that_is_gone_is_a_loss(outputs, hub):
    run, lost = (handed_over(outputs, small_config("wait"), name) for name in ("one", "lost"))
    come_about(outputs, lambda: run.status().state == lost.status().state == "running")
    changes.request_pause(run)
    come_about(outputs, lambda: not (run.control_path / "pause").exists())
    launcher.stop(run)
    hub.jobs[1].kill()
    come_about(outputs, lambda: run.status().ended and lost.status().ended)
    assert (run.status().state, run.status().message) == ("stopped", "Stopped after update 1.")
    assert lost.status().reason == "place_lost"
    assert "its job is over (ERROR)" in lost.status().message
    assert len(list(hub.folder.glob("jobs/*/"))) == 1, "of a job that said nothing of its end all is left"


def test_what_the_hub_refuses_is_said(outputs, hub, monkeypatch):
    hub.away = True
    with pytest.raises(BackendUnavailable, match="The hub says: RuntimeError: the hub is away"):
        JobsBackend(hub).states()
    monkeypatch.delenv(bucket.VARIABLE)
    with pytest.raises(BackendUnavailable, match="hf auth login"):
        JobsBackend(hub)


def test_records_and_checkpoints_come_from_a_job_and_nothing_else(outputs, hub, tmp_path, monkeypatch):
    connect(monkeypatch, Scripted())  # no job writes meanwhile
    run = handed_over(outputs, small_config("finish"))
    there = RunDirectory.create(tmp_path / "there", small_config("other"), "one")
    (there.path / "label.json").write_text('{"name": "theirs"}')
    there.metrics_path.write_text("{}\n")
    saved = there.checkpoints_path / "update-000001"
    saved.mkdir(parents=True)
    (saved / checkpoints.TRAINER).write_text('{"update": 1}')
    listed = checkpoints.listed(saved)
    (saved / checkpoints.MANIFEST).write_text(json.dumps({"format": 1, "files": listed}))
    for _ in range(2):
        bucket.keep(there, hub.folder / "jobs" / name_of(run, 1) / bucket.RUNS / "one")
    JobsBackend(hub).exchange(run, name_of(run, 1))
    assert [path.name for path in run.checkpoints()] == ["update-000001"]
    assert run.config().name == "finish"
    assert not run.label_path.exists()
    assert run.metrics_path.read_text() == "{}\n"
