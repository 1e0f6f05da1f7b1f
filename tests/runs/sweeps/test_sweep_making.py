"""Making the runs of a sweep: once each, whoever is interrupted or repeats it; stopping and taking up all of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from playground.config import RunConfig
from playground.errors import InvalidConfig, RunBusy, RunNotFound
from playground.runs import cluster, history, launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status
from playground.runs.supervisor import Supervisor
from playground.runs.sweeps import sweep_making, sweep_record
from playground.runs.sweeps.sweep_making import SweepPlan, SweepRequest
from playground.runs.sweeps.sweep_progress import SweepProgress, progress_of
from playground.runs.sweeps.sweep_record import Sweep
from tests.runs.cluster.scripted import Scripted, connect
from tests.support import at_once, small_config, wait_until

pytestmark = pytest.mark.usefixtures("fake_worker")
VARY = ("kl.coef=0.1,0.5", "seed=0,1")


def planned(outputs: Path, does: str = "wait", name: str = "leash", **options: str) -> SweepPlan:
    def check(config: RunConfig) -> None:
        """Nothing against it."""

    base = small_config(does).model_dump(mode="json")
    wanted = SweepRequest("my-preset", base, [], VARY, name, **options)  # type: ignore[arg-type]
    return sweep_making.plan(outputs, wanted, check)


def created(outputs: Path, does: str = "wait") -> Sweep:
    return sweep_making.create(outputs, planned(outputs, does).sweep)


def states(outputs: Path, sweep: Sweep) -> dict[str, str]:
    return {run.id: run.status().state for run in sweep_record.runs_of(outputs, sweep)}


def ids(count: int = 4) -> list[str]:
    return [f"leash-{number}" for number in range(1, count + 1)]


def test_the_runs_of_a_sweep_are_ordinary_runs_in_one_queue(outputs: Path) -> None:
    sweep = created(outputs)
    assert sweep_record.find(outputs, "leash") == sweep
    assert [run.id for run in sweep_record.runs_of(outputs, sweep)] == sweep.runs == ids()
    assert queue.waiting(outputs) == ids()[1:]
    assert [run.id for run in launcher.living_runs(outputs)] == ids()[:1]
    configs = [run.config() for run in sweep_record.runs_of(outputs, sweep)]
    assert [(one.kl.coef, one.seed) for one in configs] == [(0.1, 0), (0.1, 1), (0.5, 0), (0.5, 1)]
    assert {run.id for run in history.list_runs(outputs)} == set(ids())


@pytest.mark.parametrize("name", ["Leash", "a/b", "", "x" * 51, ".."])
def test_a_name_that_cannot_be_a_folder_is_refused(outputs: Path, name: str) -> None:
    if not name:
        assert sweep_making.fresh_name(outputs, "presets/My Preset.yaml").startswith("my-preset-")
        return
    with pytest.raises(InvalidConfig, match="name: Use 1 to 50 small letters"):
        planned(outputs, name=name)
    with pytest.raises(RunNotFound):
        sweep_record.find(outputs, name)


def test_a_name_that_is_taken_is_refused_by_the_sweep_or_run_that_has_it(outputs: Path) -> None:
    created(outputs)
    with pytest.raises(InvalidConfig, match="There is already a sweep `leash`"):
        planned(outputs, "finish")
    RunDirectory.create(outputs, small_config(), "other-3")
    with pytest.raises(InvalidConfig, match="There is already a run `other-3`"):
        planned(outputs, name="other")
    assert not sweep_record.path_of(outputs, "other").exists()


def progress(outputs: Path, sweep: Sweep) -> SweepProgress:
    return progress_of(sweep, sweep_record.statuses(outputs, sweep))


def interrupted(outputs: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> Sweep:
    """A sweep whose disk was full when so many runs were made, in the middle of the next one."""
    real, left = RunDirectory.reserve.__func__, [after]  # type: ignore[attr-defined]

    def full(cls: type[RunDirectory], *given: object) -> RunDirectory:
        if not left[0]:
            raise OSError(28, "No space left on device")
        left[0] -= 1
        made: RunDirectory = real(cls, *given)
        return made

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left"):
        patched.setattr(RunDirectory, "reserve", classmethod(full))
        created(outputs)
    return sweep_record.find(outputs, "leash")


@pytest.mark.parametrize("how", ["the same command", "resume all"])
def test_a_sweep_whose_making_was_interrupted_is_completed(
    outputs: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    sweep = interrupted(outputs, monkeypatch, after=2)
    assert list(states(outputs, sweep)) == ids(2)
    assert progress(outputs, sweep).unmade == 2
    wait_until(lambda: states(outputs, sweep)[ids()[0]] == "running")  # from here on its attempt has its time
    first = RunDirectory(outputs / ids()[0]).status().started_at
    if how == "resume all":
        assert sweep_making.resume_all(outputs, sweep).going == ids()[2:]
    else:
        sweep_making.create(outputs, planned(outputs).sweep)
    assert list(states(outputs, sweep)) == ids()
    assert queue.waiting(outputs) == ids()[1:]
    assert RunDirectory(outputs / ids()[0]).status().started_at == first


def test_a_run_that_was_deleted_is_not_made_again(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = interrupted(outputs, monkeypatch, after=2)
    launcher.stop(RunDirectory(outputs / ids()[1]))
    history.delete_run(RunDirectory(outputs / ids()[1]))
    sweep_making.resume_all(outputs, sweep)
    assert list(states(outputs, sweep)) == [ids()[0], *ids()[2:]]
    history.empty_bin(outputs)
    sweep = sweep_making.create(outputs, sweep)
    assert (progress(outputs, sweep).deleted, progress(outputs, sweep).unmade) == (1, 0)
    assert list(states(outputs, sweep)) == [ids()[0], *ids()[2:]]


def test_two_who_make_the_same_sweep_at_once_make_each_run_once(outputs: Path) -> None:
    sweep = planned(outputs).sweep
    found: list[Sweep] = []
    at_once(*[lambda: found.append(sweep_making.create(outputs, sweep))] * 3)
    assert [one.name for one in found] == ["leash"] * 3
    assert list(states(outputs, sweep)) == ids()
    assert sorted(queue.waiting(outputs)) == ids()[1:]
    assert sorted(path.name for path in outputs.iterdir() if path.is_dir() and path.name[0] != ".") == ids()


def test_all_are_stopped_and_none_of_them_trains_meanwhile(outputs: Path) -> None:
    sweep = created(outputs)
    wait_until(lambda: RunDirectory(outputs / ids()[0]).status().state == "running")
    assert sweep_making.stop_all(outputs, sweep) == ids()[::-1], "the one that trains last: it would make room"
    wait_until(lambda: all(state == "stopped" for state in states(outputs, sweep).values()))
    assert not any(run.metrics() for run in sweep_record.runs_of(outputs, sweep)[1:])
    assert progress(outputs, sweep) == SweepProgress(stopped=4)
    assert sweep_making.stop_all(outputs, sweep) == []


def test_all_are_resumed_but_those_that_have_finished(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = created(outputs)
    sweep_making.stop_all(outputs, sweep)
    wait_until(lambda: all(state == "stopped" for state in states(outputs, sweep).values()))
    wait_until(lambda: not launcher.living_runs(outputs))
    done = RunDirectory(outputs / ids()[2])
    done.status_path.write_text(Status(state="finished").model_dump_json())
    bad = RunDirectory(outputs / ids()[3])
    bad.status_path.write_text(Status(state="failed", reason="invalid", message="No such model.").model_dump_json())
    found = sweep_making.resume_all(outputs, sweep)
    assert found.going == ids(2)
    assert found.refused == {ids()[3]: "No such model."}
    assert queue.waiting(outputs) == [ids()[1]]


def test_all_are_deleted_at_once_but_not_while_any_goes_on(outputs: Path) -> None:
    sweep = created(outputs)
    with pytest.raises(RunBusy, match=r"4 of its runs have not ended\. Press Stop all first, then delete `leash`\."):
        sweep_making.delete_all(outputs, sweep)
    sweep_making.stop_all(outputs, sweep)
    wait_until(lambda: all(state == "stopped" for state in states(outputs, sweep).values()))
    wait_until(lambda: not launcher.living_runs(outputs))
    assert sweep_making.delete_all(outputs, sweep) == 4
    assert len(list((outputs / history.BIN).iterdir())) == 4
    assert not list(outputs.glob("leash-*"))
    assert sweep_record.every(outputs) == []
    assert created(outputs).created_at > sweep.created_at  # the name is free again


def test_a_sweep_elsewhere_is_refused_where_there_is_no_engine(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cluster.BACKENDS, "ray", ("no_such_engine", "requirements.txt"))
    with pytest.raises(InvalidConfig, match="on: needs the package `no_such_engine`"):
        planned(outputs, on="ray")
    with pytest.raises(InvalidConfig, match="option: is for a cluster"):
        planned(outputs, options=["cpus=2"])
    with pytest.raises(InvalidConfig, match=r"option\.cpu: .* Did you mean `cpus`"):
        planned(outputs, on="slurm", options=["cpu=2"])


def test_a_sweep_elsewhere_is_handed_over_as_queued_runs(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm = Scripted()
    connect(monkeypatch, slurm)
    sweep = sweep_making.create(outputs, planned(outputs, on="slurm", options=["cpus=2"]).sweep)
    assert [(job.run.id, job.attempt, job.options.cpus) for job in slurm.jobs] == [(run_id, 1, 2) for run_id in ids()]
    Supervisor(outputs).look()
    assert queue.waiting(outputs) == []
    assert states(outputs, sweep) == dict.fromkeys(ids(), "queued")
    sweep_making.create(outputs, sweep)
    run = RunDirectory(outputs / ids()[1])
    run.status_path.write_text(Status(state="stopped", reason="stopped").model_dump_json())
    for other in (*ids()[:1], *ids()[2:]):
        (outputs / other / "status.json").write_text(Status(state="finished").model_dump_json())
    assert sweep_making.resume_all(outputs, sweep).going == [run.id]
    assert [(job.run.id, job.attempt) for job in slurm.jobs[4:]] == [(run.id, 2)]


def forgotten_later(outputs: Path) -> None:
    """What is tidied up when a while has gone by."""
    for path in (outputs / sweep_record.FOLDER).iterdir():
        os.utime(path, (1, 1))
    sweep_making.forget_gone(outputs)


def test_the_record_of_a_sweep_goes_with_the_last_of_its_runs(outputs: Path) -> None:
    sweep = created(outputs)
    sweep_making.stop_all(outputs, sweep)
    wait_until(lambda: not launcher.living_runs(outputs))
    for run_id in ids():
        forgotten_later(outputs)
        assert sweep_record.path_of(outputs, "leash").exists()
        history.delete_run(RunDirectory(outputs / run_id))
    os.utime(sweep_record.path_of(outputs, "leash"))
    sweep_making.forget_gone(outputs)
    assert sweep_record.path_of(outputs, "leash").exists(), "a page may have it open"
    forgotten_later(outputs)
    assert list((outputs / sweep_record.FOLDER).iterdir()) == []
    with pytest.raises(RunNotFound, match="It may have been deleted"):
        sweep_record.find(outputs, "leash")
