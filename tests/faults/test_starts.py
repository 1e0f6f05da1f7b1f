"""Many start at once: one run for one click, one run at a time for one device, none overtaken, none lost."""

import pytest

from playground.runs import launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.requests import Request
from playground.runs.supervisor import SupervisorThread
from tests.nights import cases
from tests.support import at_once, small_config, wait_until

ROUNDS = 10


@pytest.fixture
def watched(outputs, fake_worker):
    """The outputs folder with two who drive its queue, as two web processes would."""
    outputs.mkdir()
    watches = [SupervisorThread(outputs), SupervisorThread(outputs)]
    for watch in watches:
        watch.start()
    yield outputs
    for watch in watches:
        watch.close()


def executed_once(run):
    """When it was at work: from, to. Fails unless that was once, to its end."""
    begun, ended = (event for event in run.events() if event.kind == "state")
    assert (begun.data["state"], ended.data["state"], run.status().attempt) == ("running", "finished", 1)
    return begun.time, ended.time


def in_turn(outputs, names):
    """Of these runs, once all have ended, those that were executed once, alone, and after those before them."""
    runs = [RunDirectory(outputs / name) for name in names]
    wait_until(lambda: all(run.status().ended and not run.is_alive() for run in runs))
    in_order, latest = [], 0.0
    for run in runs:
        begun, ended = executed_once(run)
        in_order += [run.id] * (latest < begun)
        latest = ended
    return in_order


def test_fifty_starts_of_one_click_are_one_run(watched, figure):
    good = 0
    for number in range(ROUNDS):
        runs, request = [], Request(f"click {number}", visitor="a visitor")
        at_once(*[lambda s=runs, r=request: s.append(launcher.start(small_config(), watched, request=r).run)] * 50)
        good += len(runs) == 50 and len({run.id for run in runs}) == 1
        wait_until(lambda run=runs[0]: run.status().ended and not run.is_alive())
        executed_once(runs[0])
    figure("50 starts at once with one id, in threads: one run, executed once", ROUNDS, good)
    assert len(list(watched.glob("*/config.yaml"))) == ROUNDS


@pytest.mark.parametrize("starts", cases([6, 50], always=[6]))
def test_runs_for_one_device_go_one_at_a_time_in_order(watched, figure, starts):
    holder = launcher.start(small_config("wait"), watched, "holder").run
    at_once(*[lambda: launcher.start(small_config(), watched)] * starts)
    waiting = queue.waiting(watched)
    assert len(waiting) == starts
    holder.request_stop()
    good = in_turn(watched, waiting)
    assert queue.entries(watched) == []
    figure("starts for one device: one at a time, first come first served, none lost", starts, len(good))
