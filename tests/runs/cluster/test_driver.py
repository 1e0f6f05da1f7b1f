"""The driver: what becomes of runs whose jobs wait, work, end and are lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from playground.errors import BackendUnavailable, RunBusy
from playground.runs import history, launcher, queue, supervisor
from playground.runs.cluster import backend, handing
from playground.runs.cluster.driver import Driver
from playground.runs.folder import placed, requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from tests.runs.cluster.driving import Scripted, at_once, handed_over, last_message
from tests.support import small_config, update_metrics

pytestmark = pytest.mark.usefixtures("no_process")


@pytest.fixture
def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody starts a driver: the tests look themselves."""
    monkeypatch.setattr(handing, "ensure_driver", lambda *_: None)


@pytest.fixture
def slurm() -> Scripted:
    return Scripted()


@pytest.fixture
def sweep(outputs: Path, slurm: Scripted) -> Driver:
    return Driver(outputs, "sweep", lambda _: slurm)


def begun(run: RunDirectory, update: int = 1) -> RunWriter:
    """Its worker, as far as files tell of it."""
    writer = RunWriter(run, 3, run.status().attempt)
    writer.metrics(update_metrics(update))
    writer.set_status(state="running", update=update)
    return writer


def end(run: RunDirectory) -> tuple[str, str]:
    status = run.status()
    return status.state, status.reason


def test_a_run_waits_for_its_node_as_a_living_one(outputs: Path, slurm: Scripted, sweep: Driver) -> None:
    run = handed_over(outputs, "one", "", "cpus=2")
    assert (run.status().state, run.is_alive(), queue.waiting(outputs)) == ("queued", True, [])
    assert [one.id for one in launcher.living_runs(outputs)] == ["one"]
    assert sweep.step() and sweep.step()
    assert [(job.run.id, job.attempt, job.cpus, job.gpus) for job in slurm.jobs] == [("one", 1, 2, 0)]
    assert (end(run), run.status().phase) == (("queued", ""), "waiting for a node")
    for refused in (launcher.resume, history.delete_run):
        with pytest.raises(RunBusy):
            refused(run)
    supervisor.Supervisor(outputs).look()
    assert launcher.start_waiting(outputs) == [] and run.status_on_disk().state == "queued"
    begun(run).finish("finished")
    assert sweep.step() == 0 and end(run) == ("finished", "") and not run.is_alive()


def test_a_run_elsewhere_takes_no_device_here(outputs: Path, fake_worker: None) -> None:
    assert requests.of(handed_over(outputs)).slot == "slurm"
    here = launcher.start(small_config("finish"), outputs, "here")
    assert here.process is not None and here.process.wait(60) == 0


@pytest.mark.parametrize(
    ("reason", "update", "lost"),
    [("killed", 2, 1), ("server_lost", 2, 1), ("", 2, 1), (placed.LOST, 0, 1), (placed.LOST, 2, 0)],
)
def test_a_run_that_loses_its_node_is_taken_up_again(
    outputs: Path, slurm: Scripted, sweep: Driver, monkeypatch: pytest.MonkeyPatch, reason: str, update: int, lost: int
) -> None:
    """What it saved in order before its node was taken back is no loss, if it got on."""
    at_once(monkeypatch, "GONE_SECONDS")
    run = handed_over(outputs)
    sweep.step()
    writer = begun(run, update)
    if reason:
        writer.finish("interrupted", reason, "Its worker says why.")
        sweep.step()
        assert len(slurm.jobs) == 1, "its job is there yet"
        assert end(run) == ("queued", ""), "nobody who follows it takes it for ended"
    slurm.ends(run)
    sweep.step()
    assert [job.attempt for job in slurm.jobs] == [1, 2] and slurm.jobs[0].name != slurm.jobs[1].name
    assert (run.status().attempt, end(run), run.is_alive()) == (2, ("queued", ""), True)
    assert ("Its worker says why" if reason else "NODE_FAIL") in last_message(run)
    assert (placed.read(run.path) or placed.Placed()).lost == lost
    begun(run).finish("finished")
    assert sweep.step() == 0


def test_a_run_that_is_lost_again_and_again_ends_and_can_be_resumed(
    outputs: Path, slurm: Scripted, sweep: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch, "GONE_SECONDS")
    run = handed_over(outputs, "one", "", "retries=2")
    sweep.step()
    for _ in range(3):
        begun(run)
        slurm.ends(run)
        sweep.step()
    assert len(slurm.jobs) == 3 and end(run) == ("interrupted", "place_lost") and run.status().resumable
    assert "NODE_FAIL" in run.status().message and not run.is_alive() and sweep.step() == 0
    handing_over = handing.elsewhere("sweep", "slurm", [])
    assert launcher.resume(run, handing_over).process is None
    sweep.step()
    assert slurm.jobs[-1].attempt == 4


@pytest.mark.parametrize(
    ("state", "reason"), [("failed", "diverged"), ("failed", "out_of_memory"), ("stopped", "time_limit")]
)
def test_what_a_run_has_of_itself_is_its_end(
    outputs: Path, slurm: Scripted, sweep: Driver, state: str, reason: str
) -> None:
    run = handed_over(outputs)
    sweep.step()
    begun(run).finish(state, reason, "Because.")  # type: ignore[arg-type]
    slurm.ends(run)
    assert sweep.step() == 0 and end(run) == (state, reason) and len(slurm.jobs) == 1


