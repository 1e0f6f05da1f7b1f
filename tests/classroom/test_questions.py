"""A question of a class: its rounds, the hands that the host counts, and what its run says beside the answers."""

from __future__ import annotations

import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from playground.classroom import questions
from playground.classroom.questions import WrongQuestion
from playground.classroom.room import Room, Step
from playground.classroom.room_file import NoClass, NotKept
from playground.lessons.loading import Lessons
from playground.runs import launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog
from playground.ui.auth.access import Caller
from playground.ui.classroom.lead import Lead
from playground.ui.classroom.state import ClassViews
from playground.ui.feed.feed import Hub
from playground.ui.train.lesson_part import LessonStarts
from tests.lessons import FILES

LESSONS = Lessons(shipped=FILES)
HOST = Caller()


class Desk:
    """A class of the lessons of the tests, led without a page."""

    def __init__(self, outputs: Path, recorded: Path) -> None:
        self.room, self.hub = Room(outputs), Hub(outputs, recorded, LESSONS)
        self.views = ClassViews(self.room, self.hub)
        starts = LessonStarts(outputs, None, LESSONS)  # type: ignore[arg-type]
        self.lead = Lead(self.room, self.hub, starts)
        self.people = [self.join() for _ in range(3)] if self.do("open") else []

    def do(self, name: str, **asked: Any) -> Any:
        """What the host asks for."""
        answer = self.lead.act({"do": name, "step": self.now.id if self.now else 0, **asked}, HOST)
        assert not answer["error"]
        return answer

    def join(self) -> str:
        """Someone more."""
        person = self.room.person(self.room.join(self.room.code))
        assert person
        return person

    @property
    def now(self) -> Step | None:
        """The step that the class is at."""
        return self.room.step()

    def answer(self, *choices: int) -> None:
        """One of each person, in the round that is open."""
        step = self.now
        assert step
        for person, choice in zip(self.people, choices, strict=False):
            self.room.answer(person, step, step.round, questions.checked({"choice": choice}, step, LESSONS))

    def seen(self, person: int = 0) -> Any:
        """The step, as someone of the class sees it."""
        return self.views.state(self.people[person], None)["step"]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    recorded = tmp_path / "recorded"
    shutil.copytree(catalog.RECORDED / "no-leash", recorded / "no-leash")
    (tmp_path / "outputs").mkdir()
    return Desk(tmp_path / "outputs", recorded)


def test_both_rounds_are_shown_at_the_end_and_nothing_before(desk: Desk) -> None:
    desk.do("ask", lesson="leash")
    desk.answer(0, 0, 1)
    desk.do("close")
    assert desk.seen()["results"] is None
    desk.do("again")
    desk.answer(1, 0, 1)
    assert desk.seen()["results"] is None
    assert desk.seen()["mine"] == {"1": {"choice": 0}, "2": {"choice": 1}}
    assert "live" not in desk.views.desk([], screen=True)
    desk.do("close")
    desk.do("show")
    first, second = desk.seen()["results"]["rounds"]
    assert (first["counts"][:2], second["counts"][:2]) == ([2, 1], [1, 2])


def test_hands_stand_beside_the_answers_of_their_round_and_are_no_answers(desk: Desk) -> None:
    desk.do("ask", ask="Why?", options=["One", "Two", "Three"])
    desk.answer(0, 1)
    desk.do("again")
    desk.do("counts", counts=[4, 0, 9])
    desk.do("close")
    desk.do("show")
    first, second = desk.seen()["results"]["rounds"]
    assert (first["counts"], first["hands"]) == ([1, 1, 0], [])
    assert (second["counts"], second["hands"], second["answered"]) == ([0, 0, 0], [4, 0, 9], 0)


@pytest.mark.parametrize("counts", [[1, 2], [1, 2, -1], [1, 2, True], [1, 2, 10**9], [1, 2, "3"], None, [1, 2, 1.5]])
def test_hands_that_cannot_be_are_refused(desk: Desk, counts: Any) -> None:
    desk.do("ask", ask="Why?", options=["One", "Two", "Three"])
    with pytest.raises(WrongQuestion, match="for each of the 3 answers"):
        desk.do("counts", counts=counts)


