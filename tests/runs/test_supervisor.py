"""Runs get the end that they have had: written once, under the worker's lock, and never for one that lives."""

import signal
import threading
import time

import psutil
import pytest

from playground.config import RewardTrainingConfig
from playground.runs import children, launcher, reward_models, supervisor
from playground.runs.folder import writer
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import is_locked, write_atomically
from playground.runs.folder.records import Status
from playground.runs.supervisor import Supervisor, SupervisorThread
from tests.support import at_once, small_config, wait_until


def lost_run(outputs, name="lost", **status):
    """A run whose status says that it trains, and whose worker is not there."""
    run = RunDirectory.create(outputs, small_config(), name)
    now = time.time()
    facts = {"state": "running", "phase": "training", "pid": 4_000_000, "update": 2, "started_at": now - 60}
    changed = run.status_on_disk().model_copy(update={**facts, "updated_at": now - 50, **status})
    write_atomically(run.status_path, changed.model_dump_json())
    return run


def states(run):
    return [event.data["state"] for event in run.events()]


@pytest.mark.parametrize("state", ["starting", "running", "paused", "stopping"])
def test_a_run_without_a_worker_gets_its_end_once(outputs, state):
    run = lost_run(outputs, state=state)
    run.reserve_path.write_bytes(b"space")
    assert [ended.id for ended in Supervisor(outputs).end_the_dead()] == ["lost"]
    status = run.status_on_disk()
    assert (status.state, status.reason, status.phase, status.update) == ("interrupted", "killed", "", 2)
    assert status.message
    assert states(run) == ["interrupted"]
    assert not run.reserve_path.exists()
    assert 9 < status.updated_at - status.started_at < 11  # until its worker's last word, not until now
    assert (Supervisor(outputs).end_the_dead(), states(run)) == ([], ["interrupted"])


def test_what_lives_has_ended_or_waits_is_left_alone(outputs, fake_worker):
    living, _ = launcher.start(small_config("wait"), outputs, "living")
    waiting, _ = launcher.start(small_config(), outputs, "waiting")
    ended = lost_run(outputs, "ended", state="failed", reason="bug", message="So it says.")
    wait_until(lambda: living.status().update == 1)  # the last word before it waits
    before = [run.status_path.read_bytes() for run in (living, waiting, ended)]
    Supervisor(outputs).look()
    assert [run.status_path.read_bytes() for run in (living, waiting, ended)] == before
    assert waiting.queue_path.exists()


def test_a_run_that_ends_or_is_taken_between_the_look_and_the_lock_is_not_contradicted(outputs, monkeypatch):
    monkeypatch.setattr(launcher, "LOCK_PATIENCE_SECONDS", 0.05)
    run, take = lost_run(outputs), launcher.take
    lock = launcher.take_lock(run)
    assert not supervisor.end_if_dead(run, outputs)
    assert run.status_on_disk().state == "running"

    def finish_first(file):
        writer.write_end(run, run.status_on_disk(), "finished", "", "")
        lock.close()
        take(file)

    monkeypatch.setattr(launcher, "take", finish_first)
    assert not supervisor.end_if_dead(run, outputs)
    assert (run.status_on_disk().state, states(run)) == ("finished", ["finished"])


@pytest.fixture
def own_worker(monkeypatch):
    """Workers by script are children of this process, which has to fetch their exit codes."""
    monkeypatch.setattr(launcher, "WORKER_MODULE", "tests.fake_worker")


def test_a_worker_that_dies_during_a_look_keeps_its_exit_code_for_the_next_and_leaves_no_zombie(
    outputs, own_worker, monkeypatch
):
    run, process = launcher.start(small_config("deaf"), outputs)
    wait_until(lambda: run.status().state == "running")

    def dies_then(run):
        alive = is_locked(run.lock_path)
        if alive:
            process.kill()
            process.wait()  # it lets go of the lock a moment before its exit code can be fetched
        return alive

    monkeypatch.setattr(RunDirectory, "is_alive", dies_then)
    keeper = Supervisor(outputs)
    assert keeper.end_the_dead() == []
    assert children.exit_code(run) == -signal.SIGKILL
    assert len(keeper.end_the_dead()) == 1
    assert (run.status_on_disk().state, run.status_on_disk().reason) == ("interrupted", "killed")
    assert "SIGKILL" in run.status_on_disk().message
    assert not psutil.pid_exists(process.pid)


