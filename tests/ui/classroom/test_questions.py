"""A question of a class: its rounds, the hands that the host counts, and what its run says beside the answers."""

import shutil
import time
from types import SimpleNamespace

import pytest

from playground.lessons.loading import Lessons
from playground.runs import launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog
from playground.ui.classroom import places
from playground.ui.classroom.places import Place
from playground.ui.classroom.questions import rounds_of
from playground.ui.classroom.room import Answer
from playground.ui.classroom.room_file import NoClass
from playground.ui.feed.feed import Hub
from tests.lessons import FILES
from tests.ui.classroom.desk import Desk

LESSONS = Lessons(shipped=FILES)


class Questions(Desk):
    def answer(self, *choices):
        """One of each person, in the round that is open."""
        for person, choice in enumerate(choices):
            self.keep(person, {"choice": choice}, self.step.round)

    def seen(self, person=0):
        """The step, as someone of the class sees it."""
        return self.views.state(self.people[person], None, Place())["step"]


@pytest.fixture
def desk(tmp_path):
    recorded = tmp_path / "recorded"
    shutil.copytree(catalog.RECORDED / "no-leash", recorded / "no-leash")
    return Questions(Hub(tmp_path / "outputs", recorded, LESSONS))


def test_both_rounds_are_shown_at_the_end_and_nothing_before(desk):
    desk.do("ask", lesson="leash")
    desk.answer(0, 0, 1)
    desk.do("close")
    assert desk.seen().results is None
    desk.do("again")
    desk.answer(1, 0, 1)
    assert desk.seen().results is None
    assert desk.seen().mine == {"1": {"choice": 0}, "2": {"choice": 1}}
    assert desk.views.desk([], screen=True).live is None
    desk.do("close")
    desk.do("show")
    first, second = desk.seen().results.rounds
    assert (first.counts[:2], second.counts[:2]) == ([2, 1], [1, 2])


def test_shapes_are_counted_also_of_those_who_drew_them_before_there_was_a_choice(tmp_path):
    lessons = Lessons(shipped=FILES.parents[1] / "ui" / "lessons")
    desk = Questions(Hub(tmp_path / "outputs", tmp_path / "recorded", lessons))
    desk.do("ask", lesson="a-curve")
    step, drawn = desk.step, {"curve": [0, 1], "shape": "rises"}
    desk.keep(0, {"shape": "falls"})
    desk.keep(1, drawn)
    for value in ({"curve": [0, 1]}, {"shape": "no shape"}):
        with pytest.raises(NoClass, match="Choose one of the answers"):
            desk.keep(2, value)
    assert desk.seen(1).mine == {"1": {"shape": "rises"}}
    (counted_round,) = rounds_of(step, [Answer(step.round, "of old", drawn)], lessons)
    assert counted_round.shapes == {"rises": 1}
    desk.do("close")
    desk.do("show")
    (told_round,) = desk.seen().results.rounds
    assert (told_round.answered, told_round.shapes) == (2, {"falls": 1, "rises": 1})


def test_hands_stand_beside_the_answers_of_their_round_and_are_no_answers(desk):
    desk.do("ask", ask="Why?", options=["One", "Two", "Three", " One"])
    desk.answer(0, 1)
    desk.do("again")
    for counts in ([1, 2], [1, 2, -1], [1, 2, True], [1, 2, 10**9], [1, 2, "3"], None, [1, 2, 1.5]):
        with pytest.raises(NoClass, match="for each of the 3 answers"):
            desk.do("counts", counts=counts)
    desk.do("counts", counts=[4, 0, 9])
    desk.do("close")
    desk.do("show")
    first, second = desk.seen().results.rounds
    assert (first.counts, first.hands) == ([1, 1, 0], [])
    assert (second.counts, second.hands, second.answered) == ([0, 0, 0], [4, 0, 9], 0)


