"""Handing runs over to a driver, as a process of its own, and what becomes of them when that dies."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from playground.cluster import Options, check, hand_over, handing, options_of
from playground.cluster.driver import main as drive
from playground.cluster.place import needs_of
from playground.errors import InvalidConfig, RunBusy
from playground.runs import reconciler
from playground.runs.folder.directory import RunDirectory
from playground.runs.start import launcher
from tests.cluster.places import new_run
from tests.faults.resuming import config, tiny_model
from tests.forking import Forker
from tests.support import PROJECT, has_ended, small_config, wait_until

FAKE = "tests.cluster.fake_driver"


@pytest.fixture
def hand(
    outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """`hand_over` to a driver that computes here; it is ended afterwards, and its workers with it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    drivers: list[subprocess.Popen[bytes]] = []

    def go(*runs: RunDirectory, module: str = FAKE, **options: object) -> subprocess.Popen[bytes]:
        monkeypatch.setattr(handing, "DRIVER_MODULE", module)
        chosen = Options.model_validate({"checkpoint_seconds": 0, **options})
        drivers.append(hand_over(outputs, "sweep", [run.id for run in runs], "local", chosen))
        return drivers[-1]

    yield go
    for driver in drivers:
        driver.kill()
        driver.wait()


def test_runs_that_were_handed_over_live_from_that_moment_and_finish(
    outputs: Path, hand: Callable[..., subprocess.Popen[bytes]]
) -> None:
    runs = [new_run(outputs, name) for name in ("one", "two")]
    driver = hand(*runs)
    assert [run.status().state for run in runs] == ["queued", "queued"] and all(run.is_alive() for run in runs)
    assert driver.wait(60) == 0, (outputs / handing.LOGS / "sweep.log").read_text()
    assert [run.status().state for run in runs] == ["finished", "finished"]
    assert [item.update for item in runs[1].metrics()] == [1, 2, 3]


def test_runs_that_somebody_has_are_not_handed_over(outputs: Path) -> None:
    runs = [new_run(outputs, name) for name in ("one", "two")]
    lock = launcher.take_lock(runs[1])
    assert lock is not None
    with lock, pytest.raises(RunBusy):
        hand_over(outputs, "sweep", ["one", "two"], "local")
    assert not runs[0].is_alive() and runs[0].status_on_disk().attempt == 1


def test_a_driver_can_be_started_by_hand(outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    run = new_run(outputs, "one")
    command = [sys.executable, "-m", FAKE, str(outputs), "sweep", "--on", "local", "one"]
    assert subprocess.run(command, cwd=PROJECT, timeout=240).returncode == 0
    assert run.status().state == "finished"
    again = subprocess.run(command, cwd=PROJECT, timeout=240, capture_output=True, text=True)
    assert (again.returncode, again.stderr) == (2, "one has finished all its updates.\n")


def test_a_driver_by_hand_says_what_is_wrong(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new_run(outputs, "there")
    for name, run, told in (("sweep", "missing", "is not a run folder"), ("bad name/..", "there", "small letters")):
        assert drive([str(outputs), name, "--on", "local", run]) == 2
        assert told in capsys.readouterr().err
    assert not RunDirectory(outputs / "there").is_alive()


def test_a_driver_that_is_told_to_end_says_so_in_every_run(
    outputs: Path, hand: Callable[..., subprocess.Popen[bytes]]
) -> None:
    at_work, waiting = new_run(outputs, "at-work", name="wait"), new_run(outputs, "waiting")
    driver = hand(at_work, waiting, at_once=1)
    wait_until(lambda: at_work.status().state == "running")
    driver.send_signal(signal.SIGTERM)
    driver.wait(60)
    for run in (at_work, waiting):
        found = run.status_on_disk()
        assert (found.state, found.reason, found.message) == (
            "interrupted",
            "place_lost",
            "Its driver was told to end.",
        )


def test_a_driver_that_is_killed_leaves_no_worker_and_its_run_can_be_resumed(
    outputs: Path, tmp_path: Path, hand: Callable[..., subprocess.Popen[bytes]], forker: Forker
) -> None:
    made = config(tiny_model(tmp_path / "model"), ppo__num_updates=4)
    run = RunDirectory.create(outputs, made, "one")
    (run.control_path / "step").write_text("{}")  # one update, and then a pause
    driver = hand(run, module="playground.cluster.driver")
    wait_until(lambda: run.status().state == "paused" and run.latest_checkpoint())
    (lock,) = tmp_path.glob("playground-runs-*/*/one/worker.lock")
    worker = RunDirectory(lock.parent)
    pid = worker.status_on_disk().pid
    driver.kill()
    wait_until(lambda: not run.is_alive(), 10)
    found = run.status()
    assert (found.state, found.reason) == ("interrupted", "place_lost")
    assert found.message == "The driver that connected it with its place (local) ended after update 1."
    wait_until(lambda: has_ended(pid), 30)
    assert worker.status().reason == "server_lost"
    reconciler.Reconciler(outputs).look()
    assert run.status_on_disk().reason == "place_lost"
    resumed = launcher.resume(run, spawn=forker.spawn)
    assert resumed.process is not None and resumed.process.wait(120) == 0
    assert [item.attempt for item in run.metrics()] == [1, 2, 2, 2]


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["adress=auto"], "place.adress: is no option"),
        (["gpus=-1"], "place.gpus: Input should be greater"),
        (["cpus"], "place.cpus: Input should be a valid number"),
        (["retries=many"], "place.retries"),
    ],
)
def test_options_that_cannot_be_are_named(texts: list[str], words: str) -> None:
    with pytest.raises(InvalidConfig, match=words):
        options_of(texts)


def test_options_are_read_as_they_are_written() -> None:
    options = options_of(["address=10.0.0.1:6379", "gpus=0.5", "send_project=true", "retries=0"])
    assert (options.address, options.gpus, options.send_project, options.retries) == ("10.0.0.1:6379", 0.5, True, 0)


def test_a_place_that_cannot_be_used_from_here_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidConfig, match="on: must be one of local, ray, slurm, jobs"):
        check("cloud", Options())
    with pytest.raises(InvalidConfig, match=r"(?s)place.image: is needed.*place.bucket: is needed"):
        check("jobs", Options())
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InvalidConfig, match=r"on: needs the package `ray`, .* pip install -r requirements-ray\.txt"):
        check("ray", Options())
    check("local", Options())


@pytest.mark.parametrize(
    ("device", "options", "gpus"),
    [("cpu", {}, 0), ("cpu", {"gpus": 1}, 0), ("auto", {}, None), ("auto", {"gpus": 0.5}, 0.5), ("cuda:0", {}, 1)],
)
def test_a_run_on_the_processor_takes_no_gpu(device: str, options: dict[str, float], gpus: float | None) -> None:
    assert needs_of(small_config(device=device), Options.model_validate(options)).gpus == gpus


def test_more_runs_than_files_may_be_open_are_refused_before_any_is_touched(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = new_run(outputs, "one")
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (100, 150))
    with pytest.raises(InvalidConfig, match=r"1 runs need 201 open files, and this user may have 150"):
        hand_over(outputs, "sweep", ["one"], "local")
    assert not run.lock_path.exists()
