"""Making the runs of a sweep: once each, whoever is interrupted or repeats it; stopping and taking up all of them."""

import os

import pytest

from playground.analysis import over_seeds
from playground.errors import InvalidConfig, RunBusy, RunNotFound
from playground.runs import history, launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status
from playground.runs.supervisor import Supervisor
from playground.runs.sweeps import sweep_making, sweep_record
from playground.runs.sweeps.sweep_making import SweepRequest
from playground.runs.sweeps.sweep_progress import progress_of
from tests.runs.cluster.scripted import Scripted, connect
from tests.support import at_once, small_config, wait_until

pytestmark = pytest.mark.usefixtures("fake_worker")
IDS = ["leash-1", "leash-2", "leash-3", "leash-4"]


def planned(outputs, does="wait", name="leash", **options):
    vary = ("kl.coef=0.1,0.5", "seed=0,1")
    request = SweepRequest("my-preset", small_config(does).model_dump(mode="json"), [], vary, name, **options)
    return sweep_making.plan(outputs, request, lambda config: None)


def created(outputs):
    return sweep_making.create(outputs, planned(outputs).sweep)


def stopped(outputs):
    sweep = created(outputs)
    sweep_making.stop_all(outputs, sweep)
    wait_until(lambda: set(states(outputs, sweep).values()) == {"stopped"} and not launcher.living_runs(outputs))
    return sweep


def states(outputs, sweep):
    return {run.id: run.status().state for run in sweep_record.runs_of(outputs, sweep)}


def progress(outputs, sweep):
    return progress_of(sweep, sweep_record.statuses(outputs, sweep))


def write_status(outputs, run_id, **status):
    RunDirectory(outputs / run_id).status_path.write_text(Status(**status).model_dump_json())


def test_the_runs_of_a_sweep_are_ordinary_runs_in_one_queue(outputs):
    sweep = created(outputs)
    assert sweep_record.find(outputs, "leash") == sweep
    assert [run.id for run in sweep_record.runs_of(outputs, sweep)] == sweep.runs == IDS
    assert queue.waiting(outputs) == IDS[1:]
    assert [run.id for run in launcher.living_runs(outputs)] == IDS[:1]
    configs = [run.config() for run in sweep_record.runs_of(outputs, sweep)]
    assert [(config.kl.coef, config.seed) for config in configs] == [(0.1, 0), (0.1, 1), (0.5, 0), (0.5, 1)]
    assert {run.id for run in history.list_runs(outputs)} == set(IDS)
    assert {config.name for config in configs} == {"wait"}, "a name that was typed stays"
    unnamed = sweep.model_copy(update={"base": {**sweep.base, "name": "kinder-reviews"}})
    assert [unnamed.config(run_id).name for run_id in IDS[1:3]] == [
        "leash 0.1 \u00b7 seed 1",
        "leash 0.5 \u00b7 seed 0",
    ]


@pytest.mark.parametrize("name", ["Leash", "a/b", "x" * 51, ".."])
def test_a_name_that_cannot_be_a_folder_is_refused(outputs, name):
    with pytest.raises(InvalidConfig, match="name: Use 1 to 50 small letters"):
        planned(outputs, name=name)
    with pytest.raises(RunNotFound):
        sweep_record.find(outputs, name)
    assert sweep_making.fresh_name(outputs, "presets/My Preset.yaml").startswith("my-preset-")


def test_a_name_that_is_taken_is_refused_by_the_sweep_or_run_that_has_it(outputs):
    created(outputs)
    with pytest.raises(InvalidConfig, match="There is already a sweep `leash`"):
        planned(outputs, "finish")
    RunDirectory.create(outputs, small_config(), "other-3")
    with pytest.raises(InvalidConfig, match="There is already a run `other-3`"):
        planned(outputs, name="other")
    assert not sweep_record.path_of(outputs, "other").exists()