def test_a_run_that_waits_can_be_stopped(outputs: Path, slurm: Scripted, sweep: Driver) -> None:
    submitted, waiting = handed_over(outputs, "a", "", "at_once=1"), handed_over(outputs, "b", "", "at_once=1")
    sweep.step()
    for run in (submitted, waiting):
        launcher.stop(run)
    sweep.step()
    assert slurm.cancelled == [slurm.jobs[0].name] and end(waiting) == ("stopped", "stopped")
    assert sweep.step() and sweep.step() == 0 and end(submitted) == ("stopped", "stopped") and len(slurm.jobs) == 1


def test_a_node_that_does_not_answer_a_stop_is_given_up(
    outputs: Path, slurm: Scripted, sweep: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = handed_over(outputs)
    sweep.step()
    begun(run)
    launcher.stop(run)
    sweep.step()
    assert run.status().state == "stopping" and slurm.cancelled == []
    at_once(monkeypatch, "STOP_SECONDS")
    sweep.step()
    assert slurm.cancelled and sweep.step() and sweep.step() == 0 and end(run) == ("stopped", "stopped")


def test_no_more_runs_than_wanted_are_submitted(outputs: Path, slurm: Scripted, sweep: Driver) -> None:
    runs = [handed_over(outputs, f"run-{number}", "", "at_once=2") for number in range(4)]
    for number, run in enumerate(runs):
        sweep.step()
        assert len(slurm.jobs) == min(number + 2, 4)
        begun(run).finish("finished")
    assert sweep.step() == 0


def test_a_backend_that_refuses_is_asked_again(outputs: Path, slurm: Scripted, sweep: Driver) -> None:
    one, two = handed_over(outputs, "one"), handed_over(outputs, "two")
    slurm.refuses = {"all"}
    seldom = sweep.step()
    answer = "waiting for a node: The controller does not answer; it is asked again"
    assert one.status().phase == two.status().phase == answer and slurm.jobs == []
    slurm.refuses = {"two"}
    assert sweep.step() == seldom and [job.run.id for job in slurm.jobs] == ["one"]
    slurm.refuses = set()
    assert sweep.step() < seldom and [job.run.id for job in slurm.jobs] == ["one", "two"]


def test_a_backend_that_is_away_costs_no_run(
    outputs: Path, slurm: Scripted, sweep: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch, "GONE_SECONDS", "STOP_SECONDS")
    run = handed_over(outputs)
    sweep.step()
    begun(run)
    slurm.refuses = {"all"}
    assert sweep.step() and end(run) == ("running", "")
    run.request_stop()  # and where neither it nor the worker is ever heard of again, a person can end it
    assert sweep.step() and end(run) == ("stopped", "stopped")


def test_a_job_that_is_missing_for_a_moment_is_not_lost(outputs: Path, slurm: Scripted, sweep: Driver) -> None:
    run = handed_over(outputs)
    sweep.step()
    begun(run)
    slurm.ends(run)
    assert sweep.step() and sweep.step() and run.status().attempt == 1


def test_a_worker_that_lives_after_all_is_not_lost(
    outputs: Path, slurm: Scripted, sweep: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch, "GONE_SECONDS")
    monkeypatch.setattr(launcher, "LOCK_PATIENCE_SECONDS", 0.01)
    run = handed_over(outputs)
    sweep.step()
    begun(run)
    slurm.ends(run)
    with launcher.take_lock(run):  # type: ignore[union-attr]
        assert sweep.step() and run.status().attempt == 1


def test_one_run_takes_no_other_with_it(
    outputs: Path, slurm: Scripted, sweep: Driver, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, damaged, good = (handed_over(outputs, name) for name in ("bad", "damaged", "good"))
    (damaged.config_path).write_text("{")
    slurm.trouble["bad"] = OSError("Stale file handle")
    for _ in range(3):
        sweep.step()
    assert capsys.readouterr().err.count("bad: Stale file handle") == 1
    assert end(damaged) == ("failed", "damaged") and end(bad) == end(good) == ("queued", "")
    assert [job.run.id for job in slurm.jobs] == ["bad", "good"]


def test_a_copy_of_a_run_has_no_driver(outputs: Path, slurm: Scripted, sweep: Driver) -> None:
    run = handed_over(outputs)
    sweep.step()
    begun(run)
    shutil.copytree(run.path, outputs / "copy")
    assert not RunDirectory(outputs / "copy").is_alive() and run.is_alive()
    assert [one.run.id for one in handing.driven(outputs)] == ["one"]


def test_a_backend_that_cannot_be_reached_is_tried_anew(outputs: Path) -> None:
    run, tries = handed_over(outputs), []

    def connect(where: placed.Placed) -> Scripted:
        tries.append(backend.options_of(where.options).at_once)
        if len(tries) == 1:
            raise BackendUnavailable("No cluster answers at 10.0.0.1:6379.")
        return Scripted()

    driver = Driver(outputs, "sweep", connect)
    driver.step()
    assert "No cluster answers at 10.0.0.1:6379; it is asked again" in run.status().phase
    driver.step()
    driver.step()
    assert tries == [100, 100]
