"""A run that two processes compute: stopped, paused, robbed of its helper, taken up by one process and by two again."""

import os
import signal
import socket

import psutil
import pytest

from playground import worker
from playground.runs import children, cluster, launcher
from playground.runs.folder import changes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import REFERENCE
from playground.runs.spawning import Here
from tests import nights
from tests.faults import resuming
from tests.support import has_ended, wait_until

MANY = 1000  # updates: more than a test waits for


def config(model, **changed):
    return resuming.config(model, **{"ranks": 2, "ppo__num_updates": MANY, "ppo__learning_rate": 3e-4, **changed})


def with_updates(run, number):
    wait_until(lambda: run.status().ended or len(run.metrics()) >= number)
    assert len(run.metrics()) >= number, (run.status(), run.log_tail())
    return run


def helper_of(run, name=""):
    """The other process of a run; `name`: a word of its command line."""
    children = psutil.Process(run.status_on_disk().pid).children()
    return next((child for child in children if name in " ".join(child.cmdline())), None)


def launched(forker, run):
    """The two processes of a run as torchrun starts them, which have no launcher of ours."""
    with socket.socket() as free, open(run.log_path, "ab") as log:
        free.bind(("127.0.0.1", 0))
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": "2"}
        free.close()
        each = [{**children.torch_environment(), **place, "RANK": rank} for rank in "01"]
        return [forker.fork("playground.worker", [str(run.path)], variables, log.fileno()) for variables in each]


@pytest.mark.parametrize("shard", nights.cases(["none", "optimizer", "full"], always=["full"]))
def test_processes_of_a_launcher_pause_stop_save_and_go_on_as_one_process_would(outputs, model, forker, shard):
    short = {"ppo__num_updates": 4, "kl": {"controller": "adaptive", "coef": 0.3, "target": 0.5}, "shard": shard}
    run = RunDirectory.create(outputs, config(model, **short, ranks=1), "two")
    (run.control_path / "pause").touch()
    first, second = launched(forker, run)
    wait_until(lambda: run.status().state == "paused")
    for done in (1, 2):
        changes.request_step(run)
        wait_until(lambda done=done: run.status().update == done and run.status().state == "paused")
    run.request_stop()
    assert (first.wait(60), second.wait(60)) == (worker.EXIT_CODES["stopped"], 0), run.log_tail()
    assert run.latest_checkpoint().name == "update-000002"
    for process, code in zip(launched(forker, run), (0, 0), strict=True):
        assert process.wait(180) == code, run.log_tail()
    assert [(line.attempt, line.ranks) for line in run.metrics()] == [(1, 2)] * 2 + [(2, 2)] * 2
    whole = resuming.alone(run)
    assert resuming.apart(run, whole) < 1e-5
    kept = [event.data["fingerprint"] for item in (whole, run) for event in item.events() if event.kind == REFERENCE]
    assert len(kept) == 4
    assert len(set(kept)) == 1, "the reference is whole again"


def test_a_divided_run_is_stopped_in_the_middle_and_one_that_loses_a_process_ends_where_its_last_checkpoint_is(
    outputs, model, forker
):
    by_hand = cluster.elsewhere("torchrun", [])
    run = launcher.start(config(model, ranks=1, shard="optimizer", checkpoint__every=2), outputs, "two", by_hand).run
    assert launcher.start_waiting(outputs) == [], "it waits for its processes"
    first, second = launched(forker, run)
    with_updates(run, 2)
    run.request_stop()
    assert (first.wait(60), second.wait(60)) == (worker.EXIT_CODES["stopped"], 0), run.log_tail()
    done = len(run.metrics())
    assert run.latest_checkpoint().name == f"update-{done:06d}"
    first, second = launched(forker, run)
    wait_until(lambda: len(run.metrics()) >= done + 3)
    second.kill()
    assert first.wait(60) == 1
    status = run.status()
    assert (status.state, status.reason) == ("interrupted", "helper_lost"), run.log_tail()
    assert int(run.latest_checkpoint().name[-6:]) % 2 == 0, "no other process had its part"


def test_a_run_of_two_processes_pauses_changes_stops_and_leaves_none(outputs, model, altered_worker):
    run = with_updates(launcher.start(config(model), outputs, "two").run, 2)
    helper = helper_of(run)
    changes.request_pause(run)
    wait_until(lambda: run.status().state == "paused")
    done = run.status().update
    changes.request_edits(run, [changes.Edit("kl.coef", 0.7)])
    changes.request_step(run)
    wait_until(lambda: run.status().update == done + 1 and run.status().state == "paused")
    assert run.metrics()[-1].kl_coef == 0.7
    changes.request_resume(run)
    with_updates(run, done + 3)
    run.request_stop()
    wait_until(lambda: run.status().ended and not run.is_alive())
    assert (run.status().state, run.status().reason) == ("stopped", "stopped"), run.log_tail()
    assert run.latest_checkpoint() is not None
    wait_until(lambda: has_ended(helper.pid))


def test_a_helper_that_is_ended_ends_the_run_with_its_reason(outputs, model, altered_worker):
    run = with_updates(launcher.start(config(model), outputs, "two").run, 2)
    helper_of(run).kill()
    wait_until(lambda: run.status().ended and not run.is_alive())
    status = run.status()
    assert (status.state, status.reason) == ("interrupted", "helper_lost"), run.log_tail()
    assert "Process 1 of the 2" in status.message
    assert "SIGKILL" in status.message
    assert run.latest_checkpoint() is not None


def test_no_helper_outlives_a_worker_that_was_killed(outputs, model, forker):
    """Also not one that still waits for the others: nothing but the pipe tells it."""
    run = launcher.start(config(model), outputs, "two", forker).run
    helper = wait_until(lambda: helper_of(run, "spawn_main"))
    os.kill(run.status_on_disk().pid, signal.SIGKILL)
    wait_until(lambda: has_ended(helper.pid))


def test_two_processes_begin_a_run_one_goes_on_and_two_end_it(outputs, model, altered_worker):
    short = {"ppo__num_updates": 6, "checkpoint__keep": 9}

    def spawn_paused(run, lock):
        (run.control_path / "pause").touch()
        return launcher.new_worker(run, lock)

    paused = Here(spawn_paused)
    run = launcher.start(config(model, **short), outputs, "two", paused).run
    for until, ranks, workers in ((2, 1, paused), (4, 2, None)):
        wait_until(lambda: run.status().state == "paused")
        for done in (until - 1, until):
            changes.request_step(run)
            wait_until(lambda done=done: run.status().update == done and run.status().state == "paused")
        run.request_stop()
        wait_until(lambda: run.status().ended and not run.is_alive())
        assert run.status().reason == "stopped", (run.status(), run.log_tail())
        run.config_path.write_text(config(model, **short, ranks=ranks).to_yaml(), encoding="utf-8")
        launcher.resume(run, workers)
    wait_until(lambda: run.status().ended and not run.is_alive())
    assert run.status().state == "finished", run.log_tail()
    assert [(line.attempt, line.ranks) for line in run.metrics()] == [(1, 2)] * 2 + [(2, 1)] * 2 + [(3, 2)] * 2
    assert resuming.apart(run, resuming.alone(run)) < 1e-5
