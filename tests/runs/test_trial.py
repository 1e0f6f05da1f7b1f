"""One real update before a run: its figures, that nothing else of it stays, and every way in which it can end."""

import os
import subprocess

import pytest

from playground.errors import RunBusy
from playground.runs import history, launcher, queue, trial
from playground.runs.folder import heartbeat
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.supervisor import Supervisor
from playground.setup import estimates
from tests.runs.test_half_made import idle
from tests.support import data_beside, has_ended, kill_worker, small_config, wait_until

QUICK = data_beside(__file__, "tables.yaml")["quick"]


@pytest.fixture
def asking(outputs):
    """A trial under way."""
    steps = trial.make(small_config(), outputs, idle)
    assert next(steps)["state"] == "asking"
    yield steps
    steps.close()


def test_a_trial_measures_a_real_update_and_leaves_no_run(outputs, forker):
    config = small_config("mine", **QUICK)
    steps = trial.make(config, outputs, forker.spawn)
    assert next(steps)["state"] == "asking"
    assert RunDirectory(outputs / launcher.TRIAL).is_alive()
    assert (history.list_runs(outputs), launcher.living_runs(outputs)) == ([], [])
    *_, answer = steps
    assert answer["state"] == "done"
    assert 1 <= answer["updates"] < 30
    assert 0 < answer["seconds_per_update"] < 60
    assert 0.1 < answer["memory_gb"] < 3
    assert answer["seconds"][0] < 30 * answer["seconds_per_update"] * 2
    assert (answer["verdict"], answer["advice"], answer["better"]) == ("fits", "", None)
    assert not (outputs / launcher.TRIAL).exists()
    assert history.list_runs(outputs) == []
    same = estimates.estimate(config, outputs, finished=history.finished_runs(outputs))
    assert same.measured
    assert same.total_gb == pytest.approx(answer["memory_gb"])
    assert same.seconds == pytest.approx(answer["seconds"])
    other = small_config("mine", **{**QUICK, "sampling": {"max_new_tokens": 8}})
    estimated = estimates.estimate(other, outputs, finished=history.finished_runs(outputs))
    assert not estimated.measured
    assert estimated.seconds


@pytest.mark.parametrize("name", ["listening", "deaf-loading"])
def test_a_trial_dies_with_its_maker_and_is_cleared_away(outputs, scripted, name):
    run = RunDirectory(outputs / launcher.TRIAL)
    arguments = [str(outputs), name, "trial"]
    maker = scripted.fork("tests.faults.driver", arguments, os.environ, output=1)
    wait_until(lambda: run.path.exists() and heartbeat.read(run.path))
    os.utime(run.path, (1, 1))  # the time in which a maker may read what a trial came to has gone by
    Supervisor(outputs).look()
    pid = run.status().pid
    assert not has_ended(pid), "it is being made"
    maker.kill()
    wait_until(lambda: has_ended(pid))
    Supervisor(outputs).look()
    assert run.path.exists(), "its maker could be reading it"
    os.utime(run.path, (1, 1))
    Supervisor(outputs).look()
    assert not run.path.exists()


def test_the_process_of_a_trial_is_bounded_in_updates_and_in_time(outputs):
    config = small_config("mine", ppo={"num_updates": 200}, max_minutes=10_000)
    steps = trial.make(config, outputs, idle)
    next(steps)
    tried = RunDirectory(outputs / launcher.TRIAL).config()
    assert (tried.ppo.num_updates, tried.max_minutes) == (3, 10)
    assert not tried.checkpoint.every
    assert [tried.evaluation.is_traced(update, 3) for update in (1, 2, 3)] == [True, False, False]
    steps.close()


@pytest.mark.parametrize("way", ["start", "queue"])
def test_to_begin_to_train_ends_the_trial(outputs, asking, fake_worker, way):
    if way == "queue":
        queue.enter(RunDirectory.create(outputs, small_config("wait"), "waiting"), "cpu", attempt=1)
        (run,) = launcher.start_waiting(outputs)
    else:
        run = launcher.start(small_config("wait"), outputs, "new").run
    assert not RunDirectory(outputs / launcher.TRIAL).is_alive()
    assert run.is_alive()
    *_, answer = asking
    assert (answer["state"], answer["message"]) == ("stopped", trial.ENDED)


def test_only_one_trial_and_none_beside_a_run(outputs, asking, fake_worker):
    with pytest.raises(RunBusy, match="Another trial"):
        next(trial.make(small_config(), outputs, idle))
    asking.close()
    run, _ = launcher.start(small_config("wait"), outputs, "trains")
    with pytest.raises(RunBusy, match="A run trains or waits on"):
        next(trial.make(small_config(), outputs, idle))
    kill_worker(run)
    wait_until(lambda: not run.is_alive())
    (outputs / launcher.TRIAL).mkdir()  # of a server that died in the middle of one
    steps = trial.make(small_config(), outputs, idle)
    assert next(steps)["state"] == "asking"
    steps.close()


def fails(run, lock):
    RunWriter(run, 3).finish("failed", "out_of_memory", "Out of memory. Halve the batch.")
    return idle(run, lock)


def dies(run, lock):
    with open(run.log_path, "wb") as log:
        return subprocess.Popen(["sh", "-c", "echo last words; exit 9"], pass_fds=(lock.fileno(),), stdout=log)


@pytest.mark.parametrize(("spawn", "words"), [(fails, "Halve"), (dies, "It said: last words")])
def test_a_worker_that_fails_or_dies_says_why(outputs, spawn, words):
    *_, answer = trial.make(small_config(), outputs, spawn)
    assert answer["state"] == "failed"
    assert words in answer["message"]
    assert not (outputs / launcher.TRIAL).exists()
    assert trial.timed(outputs) == []