def test_a_recording_is_taken_for_a_run_of_its_lesson_and_says_what_is_so(desk):
    desk.do("ask", lesson="leash")
    desk.answer(0, 1, 1)
    desk.do("close")
    run = desk.do("run", lesson="leash", index=0, recorded=True)["run"]
    assert desk.room.fact("location")["query"] == f"tab=train&run={run}"
    (listed,) = desk.views.desk([], screen=False).runs
    assert (listed.run, listed.index, listed.ended) == (run, 0, True)
    desk.do("show", run=run)
    results = desk.seen().results
    assert results.reveal.ready
    assert results.right == results.reveal.held is not None
    with pytest.raises(NoClass, match="no recording"):
        desk.do("run", lesson="leash", index=7, recorded=True)
    desk.do("end")
    with pytest.raises(NoClass, match="Open the class first"):  # and none is started
        desk.do("run", lesson="leash", index=0, request="lesson-1")


def test_a_run_is_shown_in_front_until_the_class_goes_on(desk):
    def front():
        return desk.views.desk([], screen=True).front

    desk.do("ask", lesson="leash")
    run = desk.do("run", lesson="leash", index=0, recorded=True)["run"]
    for leave in ("show", "again", "back"):
        desk.do("front", run=run)
        assert front() == run
        desk.do(leave)
        assert front() == ""
    for command, settings in (("front", {"run": ""}), ("ask", {"ask": "Why?", "options": ["One", "Two"]})):
        desk.do("front", run=run)
        desk.do(command, **settings)
        assert front() == ""
    for other in ("../outputs", "nothing"):
        for command in ("front", "stop_run"):
            with pytest.raises(NoClass, match="no such run"):
                desk.do(command, run=other)


def test_a_run_that_goes_on_says_how_far_it_is_and_can_be_stopped_from_any_step(desk):
    names = ["chatterbox", "no-leash"]
    run, waits = (RunDirectory.create(desk.hub.outputs, catalog.preset(name), name) for name in names)
    desk.room.set_fact("runs", [{"run": name, "lesson": "leash", "index": 0} for name in names])
    RunWriter(waits, 40).set_status(state="queued")
    with open(run.lock_path, "wb") as lock:
        launcher.take(lock)
        RunWriter(run, 40).set_status(state="running", update=10, started_at=time.time() - 100)
        queue.enter(waits, queue.slot_held(run), 1)
        desk.do("ask", lesson="leash")
        training, waiting = desk.views.desk([], screen=False).runs
        assert training.going
        assert training.words.startswith("update 10 of 40, about ")
        assert waiting.state == "queued"
        assert waiting.words.startswith(f"for \u201c{training.title}\u201d, about ")
        desk.do("ask", ask="Why?", options=["One", "Two"])
        view = desk.views.desk([], screen=False)
        assert (view.runs, [going.run for going in view.going]) == ([], names)
        for name in names:
            desk.do("stop_run", run=name)
        assert (run.control_path / "stop").exists()
        assert waits.status().state == "stopped"


def test_the_last_question_says_why_only_when_it_is_shown(desk):
    desk.do("ask", lesson="leash", what="transfer")
    view = desk.seen()
    assert view.results is None
    assert "why" not in str(view.question)
    assert not view.question.lesson
    desk.do("close")
    desk.do("show")
    results = desk.seen().results
    options = LESSONS.find("leash").transfer.options
    assert options[results.right].right
    assert results.whys == [option.why for option in options]


def test_the_desk_says_who_is_stuck_in_the_lesson_that_the_class_is_at_and_why(desk, monkeypatch):
    clock = SimpleNamespace(now=1.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(places, "time", clock)

    def say(person, *place):
        return desk.views.state(desk.people[person], None, Place(*place))

    def rows():
        return [(row.number, row.step, row.stuck) for row in desk.views.desk([], screen=False).places]

    desk.do("ask", lesson="leash")
    reply = say(0, "leash", "predict")
    assert (reply["lesson"], reply["number"]) == ("leash", 1)
    say(1, "leash", "break", 2)
    say(2, "leash", "no step")
    assert rows() == [(1, "predict", ""), (2, "break", "")]
    clock.now = 182.0
    say(0, "leash", "predict")
    say(1, "leash", "break", 3)
    assert rows() == [(1, "predict", "long"), (2, "break", "tries")]
    say(1, "leash", "transfer", 3)  # the task is behind them
    say(2, "leash", "predict", 0, True)
    assert rows() == [(3, "predict", "help"), (1, "predict", ""), (2, "transfer", "")]  # one of two is not most
    assert desk.views.desk([], screen=True).places == []
    desk.do("ask", ask="Which?", options=["This", "That"])
    assert [stuck for _, _, stuck in rows()] == ["help"]
