"""The driver: what becomes of runs whose places tell, fall silent, or are lost."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from playground.cluster import driver
from playground.cluster.news import Lost, Over
from playground.cluster.place import Options
from playground.cluster.places.local_place import LocalPlace
from playground.errors import PlaceUnavailable, RunBusy, RunNotResumable
from playground.runs import reconciler
from playground.runs.folder import placed, requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.start import launcher, lifeline
from playground.runs.steer import changes
from tests.cluster.places import Driving, Scripted, begun, event, finished, lines, make_checkpoint, new_run, status
from tests.faults.resuming import config, figures, tiny_model, weights
from tests.forking import Forker
from tests.support import update_metrics, wait_until


def state(run: RunDirectory) -> tuple[str, str]:
    found = run.status()
    return found.state, found.reason


def test_a_run_waits_for_its_node_as_a_living_one(outputs: Path) -> None:
    run, place = new_run(outputs, "one", device="cpu"), Scripted()
    driving = Driving(place, [run], cpus=2)
    wait_until(lambda: place.begun)
    assert (state(run), run.status().phase) == (("queued", ""), "waiting for a node")
    assert run.is_alive() and place.needs["one"] == (2, 0)
    with pytest.raises(RunBusy):
        launcher.resume(run)
    reconciler.Reconciler(outputs).look()
    assert run.status_on_disk().state == "queued"
    place.tell("one", begun("node-7"), status("running", 1), lines("metrics", update_metrics(1)))
    wait_until(lambda: run.status().update == 1)
    assert placed.read(run.path) == placed.Placed(attempt=1, place="ray", node="node-7")
    place.tell("one", *finished())
    driving.join()
    assert state(run) == ("finished", "") and not run.is_alive() and place.closed


def test_a_run_elsewhere_takes_no_device_here(outputs: Path, fake_worker: None) -> None:
    run, place = new_run(outputs, "one"), Scripted()
    driving = Driving(place, [run])
    assert requests.of(run).slot == "ray"
    started = launcher.start(run.config().model_copy(update={"name": "finish"}), outputs, "here")
    assert started.process is not None and started.process.wait(60) == 0
    place.tell("one", begun(), *finished())
    driving.join()


def test_a_lost_run_is_taken_up_again_from_its_mirror(
    outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, place = new_run(outputs, "one"), Scripted()
    queue_again, meanwhile = RunDirectory.queue_again, []

    def seen(again: RunDirectory, *arguments: Any) -> None:
        meanwhile.append(again.status().state)
        queue_again(again, *arguments)

    monkeypatch.setattr(RunDirectory, "queue_again", seen)
    driving = Driving(place, [run])
    wait_until(lambda: place.begun)
    make_checkpoint(run.checkpoints_path, 1)
    place.tell("one", begun(), status("running", 1), lines("metrics", update_metrics(1)), Lost("node-1 has died"))
    wait_until(lambda: len(place.begun) == 2)
    node = place.parcel_in(tmp_path / "node" / "one", "one")
    assert node.status_on_disk().attempt == 2 and node.latest_checkpoint() is not None
    assert meanwhile == ["running"]  # nobody who follows it takes it for ended
    assert [item.update for item in node.metrics()] == [1]
    told = [item for item in run.events() if item.kind == "state"][-1]
    assert told.data == {"state": "interrupted", "reason": "place_lost"}
    assert told.message == "Its place was lost: node-1 has died. It is taken up again (1 of 2)."
    assert placed.read(run.path) == placed.Placed(attempt=2, place="ray", lost=1)
    assert place.given_up == ["one"]
    place.tell("one", begun(), *finished(attempt=2))
    driving.join()
    assert run.status().attempt == 2 and state(run) == ("finished", "")


def test_a_run_that_is_lost_again_and_again_ends_and_can_be_resumed(outputs: Path) -> None:
    run, place = new_run(outputs, "one"), Scripted()
    driving = Driving(place, [run], retries=2)
    for attempt in (1, 2, 3):
        wait_until(lambda attempt=attempt: len(place.begun) == attempt)
        place.tell("one", begun(), status("running", 1, attempt=attempt), Lost("preempted"))
    driving.join()
    assert state(run) == ("interrupted", "place_lost") and len(place.begun) == 3
    assert run.status().message == "Its place was lost: preempted." and run.status().resumable
    again = Driving(place, [run])
    wait_until(lambda: len(place.begun) == 4)
    assert run.status().attempt == 4
    place.tell("one", begun(), *finished(attempt=4))
    again.join()


@pytest.mark.parametrize(
    "end",
    [
        {"state": "interrupted", "reason": "killed"},
        {"state": "interrupted", "reason": "server_lost"},
        {"state": "stopped", "reason": "stopped"},  # by nobody here
        None,
    ],
)
def test_a_worker_that_its_node_has_ended_is_begun_again(outputs: Path, end: dict[str, str] | None) -> None:
    run, place = new_run(outputs, "one"), Scripted()
    driving = Driving(place, [run])
    wait_until(lambda: place.begun)
    place.tell("one", begun(), *([status(**end)] if end else []), Over())
    wait_until(lambda: len(place.begun) == 2)
    assert not run.status().ended
    place.tell("one", *finished(attempt=2))
    driving.join()


@pytest.mark.parametrize(
    ("end", "reason"), [("failed", "diverged"), ("failed", "out_of_memory"), ("stopped", "time_limit")]
)
def test_what_a_run_has_of_itself_is_its_end(outputs: Path, end: str, reason: str) -> None:
    run, place = new_run(outputs, "one"), Scripted()
    driving = Driving(place, [run])
    wait_until(lambda: place.begun)
    place.tell("one", begun(), status(end, 2, reason=reason, message="Because."), Over())
    driving.join()
    assert state(run) == (end, reason) and place.begun == ["one"]


def test_a_stop_reaches_the_worker_and_is_its_end(outputs: Path) -> None:
    run, place = new_run(outputs, "one"), Scripted()
    driving = Driving(place, [run])
    place.tell("one", begun(), status("running", 1))
    wait_until(lambda: run.status().state == "running")
    launcher.stop(run)
    assert run.status().state == "stopping"
    wait_until(lambda: [(run_id, name) for run_id, name, _ in place.asked] == [("one", "stop")])
    place.tell("one", status("stopped", 2, reason="stopped", message="Stopped after update 2."), Over())
    driving.join()
    assert state(run) == ("stopped", "stopped") and place.begun == ["one"]


def test_a_stop_that_no_node_answers_is_an_end_all_the_same(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playground.cluster.driver.STOP_SECONDS", 0.05)
    run, place = new_run(outputs, "one"), Scripted()
    driving = Driving(place, [run])
    place.tell("one", begun(), status("running", 1))
    wait_until(lambda: run.status().state == "running")
    run.request_stop()
    driving.join()
    assert state(run) == ("stopped", "stopped") and "did not answer" in run.status().message
    assert place.given_up == ["one"]


@pytest.mark.parametrize("lost", [False, True])
def test_a_run_that_waits_for_a_node_or_loses_it_can_be_stopped(outputs: Path, lost: bool) -> None:
    run, place = new_run(outputs, "one"), Scripted()
    driving = Driving(place, [run])
    wait_until(lambda: place.begun)
    run.request_stop()
    if lost:
        place.tell("one", Lost("gone"))
    driving.join()
    assert state(run) == ("stopped", "stopped") and "one" in place.given_up and place.begun == ["one"]


def test_no_more_runs_than_wanted_are_with_the_place(outputs: Path) -> None:
    runs, place = [new_run(outputs, f"run-{number}") for number in range(5)], Scripted()
    driving = Driving(place, runs, at_once=2)
    for number in range(5):
        wait_until(lambda number=number: len(place.begun) == min(number + 2, 5))
        assert all(run.status().state == "queued" for run in runs[number:])
        place.tell(f"run-{number}", begun(), *finished())
    driving.join()
    assert [state(run)[0] for run in runs] == ["finished"] * 5


def test_one_run_takes_no_other_with_it(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, place = [new_run(outputs, name) for name in ("full", "odd", "good")], Scripted()

    def full(self: object, path: Path, *_: object) -> None:
        if path.parent.name == "full":
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("playground.cluster.mirror._append", lambda path, data: full(None, path))
    driving = Driving(place, runs)
    for run in runs:
        place.tell(run.id, begun(), lines("metrics", update_metrics(1)))
    place.tell("odd", status("running", 1)._replace(name="../good/status.json"))
    place.tell("good", *finished())
    driving.join()
    assert [state(run) for run in runs] == [
        ("interrupted", "place_lost"),
        ("interrupted", "place_lost"),
        ("finished", ""),
    ]
    assert "No space left" in runs[0].status().message and sorted(place.given_up) == ["full", "odd"]
    assert not any(run.is_alive() for run in runs)


def test_a_place_that_cannot_be_reached_is_the_end_of_its_runs(outputs: Path) -> None:
    run = new_run(outputs, "one")

    def refused() -> Scripted:
        raise PlaceUnavailable("No cluster answers at 10.0.0.1:6379.")

    Driving(Scripted(), [run], connect=refused).join()
    assert state(run) == ("interrupted", "place_lost")
    assert run.status().message == "No cluster answers at 10.0.0.1:6379." and run.status().resumable


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place that has refused is asked again at once."""
    monkeypatch.setattr(driver, "ASK_AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(driver, "MOST_SECONDS", 0.01)


@pytest.mark.usefixtures("soon")
def test_a_place_that_refuses_for_a_while_costs_no_run(outputs: Path) -> None:
    runs, place, open_now = [new_run(outputs, name) for name in ("one", "two", "three")], Scripted(), threading.Event()
    place.refuses = lambda run_id: not open_now.is_set()
    driving = Driving(place, runs, at_once=2)
    told = "waiting for a node: The controller does not answer; it is asked again"
    wait_until(lambda: runs[0].status().phase == told)
    assert [run.status().state for run in runs] == ["queued"] * 3 and place.begun == []
    open_now.set()
    wait_until(lambda: len(place.begun) == 2)
    for run in runs:
        place.tell(run.id, begun(), *finished())
        wait_until(lambda run=run: run.status().ended)
    driving.join()
    assert [run.status().state for run in runs] == ["finished"] * 3 and len(place.begun) == 3


@pytest.mark.usefixtures("soon")
def test_a_place_that_takes_no_more_than_it_has_is_waited_for(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "REFUSED_SECONDS", 0.0)
    runs, place = [new_run(outputs, name) for name in ("one", "two")], Scripted()
    place.refuses = lambda run_id: run_id == "two" and not runs[0].status().ended
    driving = Driving(place, runs)
    wait_until(lambda: "asked again" in runs[1].status().phase)
    place.tell("one", begun(), *finished())
    wait_until(lambda: place.begun == ["one", "two"])
    place.tell("two", begun(), *finished())
    driving.join()
    assert [state(run) for run in runs] == [("finished", "")] * 2


@pytest.mark.usefixtures("soon")
def test_a_place_that_keeps_refusing_is_the_end_of_its_runs(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "REFUSED_SECONDS", 0.1)
    runs, place = [new_run(outputs, name) for name in ("one", "two")], Scripted()
    place.refuses = lambda run_id: True
    Driving(place, runs).join()
    assert [state(run) for run in runs] == [("interrupted", "place_lost")] * 2 and place.closed
    assert {run.status().message for run in runs} == {"The controller does not answer."}


def test_a_connection_that_breaks_is_told_to_every_run(outputs: Path) -> None:
    runs, place = [new_run(outputs, name) for name in ("one", "two")], Scripted()
    driving = Driving(place, runs)
    place.tell("one", begun(), status("running", 1))
    wait_until(lambda: runs[0].status().state == "running")
    place.error = PlaceUnavailable("The cluster has gone.")
    driving.join()
    assert [state(run) for run in runs] == [("interrupted", "place_lost")] * 2 and place.closed
    assert not any(run.is_alive() for run in runs)


def test_an_unknown_error_of_the_driver_leaves_no_run_without_an_end(outputs: Path) -> None:
    run, place = new_run(outputs, "one"), Scripted()
    driving = Driving(place, [run])
    place.error = ZeroDivisionError("of the place")
    driving.join()
    assert isinstance(driving.error, ZeroDivisionError) and place.closed
    assert state(run) == ("interrupted", "place_lost") and "ZeroDivisionError" in run.status().message


def test_runs_are_handed_over_all_or_none(outputs: Path) -> None:
    good, done = new_run(outputs, "good"), new_run(outputs, "done")
    driving = Driving(place := Scripted(), [done])
    place.tell("done", begun(), *finished())
    driving.join()
    with pytest.raises(RunNotResumable):
        Driving(place, [good, done])
    assert not good.is_alive() and requests.of(good).slot == ""


def test_a_place_that_resumes_a_run_itself_is_followed(outputs: Path) -> None:
    run, place = new_run(outputs, "one"), Scripted()
    driving = Driving(place, [run])
    requeued = event("state", attempt=1, state="stopped", reason="stopped")
    place.tell("one", begun("node-1"), status("running", 1), lines("events", requeued), status("running", 2, attempt=2))
    wait_until(lambda: run.status().attempt == 2)
    wait_until(lambda: (placed.read(run.path) or placed.Placed()).attempt == 2)
    place.tell("one", *finished(attempt=2))
    driving.join()


# -- with workers on this machine ------------------------------------------------------------------------------------


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What LocalPlace changes of this process is put back, and its folders are the test's own."""
    monkeypatch.setenv(lifeline.POLICY_VARIABLE, "survive")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_workers_here_make_their_runs(outputs: Path, here: None, fake_worker: None, tmp_path: Path) -> None:
    made = {"finish": "finished", "fail": "failed", "crash": "failed"}
    runs = [new_run(outputs, name, name=name) for name in made]
    Driving(LocalPlace(Options(checkpoint_seconds=0)), runs).join()
    assert [run.status().state for run in runs] == list(made.values())
    assert [item.update for item in runs[0].metrics()] == [1, 2, 3] and len(runs[0].samples()) == 4
    assert "exit code 9" in runs[2].status().message  # which only the node has seen
    assert "fake worker's last words" in runs[0].log_tail()
    assert not list((tmp_path / f"playground-runs-{os.getuid()}").iterdir())


def test_a_run_whose_worker_was_killed_ends_like_one_that_was_not(
    outputs: Path, here: None, forker: Forker, tmp_path: Path
) -> None:
    made = config(tiny_model(tmp_path / "model"), ppo__num_updates=4)
    whole = launcher.start(made, outputs, "whole", spawn=forker.spawn)
    assert whole.process is not None and whole.process.wait(120) == 0
    run = RunDirectory.create(outputs, made, "broken")
    place = LocalPlace(Options(checkpoint_seconds=0), spawn=forker.spawn)
    changes.leave_word(run.control_path / "pause")  # before its first update; it is asked to make two
    driving = Driving(place, [run])
    for update in (1, 2):
        wait_until(lambda: run.status().state == "paused")
        changes.request_step(run)
        wait_until(lambda update=update: run.status().update == update and run.status().state == "paused")
        wait_until(lambda update=update: run.latest_checkpoint() and run.latest_checkpoint().name.endswith(str(update)))
    seat = place._seats["broken"]
    os.kill(seat.run.status_on_disk().pid, 9)
    driving.join()
    assert state(run) == ("finished", "") and run.status().attempt == 2
    assert [item.attempt for item in run.metrics()] == [1, 1, 2, 2]
    assert weights(run) == weights(whole.run) != {}
    assert figures(run) == figures(whole.run)
