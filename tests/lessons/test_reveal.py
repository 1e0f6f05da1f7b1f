"""What a run says of a lesson, by recordings: without a leash 0 of 64 parse, with one 59."""

import math

import pytest

from playground.lessons.conditions import Condition
from playground.lessons.facts import RunFact
from playground.lessons.reveal import Reveal, in_digits, outside, reveal
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from tests.lessons import lesson, recording
from tests.ui import fake_run

FIRST, SECOND = recording("no-leash"), recording("kinder-reviews")


@pytest.fixture
def leash(tmp_path):
    return lesson(tmp_path)


def test_the_option_that_came_true_and_the_sentences_that_hold(leash):
    outcome = reveal(leash, 0, FIRST)
    assert outcome.ready
    assert outcome.predicted.held == 1
    assert outcome.said == ["The score rose by +20.4 sd, at a distance of 199 nats; 0 of 64 keep to the grammar."]
    assert outcome.explained == ()
    assert outcome.reached is None
    assert outcome.outside == []


def test_a_second_run_is_told_beside_the_first_and_then_it_is_explained(leash):
    outcome = reveal(leash, 1, SECOND, FIRST)
    assert outcome.predicted.held is None
    assert outcome.said[0].startswith("With a leash 59 of 64 keep to the grammar, without 0 of 64.")
    assert outcome.explained == ["At 199 nats nothing of the old model is left; at 8.4 nats much is."]
    alone = reveal(leash, 1, SECOND)
    assert (alone.said, alone.explained) == ([], []), "what names the first run is not said without it"


def test_a_task_is_reached_or_not_and_says_what_there_is(leash):
    assert reveal(leash, 2, FIRST, FIRST).reached is False
    outcome = reveal(leash, 2, SECOND, FIRST)
    assert outcome.reached is True
    assert outcome.said == [
        "✓ gain in score on the test texts: +3.9 sd (asked for: more than 2)",
        "✓ keeps to the grammar: 59 of 64 (asked for: more than 90 %)",
    ]


def test_a_figure_beyond_an_end_does_not_read_as_one_within_it():
    close = Condition(0.4, 0.6)
    assert in_digits(RunFact(0.6034, "0.6 nats"), close) == "0.603 nats"
    assert in_digits(RunFact(0.599, "0.6 nats"), Condition(-math.inf, 0.6, True)) == "0.599 nats"
    assert in_digits(RunFact(0.5968, "0.6 nats"), close) == "0.6 nats"
    assert in_digits(RunFact(1.2, "1.2 nats"), close) == "1.2 nats"
    assert in_digits(RunFact(0.0504, "5 %"), Condition(-math.inf, 0.05)) == "5.04 %"
    assert in_digits(RunFact(0.7, "42 seconds"), close) == "42 seconds"
    assert in_digits(RunFact(22 / 24, "22 of 24"), Condition(0.92, 1.0)) == "22 of 24"


def test_the_band_of_an_experiment_is_told_by_its_name(tmp_path):
    with_band = lesson(tmp_path, reveal__0__say="Such runs gain {band.kinder-reviews.score}.")
    assert "Such runs gain +2.8 to +4.9 sd." in reveal(with_band, 0, FIRST).said


def test_the_memory_of_each_role_is_told_where_the_lesson_looks_at_it(leash, tmp_path):
    outcome = reveal(lesson(tmp_path, look=["memory"]), 0, FIRST)
    assert [role.name for role in outcome.memory] == ["policy", "critic", "reference"]
    assert sum(role.share for role in outcome.memory) == pytest.approx(1)
    assert not reveal(leash, 0, FIRST).memory


HOLDS, FAILS = {"parses": "< 0.3"}, {"parses": "> 0.99"}


@pytest.mark.parametrize(("one", "two", "held"), [(FAILS, FAILS, None), (HOLDS, FAILS, 1), (FAILS, HOLDS, 2)])
def test_the_option_that_holds_came_true_or_none(tmp_path, one, two, held):
    whens = {"predict__options__1__when": {**one}, "predict__options__2__when": {**two}}
    outcome = reveal(lesson(tmp_path, **whens), 0, FIRST)
    assert outcome.ready
    assert outcome.predicted.held == held


def asking(folder, **predict):
    return lesson(folder, predict={"ask": "What?", **predict})


def test_a_number_is_given_as_it_was_asked_for(tmp_path):
    share = reveal(asking(tmp_path, kind="number", of="positive"), 0, FIRST).predicted
    assert share.value == pytest.approx(100 * 21 / 64)
    assert share.words == "33 % (21 of 64)"
    distinct = reveal(asking(tmp_path, kind="number", of="distinct"), 0, FIRST).predicted
    assert distinct.words == "37 %"
    assert distinct.value == pytest.approx(37, abs=0.5)
    kl = reveal(asking(tmp_path, kind="number", of="kl"), 0, FIRST).predicted
    assert kl.value == pytest.approx(199, abs=0.5)
    assert kl.words == "199 nats"


def test_a_curve_comes_with_its_shape_among_those_offered(tmp_path):
    shapes = ["rises", "falls", "rises, then falls"]
    outcome = reveal(asking(tmp_path, kind="curve", of="score", shapes=shapes), 0, FIRST).predicted
    assert outcome.shape == "rises"
    assert len(outcome.curve) == 40
    assert outcome.curve[0][0] == 1
    assert outcome.curve[-1][1] == FIRST.metrics()[-1].score_mean


def test_nothing_is_said_of_a_run_that_goes_on(leash, tmp_path, monkeypatch):
    run = RunDirectory.create(tmp_path, catalog.preset("no-leash"), "one")
    monkeypatch.setattr(RunDirectory, "is_alive", lambda self: True)
    assert reveal(leash, 0, run) == Reveal(False)


def test_a_run_that_ends_elsewhere_than_on_other_seeds_says_so(tmp_path):
    run = fake_run.write_run(tmp_path, "mine", catalog.preset("no-leash"))  # it gains far less than such runs do
    (gain,) = (sentence for sentence in outside(run) if sentence.startswith("gain in score: +"))
    assert gain.endswith("on other seeds +13.5 to +25.2 sd")
    assert outside(SECOND) == []
