"""One real update before a run: its figures, that nothing else of it stays, and every way in which it can end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from playground.errors import RunBusy
from playground.runs import history, launcher, queue, trial
from playground.runs.folder import heartbeat
from playground.runs.folder.directory import RunDirectory
from playground.runs.supervisor import Supervisor
from playground.setup import estimates
from tests.forking import Forker
from tests.support import PROJECT, has_ended, kill_worker, small_config, wait_until

QUICK = {
    "model": {"source": "pocket-1m"},
    "ppo": {"num_updates": 30, "batch_size": 8, "minibatch_size": 8, "micro_batch_size": 8},
    "sampling": {"max_new_tokens": 4},
}


def silent(run: RunDirectory, lock: IO[bytes]) -> subprocess.Popen[bytes]:
    """A worker that holds the lock and does nothing else."""
    process = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(lock.fileno(),), start_new_session=True
    )
    launcher.name_worker(run, process.pid)
    return process


def test_a_trial_measures_a_real_update_and_leaves_no_run(outputs: Path, forker: Forker) -> None:
    config = small_config("mine", **QUICK)
    steps = trial.make(config, outputs, forker.spawn)
    first = next(steps)
    assert first["state"] == "asking"
    assert RunDirectory(outputs / launcher.TRIAL).is_alive()
    assert history.list_runs(outputs) == []
    assert launcher.living_runs(outputs) == []
    *_, found = steps
    assert found["state"] == "done"
    assert 1 <= found["updates"] < 30
    assert 0 < found["seconds_per_update"] < 60
    assert 0.1 < found["memory_gb"] < 3
    assert found["seconds"][0] < 30 * found["seconds_per_update"] * 2
    assert found["verdict"] == "fits"
    assert found["advice"] == ""
    assert found["better"] is None
    assert not (outputs / launcher.TRIAL).exists()
    assert history.list_runs(outputs) == []
    known = estimates.estimate(config, outputs, finished=history.finished_runs(outputs))
    assert known.measured
    assert known.total == pytest.approx(found["memory_gb"] * 1e9)
    assert known.seconds == pytest.approx(found["seconds"])
    other = small_config("mine", **{**QUICK, "sampling": {"max_new_tokens": 8}})
    again = estimates.estimate(other, outputs, finished=history.finished_runs(outputs))
    assert not again.measured
    assert again.seconds


def later(run: RunDirectory) -> None:
    """Let the time go by in which a maker may still read what a trial came to."""
    os.utime(run.path, (1, 1))


@pytest.mark.parametrize("name", ["listening", "deaf-loading"])
def test_a_trial_dies_with_its_maker_and_is_cleared_away(outputs: Path, name: str) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from playground.runs import trial; from playground.runs import launcher\n"
        "from tests.support import small_config\n"
        "launcher.WORKER_MODULE = 'tests.faults.scripted_worker'\n"
        "for step in trial.make(small_config(sys.argv[2]), Path(sys.argv[1])): pass\n"
    )
    run = RunDirectory(outputs / launcher.TRIAL)
    with subprocess.Popen([sys.executable, "-c", script, str(outputs), name], cwd=PROJECT) as maker:
        wait_until(lambda: run.path.exists() and heartbeat.read(run.path))
        later(run)
        Supervisor(outputs).look()
        pid = run.status().pid
        assert not has_ended(pid), "it is being made"
        maker.kill()
    wait_until(lambda: has_ended(pid), 15)
    Supervisor(outputs).look()
    assert run.path.exists(), "its maker could be reading it"
    later(run)
    Supervisor(outputs).look()
    assert not run.path.exists()


def test_the_process_of_a_trial_is_bounded_in_updates_and_in_time(outputs: Path) -> None:
    config = small_config("mine", ppo={"num_updates": 200}, max_minutes=10_000)
    steps = trial.make(config, outputs, silent)
    next(steps)
    tried = RunDirectory(outputs / launcher.TRIAL).config()
    assert tried.ppo.num_updates == 3
    assert tried.max_minutes == 10
    assert not tried.checkpoint.every
    assert [tried.evaluation.is_traced(update, 3) for update in (1, 2, 3)] == [True, False, False]
    steps.close()


@pytest.mark.parametrize("way", ["start", "queue"])
def test_to_begin_to_train_ends_the_trial(outputs: Path, fake_worker: None, way: str) -> None:
    steps = trial.make(small_config(), outputs, silent)
    next(steps)
    if way == "queue":
        waiting = RunDirectory.create(outputs, small_config("wait"), "waiting")
        queue.enter(waiting, "cpu", attempt=1)
        (run,) = launcher.start_waiting(outputs)
    else:
        run = launcher.start(small_config("wait"), outputs, "new").run
    assert not RunDirectory(outputs / launcher.TRIAL).is_alive()
    assert run.is_alive()
    *_, found = steps
    assert (found["state"], found["message"]) == ("stopped", trial.ENDED)
    kill_worker(run)


def test_only_one_trial_and_none_beside_a_run(outputs: Path, fake_worker: None) -> None:
    steps = trial.make(small_config(), outputs, silent)
    next(steps)
    with pytest.raises(RunBusy, match="Another trial"):
        next(trial.make(small_config(), outputs, silent))
    steps.close()
    run, _ = launcher.start(small_config("wait"), outputs, "trains")
    with pytest.raises(RunBusy, match="A run trains or waits on"):
        next(trial.make(small_config(), outputs, silent))
    kill_worker(run)
    wait_until(lambda: not run.is_alive())
    (outputs / launcher.TRIAL).mkdir()  # of a server that died in the middle of one
    steps = trial.make(small_config(), outputs, silent)
    assert next(steps)["state"] == "asking"
    steps.close()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("RunWriter(run, 3).finish('failed', 'out_of_memory', 'Out of memory. Halve the batch.')", "Halve"),
        ("print('last words', flush=True); os._exit(9)", "It said: last words"),
    ],
)
def test_a_worker_that_fails_or_dies_says_why(outputs: Path, script: str, words: str) -> None:
    def spawn(run: RunDirectory, lock: IO[bytes]) -> subprocess.Popen[bytes]:
        setup = (
            "import os\n"
            "from playground.runs.folder.directory import RunDirectory\n"
            "from playground.runs.folder.writer import RunWriter\n"
            f"run = RunDirectory({str(run.path)!r})\n"
        )
        with open(run.log_path, "wb") as log:
            return subprocess.Popen([sys.executable, "-c", setup + script], pass_fds=(lock.fileno(),), stdout=log)

    *_, found = trial.make(small_config(), outputs, spawn)
    assert found["state"] == "failed"
    assert words in found["message"]
    assert not (outputs / launcher.TRIAL).exists()
    assert trial.timed(outputs) == []