@pytest.fixture
def interrupted(outputs, monkeypatch):
    """A sweep whose disk was full when two of its runs were made, in the middle of the next one."""
    reserve, left = RunDirectory.reserve.__func__, [2]

    def full(cls, *arguments):
        if not left[0]:
            raise OSError(28, "No space left on device")
        left[0] -= 1
        return reserve(cls, *arguments)

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left"):
        patched.setattr(RunDirectory, "reserve", classmethod(full))
        created(outputs)
    return sweep_record.find(outputs, "leash")


@pytest.mark.parametrize("how", ["the same command", "resume all"])
def test_a_sweep_whose_making_was_interrupted_is_completed(outputs, interrupted, how):
    assert (list(states(outputs, interrupted)), progress(outputs, interrupted).unmade) == (IDS[:2], 2)
    wait_until(lambda: states(outputs, interrupted)[IDS[0]] == "running")  # from here on its attempt has its time
    first = RunDirectory(outputs / IDS[0]).status().started_at
    if how == "resume all":
        assert sweep_making.resume_all(outputs, interrupted).going == IDS[2:]
    else:
        created(outputs)
    assert list(states(outputs, interrupted)) == IDS
    assert queue.waiting(outputs) == IDS[1:]
    assert RunDirectory(outputs / IDS[0]).status().started_at == first


def test_a_run_that_was_deleted_is_not_made_again(outputs, interrupted):
    launcher.stop(RunDirectory(outputs / IDS[1]))
    history.delete_run(RunDirectory(outputs / IDS[1]))
    sweep_making.resume_all(outputs, interrupted)
    assert list(states(outputs, interrupted)) == [IDS[0], *IDS[2:]]
    history.empty_bin(outputs)
    sweep = sweep_making.create(outputs, interrupted)
    assert (progress(outputs, sweep).deleted, progress(outputs, sweep).unmade) == (1, 0)
    assert list(states(outputs, sweep)) == [IDS[0], *IDS[2:]]


def test_two_who_make_the_same_sweep_at_once_make_each_run_once(outputs):
    sweep, sweeps = planned(outputs).sweep, []
    at_once(*[lambda: sweeps.append(sweep_making.create(outputs, sweep))] * 3)
    assert [sweep.name for sweep in sweeps] == ["leash"] * 3
    assert list(states(outputs, sweep)) == IDS
    assert sorted(queue.waiting(outputs)) == IDS[1:]
    assert sorted(path.name for path in outputs.iterdir() if path.is_dir() and path.name[0] != ".") == IDS


def test_all_are_deleted_at_once_but_not_while_any_goes_on(outputs):
    with pytest.raises(RunBusy, match=r"4 of its runs have not ended\. Press Stop all first, then delete `leash`\."):
        sweep_making.delete_all(outputs, created(outputs))
    sweep = stopped(outputs)
    assert sweep_making.delete_all(outputs, sweep) == 4
    assert len(list((outputs / history.BIN).iterdir())) == 4
    assert not list(outputs.glob("leash-*"))
    assert sweep_record.every(outputs) == []
    assert created(outputs).created_at > sweep.created_at  # the name is free again


def test_a_sweep_elsewhere_is_handed_over_as_queued_runs(outputs, monkeypatch):
    slurm = Scripted()
    connect(monkeypatch, slurm)
    sweep = sweep_making.create(outputs, planned(outputs, on="slurm", options=["cpus=2"]).sweep)
    assert [(job.run.id, job.attempt, job.options.cpus) for job in slurm.jobs] == [(run_id, 1, 2) for run_id in IDS]
    Supervisor(outputs).look()
    assert queue.waiting(outputs) == []
    assert states(outputs, sweep) == dict.fromkeys(IDS, "queued")
    sweep_making.create(outputs, sweep)
    for run_id in IDS:
        write_status(outputs, run_id, state="finished")
    write_status(outputs, IDS[1], state="stopped", reason="stopped")
    assert sweep_making.resume_all(outputs, sweep).going == [IDS[1]]
    assert [(job.run.id, job.attempt) for job in slurm.jobs[4:]] == [(IDS[1], 2)]