def test_a_recording_is_taken_for_a_run_of_its_lesson_and_says_what_is_so(desk: Desk) -> None:
    desk.do("ask", lesson="leash")
    desk.answer(0, 1, 1)
    desk.do("close")
    run = desk.do("run", lesson="leash", index=0, recorded=True)["run"]
    assert desk.room.fact("location")["query"] == f"tab=train&run={run}"
    (made,) = desk.views.desk([], screen=False)["runs"]
    assert (made["run"], made["index"], made["ended"]) == (run, 0, True)
    desk.do("show", run=run)
    results = desk.seen()["results"]
    assert results["reveal"]["ready"]
    assert results["right"] == results["reveal"]["held"] is not None
    with pytest.raises(NoClass, match="no recording"):
        desk.do("run", lesson="leash", index=7, recorded=True)
    desk.do("end")
    with pytest.raises(NoClass, match="Open the class first"):  # and none is started
        desk.do("run", lesson="leash", index=0, request="lesson-1")


def test_a_run_is_shown_in_front_until_the_class_goes_on(desk: Desk) -> None:
    def front() -> str:
        return desk.views.desk([], screen=True)["front"]

    desk.do("ask", lesson="leash")
    run = desk.do("run", lesson="leash", index=0, recorded=True)["run"]
    for leave in ("show", "again", "back"):
        desk.do("front", run=run)
        assert front() == run
        desk.do(leave)
        assert front() == ""
    desk.do("front", run=run)
    desk.do("front", run="")
    assert front() == ""
    desk.do("front", run=run)
    desk.do("ask", ask="Why?", options=["One", "Two"])
    assert front() == ""
    for other in ("../outputs", "nothing", 7):
        for command in ("front", "stop_run"):
            with pytest.raises(NoClass, match="no such run"):
                desk.do(command, run=other)


def test_a_run_that_goes_on_says_how_far_it_is_and_can_be_stopped_from_any_step(desk: Desk) -> None:
    run, waits = (
        RunDirectory.create(desk.hub.outputs, catalog.preset(name), name) for name in ("chatterbox", "no-leash")
    )
    desk.room.set_fact("runs", [{"run": one.id, "lesson": "leash", "index": 0} for one in (run, waits)])
    RunWriter(waits, 40).set_status(state="queued")
    with open(run.lock_path, "wb") as lock:
        launcher.take(lock)
        RunWriter(run, 40).set_status(state="running", update=10, started_at=time.time() - 100)
        queue.enter(waits, queue.slot_held(run), 1)
        desk.do("ask", lesson="leash")
        training, waiting = desk.views.desk([], screen=False)["runs"]
        assert training["going"]
        assert training["words"].startswith("update 10 of 40, about ")
        assert waiting["state"] == "queued"
        assert waiting["words"].startswith(f"for \u201c{training['title']}\u201d, about ")
        desk.do("ask", ask="Why?", options=["One", "Two"])
        shown = desk.views.desk([], screen=False)
        assert shown["runs"] == []
        assert [one["run"] for one in shown["going"]] == ["chatterbox", "no-leash"]
        for one in (run, waits):
            desk.do("stop_run", run=one.id)
        assert (run.control_path / "stop").exists()
        assert waits.status().state == "stopped"


def test_a_run_that_is_gone_takes_nothing_else_with_it(desk: Desk) -> None:
    desk.do("ask", lesson="leash")
    desk.answer(0)
    desk.do("close")
    run = desk.do("run", lesson="leash", index=0, recorded=True)["run"]
    desk.do("show", run=run)
    shutil.rmtree(desk.hub.recorded[run])
    results = desk.seen()["results"]
    assert results["reveal"] is None
    assert results["rounds"][0]["counts"][0] == 1
    assert desk.views.desk([], screen=False)["runs"] == []


def test_the_last_question_says_why_only_when_it_is_shown(desk: Desk) -> None:
    desk.do("ask", lesson="leash", what="transfer")
    shown = desk.seen()
    assert shown["results"] is None
    assert "why" not in str(shown["question"])
    assert not shown["question"]["lesson"]
    desk.do("close")
    desk.do("show")
    results = desk.seen()["results"]
    options = LESSONS.find("leash").transfer.options
    assert options[results["right"]].right
    assert results["whys"] == [option.why for option in options]


def test_what_cannot_be_kept_now_can_be_later(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.do("ask", ask="Why?", options=["One", "Two"])
    monkeypatch.setattr("playground.classroom.room_file.BUSY_SECONDS", 0.05)
    desk.room.end()
    other = sqlite3.connect(desk.room.file.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # another process writes for a long time
    with pytest.raises(NotKept):
        desk.answer(1)
    other.execute("ROLLBACK")
    other.close()
    desk.answer(1)
    assert desk.seen()["mine"] == {"1": {"choice": 1}}
