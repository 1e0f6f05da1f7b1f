"""Runs as submitit's jobs, by its executor for this machine; and the leash that ties them to their driver."""

from __future__ import annotations

import errno
import signal
from pathlib import Path

import psutil
import pytest

from playground.cluster.news import Appended, Lost, Over
from playground.cluster.parcel import pack
from playground.cluster.place import Needs, Options
from playground.cluster.places.leash import Collar, Leash
from playground.cluster.places.slurm_job import LEASH, NODE, OVER
from playground.cluster.places.slurm_place import SlurmPlace, _Job
from playground.errors import PlaceUnavailable
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.start import launcher
from tests.cluster.places import Driving, new_run
from tests.faults.resuming import config, figures, tiny_model, weights
from tests.forking import Forker
from tests.support import has_ended, wait_until


def test_a_job_that_slurm_takes_back_goes_on_where_it_was(outputs: Path, tmp_path: Path, forker: Forker) -> None:
    made = config(tiny_model(tmp_path / "model"), ppo__num_updates=4)
    run = RunDirectory.create(outputs, made, "one")
    (run.control_path / "step").write_text("{}")  # one update, and then a pause
    place = SlurmPlace(Options(checkpoint_seconds=0), outputs, "sweep", cluster="local")
    driving = Driving(place, [run])
    whole = launcher.start(made, outputs, "whole", spawn=forker.spawn)
    assert whole.process is not None and whole.process.wait(120) == 0
    wait_until(lambda: run.status().state == "paused" and run.latest_checkpoint())
    for process in psutil.Process(int(place._jobs["one"].job.job_id)).children(recursive=True):
        process.send_signal(signal.SIGUSR2)  # as Slurm does: to every process of a job
    driving.join()
    assert (run.status().state, run.status().attempt) == ("finished", 2)
    assert [item.attempt for item in run.metrics()] == [1, 2, 2, 2]
    assert "It is taken up again" not in run.events_path.read_text()  # it was queued again, and never lost
    assert weights(run) == weights(whole.run) != {} and figures(run) == figures(whole.run)
    assert not list((outputs / ".slurm").iterdir())


def test_a_job_whose_driver_is_not_heard_of_ends(outputs: Path, tmp_path: Path) -> None:
    run = RunDirectory.create(outputs, config(tiny_model(tmp_path / "model")), "one")
    (run.control_path / "step").write_text("{}")
    options = Options(checkpoint_seconds=0)
    place = SlurmPlace(options, outputs, "sweep", cluster="local", pull_seconds=1000, patience_seconds=1)
    place.begin("one", lambda: pack(run), Needs(1, 0))
    job = place._jobs["one"]
    pid = wait_until(lambda: job.run.status_on_disk().pid)
    wait_until(lambda: (job.run.path.parent / OVER).exists())
    assert job.run.status_on_disk().reason in ("server_lost", "stopped") and has_ended(pid)
    assert job.job.wait() is None
    place.close()


class FakeJob:
    """As much of a submitit job as is looked at."""

    job_id, state = "17", "NODE_FAIL"

    def __init__(self, done: bool) -> None:
        self._done = done

    def done(self) -> bool:
        return self._done


def test_a_job_that_vanishes_is_lost_and_one_that_waits_is_not(tmp_path: Path) -> None:
    run = new_run(tmp_path / "1", "one")
    waiting, vanished = _Job(run.path, FakeJob(False), 0), _Job(run.path, FakeJob(True), 0)
    assert list(waiting.look()) == []
    assert list(vanished.look()) == [[Lost("its job 17 ended as NODE_FAIL")]]


def test_an_end_is_told_once_the_job_says_that_it_is_one(tmp_path: Path) -> None:
    run = new_run(tmp_path / "1", "one")
    job = _Job(run.path, FakeJob(False), 0)
    RunWriter(run, 3).finish("stopped", "stopped", "For a moment.")
    (tmp_path / "1" / NODE).write_text("node-3")
    told = [news for batch in job.look() for news in batch]
    assert not [news for news in told if getattr(news, "name", "") == "status.json"]
    (tmp_path / "1" / OVER).touch()
    told = [news for batch in job.look() for news in batch]
    assert told[-2].name == "status.json" and told[-1] == Over()


def test_a_shared_folder_that_is_away_for_a_moment_costs_nothing(
    outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = SlurmPlace(Options(), outputs, "sweep", cluster="local", pull_seconds=0)
    jobs = {name: _Job(new_run(tmp_path / name, name).path, FakeJob(False), 0) for name in ("one", "two")}
    place._jobs = dict(jobs)
    for job in jobs.values():
        job.run.log_path.write_bytes(b"hello\n")
    away = [OSError(errno.ESTALE, "Stale file handle")] * 2
    with monkeypatch.context() as patch:
        patch.setattr(place._leash, "_write", lambda text: _raise(away.pop()))
        patch.setattr(jobs["one"].pump, "_new_traces", lambda: _raise(away.pop()))
        heard = place.news(0)
    assert not away
    assert heard + place.news(0) == [(name, [Appended("worker.log", b"hello\n")]) for name in ("one", "two")]


def _raise(error: Exception) -> None:
    raise error


def test_without_slurm_it_is_said_where_to_start(outputs: Path) -> None:
    with pytest.raises(PlaceUnavailable, match=r"Slurm cannot be used from here .* login node"):
        SlurmPlace(Options(), outputs, "sweep")


def test_a_collar_is_loose_once_nobody_has_pulled_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("playground.cluster.places.leash.time.monotonic", lambda: now[0])
    path = tmp_path / LEASH
    leash = Leash(path.write_text, pull_seconds=20)
    collar = Collar(lambda: path.read_text() if path.exists() else "", patience_seconds=60)
    leash.pull()
    for _ in range(10):
        now[0] += 30
        leash.pull()
        assert not collar.is_loose
    now[0] += 59
    assert not collar.is_loose
    path.unlink()  # not readable now
    now[0] += 2
    assert collar.is_loose