def test_the_record_of_a_sweep_goes_with_the_last_of_its_runs(outputs):
    def forgotten_later():
        """What is tidied up when a while has gone by."""
        for path in (outputs / sweep_record.FOLDER).iterdir():
            os.utime(path, (1, 1))
        sweep_making.forget_gone(outputs)

    stopped(outputs)
    for run_id in IDS:
        forgotten_later()
        assert sweep_record.path_of(outputs, "leash").exists()
        history.delete_run(RunDirectory(outputs / run_id))
    os.utime(sweep_record.path_of(outputs, "leash"))
    sweep_making.forget_gone(outputs)
    assert sweep_record.path_of(outputs, "leash").exists(), "a page may have it open"
    forgotten_later()
    assert list((outputs / sweep_record.FOLDER).iterdir()) == []
    with pytest.raises(RunNotFound, match="It may have been deleted"):
        sweep_record.find(outputs, "leash")


def cells_of(outputs):
    """The setting and seed of each run that is there, as its configuration has them."""
    runs = sweep_record.runs_of(outputs, sweep_record.find(outputs, "leash"))
    return {run.id: (run.config().kl.coef, run.config().seed) for run in runs}


def test_seeds_are_added_to_each_setting_and_the_runs_there_keep_their_places(outputs):
    stopped(outputs)
    cells = cells_of(outputs)
    assert sweep_making.add_seeds(outputs, "leash", 1) == ["leash-5", "leash-6"]
    assert cells_of(outputs) == cells | {"leash-5": (0.1, 2), "leash-6": (0.5, 2)}
    assert (queue.waiting(outputs), states(outputs, sweep_record.find(outputs, "leash"))["leash-1"]) == (
        ["leash-6"],
        "stopped",
    )
    grown = sweep_record.find(outputs, "leash")
    assert [(setting.values, len(setting.runs)) for setting in over_seeds.settings(grown)] == [
        ({"kl.coef": 0.1}, 3),
        ({"kl.coef": 0.5}, 3),
    ]
    assert sweep_making.add_seeds(outputs, "leash", 1) == ["leash-7", "leash-8"]
    vary = ("kl.coef=0.1,0.5", "seed=0,1,2,3")
    same = sweep_making.plan(outputs, SweepRequest("my-preset", grown.base, [], vary, "leash"), lambda config: None)
    assert [(config.kl.coef, config.seed) for config in same.configs] == [*cells_of(outputs).values()]


def test_seeds_are_added_where_none_varied_and_a_deleted_run_stays_deleted(outputs):
    base = small_config("wait", seed=7).model_dump(mode="json")
    request = SweepRequest("my-preset", base, [], ("kl.coef=0.1,0.5",), "leash")
    sweep_making.create(outputs, sweep_making.plan(outputs, request, lambda config: None).sweep)
    launcher.stop(RunDirectory(outputs / "leash-2"))
    history.delete_run(RunDirectory(outputs / "leash-2"))
    RunDirectory.create(outputs, small_config(), "leash-3")  # of somebody else
    assert sweep_making.add_seeds(outputs, "leash", 2) == ["leash-4", "leash-5", "leash-6", "leash-7"]
    added = {"leash-4": (0.1, 8), "leash-5": (0.5, 8), "leash-6": (0.1, 9), "leash-7": (0.5, 9)}
    assert cells_of(outputs) == {"leash-1": (0.1, 7)} | added
    assert progress(outputs, sweep_record.find(outputs, "leash")).deleted == 1


def test_no_seeds_are_added_to_a_sweep_whose_runs_were_not_all_made(outputs, interrupted):
    with pytest.raises(InvalidConfig, match="Resume it first"):
        sweep_making.add_seeds(outputs, "leash", 1)
