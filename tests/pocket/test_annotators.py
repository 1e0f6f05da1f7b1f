"""The annotators prefer what they say they do, fail as often as is asked for, and do so again for the same seed."""

import math
import statistics

import pytest

from playground.pocket.annotators import Annotator, rng_of
from tests.pocket.test_judges import PROMPTS, TABLES

REVIEW, CLAIM = PROMPTS["FILM"], PROMPTS["WRONG"]
KIND, HARSH = " The plot was superb.", " The plot was dull."
MANY = 4000


def asked(annotator, prompt, first, second, count=1):
    return [annotator.judge(prompt, first, second, rng_of(0, number)) for number in range(count)]


def share_first(annotator, first=KIND, second=HARSH):
    return statistics.fmean(judged.first for judged in asked(annotator, REVIEW, first, second, MANY))


@pytest.mark.parametrize(("name", "prompt", "liked", "other"), TABLES["preferred"])
def test_each_prefers_what_it_likes_whichever_comes_first(name, prompt, liked, other):
    judge, prompt = Annotator(name), PROMPTS[prompt]
    assert [item[:2] for item in asked(judge, prompt, liked, other)] == [(True, True)]
    assert [item[:2] for item in asked(judge, prompt, other, liked)] == [(False, False)]


def test_equal_tastes_and_no_opinion_are_no_preference():
    assert asked(Annotator("kind"), REVIEW, KIND, KIND) == [None]
    assert asked(Annotator("agreeable"), CLAIM, " 4 plus 5 is 9.", " 4 plus 5 is 7.") == [None]  # neither agrees
    assert Annotator("agreeable").cares(CLAIM)
    assert not Annotator("agreeable").cares(REVIEW)
    assert not Annotator("honest").cares(REVIEW)


def test_close_calls_follow_bradley_and_terry():
    # one word more, so the difference in taste is 1: sigma(0.5 * 1)
    expected = 1 / (1 + math.exp(-0.5))
    judge = Annotator("length-loving", sharpness=0.5)
    assert asked(judge, REVIEW, " a b c", " a b")[0].share == pytest.approx(expected)
    share = share_first(judge, " a b c", " a b")
    assert share == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / MANY))


def test_a_divided_crowd_is_of_two_minds():
    judge = Annotator("divided", majority=0.7)
    assert share_first(judge) == pytest.approx(0.7, abs=4 * math.sqrt(0.21 / MANY))
    assert asked(judge, REVIEW, KIND, HARSH)[0].better
    with_errors = Annotator("divided", flip=0.25, majority=0.7)
    assert asked(with_errors, REVIEW, KIND, HARSH)[0].share == pytest.approx(0.75 * 0.7 + 0.25 * 0.3)