def test_the_training_of_a_reward_model_gets_its_end_and_gives_its_place_away(outputs, own_worker):
    training, process = reward_models.start(RewardTrainingConfig(name="wait"), outputs)
    wait_until(lambda: training.status().state == "running")
    keeper = Supervisor(outputs)
    assert keeper.end_the_dead() == []
    process.kill()
    wait_until(lambda: not training.is_alive())
    assert len(keeper.end_the_dead()) == 1
    assert training.status_on_disk().state == "interrupted"
    assert reward_models.living(outputs) is None
    assert process.returncode == -signal.SIGKILL  # fetched: no zombie


def test_an_unreadable_status_is_written_anew_from_the_other_files(outputs):
    run = lost_run(outputs)
    whole = '{"attempt": 1, "seq": 0, "time": 5, "kind": "state"}\n'
    run.events_path.write_text(whole + '{"attempt": 1, "seq": 1, "time": 65, "kind"')
    run.status_path.write_text('{"state": "runn')
    assert len(Supervisor(outputs).end_the_dead()) == 1
    status = Status.model_validate_json(run.status_path.read_bytes())
    assert (status.state, status.reason) == ("interrupted", "damaged")
    assert [event.seq for event in run.events()] == [0, 1]  # the torn line is not glued to the new one
    assert Supervisor(outputs).end_the_dead() == []
    assert len(run.events()) == 2


def test_several_who_look_at_once_write_one_end(outputs):
    runs = [lost_run(outputs, f"lost-{number}") for number in range(5)]
    at_once(*[lambda: Supervisor(outputs).look()] * 8)
    assert [states(run) for run in runs] == [["interrupted"]] * 5


def test_an_end_that_could_not_be_written_is_written_once_there_is_room(outputs, monkeypatch, capsys):
    run, _ = lost_run(outputs, "first"), lost_run(outputs, "second")
    write, tries, clock = writer.write_end, [], [1000.0]

    def full_twice(ended, *rest):
        if ended.id == run.id:
            tries.append(clock[0])
            if len(tries) < 3:
                raise OSError(28, "No space left on device")
        write(ended, *rest)

    monkeypatch.setattr(writer, "write_end", full_twice)
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: clock[0])
    keeper = Supervisor(outputs)
    assert [ended.id for ended in keeper.end_the_dead()] == ["second"], "it costs no other run its end"
    assert keeper.end_the_dead() == []
    assert tries == [1000.0], "not every second"
    clock[0] += supervisor.RETRY_SECONDS
    assert keeper.end_the_dead() == []
    clock[0] += supervisor.RETRY_SECONDS
    assert [ended.id for ended in keeper.end_the_dead()] == [run.id]
    assert capsys.readouterr().err.count("No space left on device") == 1, "said once"


def test_the_watch_outlives_whatever_a_look_or_a_chore_raises(outputs, monkeypatch, capsys):
    calls = []

    def broken(name):
        def function(*_):
            calls.append(name)
            raise KeyError(name)

        return function

    monkeypatch.setattr(supervisor, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(Supervisor, "end_the_dead", broken("dead"))
    monkeypatch.setattr(launcher, "start_waiting", broken("queue"))
    watch = SupervisorThread(outputs, chores=[broken("chore"), lambda: calls.append("next chore")])
    watch.start()
    wait_until(lambda: min(map(calls.count, ("dead", "queue", "chore", "next chore"))) > 2)
    watch.close()
    assert "KeyError('dead')" in capsys.readouterr().err
    assert "supervisor" not in [thread.name for thread in threading.enumerate()]
