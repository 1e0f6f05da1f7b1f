"""Runs as jobs of a hub whose bucket is a folder here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from playground.errors import BackendUnavailable
from playground.runs import bucket, launcher
from playground.runs.cluster import jobs_backend, look_after, remote_jobs
from playground.runs.cluster.backend import name_of
from playground.runs.cluster.jobs_backend import JobsBackend
from playground.runs.folder import changes, checkpoints
from playground.runs.folder.directory import RunDirectory
from tests.runs.cluster.scripted import connect, handed_over
from tests.support import PROJECT, small_config, wait_until

OPTIONS = ["image=hf.co/spaces/me/playground", "bucket=me/runs", "flavor=t4-small", "minutes=45"]


class FakeHub:
    """As much of `HfApi` as is used. Its jobs are processes here, and `folder` is what they mount."""

    token = "hf_of_a_test"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[dict[str, Any]] = []
        self.jobs: list[subprocess.Popen[bytes]] = []
        self.away = False

    def run_job(self, **asked: Any) -> Any:
        python, m, module, folder, *words = asked["command"]
        assert (python, m, module) == ("python", "-m", jobs_backend.NODE_MODULE)
        (volume,) = asked["volumes"]
        here = self.folder / volume.path / Path(folder).relative_to(volume.mount_path)
        command = [sys.executable, "-m", "tests.runs.cluster.fake_job", str(here), *words]
        self.asked.append(asked)
        self.jobs.append(subprocess.Popen(command, cwd=PROJECT))
        return SimpleNamespace(id=str(len(self.jobs) - 1))

    def list_jobs(self, *, labels: dict[str, str]) -> Iterator[Any]:
        if self.away:
            raise RuntimeError("the hub is away")  # what its client raises is no OSError
        for number, (asked, process) in enumerate(zip(self.asked, self.jobs, strict=True)):
            stage = "RUNNING" if process.poll() is None else "ERROR" if process.returncode else "COMPLETED"
            assert labels.items() <= asked["labels"].items()
            yield SimpleNamespace(
                id=str(number), labels=asked["labels"], status=SimpleNamespace(stage=stage, message=None)
            )

    def cancel_job(self, *, job_id: str) -> None:
        self.jobs[int(job_id)].kill()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    made = FakeHub(tmp_path / "bucket")
    made.folder.mkdir()
    monkeypatch.setenv(bucket.VARIABLE, str(made.folder))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(remote_jobs, "GONE_SECONDS", 0.5)
    connect(monkeypatch, JobsBackend(made))
    yield made
    for job in made.jobs:
        job.kill()
        job.wait()


def come_about(outputs: Path, condition: Callable[[], bool]) -> None:
    """Look again and again at the jobs until it is so."""

    def look() -> bool:
        look_after(outputs)
        return condition()

    wait_until(look)


def test_a_run_is_computed_there_and_its_records_come_here(outputs: Path, hub: FakeHub) -> None:
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


def test_requests_travel_and_a_job_that_is_gone_is_a_loss(outputs: Path, hub: FakeHub) -> None:
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


def test_what_the_hub_refuses_is_said(outputs: Path, hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.away = True
    with pytest.raises(BackendUnavailable, match="The hub says: RuntimeError: the hub is away"):
        JobsBackend(hub).states()
    monkeypatch.delenv(bucket.VARIABLE)
    with pytest.raises(BackendUnavailable, match="hf auth login"):
        JobsBackend(hub)


def test_records_and_checkpoints_come_from_a_job_and_nothing_else(outputs: Path, hub: FakeHub, tmp_path: Path) -> None:
    run = handed_over(outputs, small_config("finish"))
    backend, name = JobsBackend(hub), name_of(run, 1)
    there = RunDirectory.create(tmp_path / "there", small_config("other"), "one")
    (there.path / "label.json").write_text('{"name": "theirs"}')
    there.metrics_path.write_text("{}\n")
    saved = there.checkpoints_path / "update-000001"
    saved.mkdir(parents=True)
    (saved / checkpoints.TRAINER).write_text('{"update": 1}')
    listed = checkpoints.listed(saved)
    (saved / checkpoints.MANIFEST).write_text(json.dumps({"format": 1, "files": listed}))
    place = hub.folder / "jobs" / name / bucket.RUNS / "one"
    for _ in range(2):
        bucket.keep(there, place)
    backend.exchange(run, name)
    assert [path.name for path in run.checkpoints()] == ["update-000001"]
    assert run.config().name == "finish"
    assert not run.label_path.exists()
    assert run.metrics_path.read_text() == "{}\n"
