import math

import pytest

from playground.config import KeywordReward, LengthReward
from playground.errors import RewardFailed
from playground.rewards.mixture import Mixture, Scale


def constant(*values):
    return lambda prompts, completions, **_: list(values)


def test_the_total_is_the_weighted_sum_and_terms_stay_unweighted():
    mixture = Mixture({"a": (2.0, constant(1.0, 3.0)), "b": (-0.5, constant(4.0, 0.0))})
    totals, terms = mixture(["p", "p"], ["x", "y"])
    assert totals == [0.0, 6.0]
    assert terms == {"a": [1.0, 3.0], "b": [4.0, 0.0]}


def test_a_term_without_an_opinion_adds_nothing_and_no_opinion_at_all_is_none():
    mixture = Mixture({"a": (1.0, constant(None, None)), "b": (1.0, constant(5.0, None))})
    assert mixture(["p", "p"], ["x", "y"]).totals == [5.0, None]


def test_the_same_kind_twice_gets_two_names():
    mixture = Mixture.from_config([LengthReward(), KeywordReward(words=("x",)), LengthReward(target=3)])
    assert list(mixture(["p"], ["x x y"]).terms) == ["length", "keyword", "length 2"]


def test_scale_normalises_the_reference_to_mean_0_and_sd_1():
    scale = Scale.of([1.0, 3.0, None, 5.0])
    assert (scale.mean, scale.sd) == (3.0, pytest.approx(math.sqrt(8 / 3)))
    scores = scale([1.0, 3.0, 5.0])
    assert sum(scores) == pytest.approx(0)
    assert sum(x * x for x in scores) / 3 == pytest.approx(1)


def test_no_opinion_scores_as_the_average_of_the_reference():
    assert Scale(10.0, 2.0)([None, 12.0]) == [0.0, 1.0]


def test_scores_are_clipped_on_both_sides():
    assert Scale(0.0, 1.0, clip=2.0)([-5.0, 1.0, 5.0]) == [-2.0, 1.0, 2.0]


@pytest.mark.parametrize("totals", [[], [None], [4.0], [4.0, 4.0, 4.0]])
def test_a_reward_that_does_not_vary_is_not_divided_by_zero(totals):
    scale = Scale.of(totals)
    assert scale.sd == 1.0
    assert all(math.isfinite(score) for score in scale([4.0, None]))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (constant(1.0), "returned 1 values for 2 completions"),
        (constant(1.0, float("inf")), "finite number or None"),
        (lambda prompts, completions, **_: {}["x"], "KeyError"),
    ],
)
def test_a_misbehaving_reward_is_named_with_what_it_did(function, message):
    with pytest.raises(RewardFailed, match="`mine`") as caught:
        Mixture({"mine": (1.0, function)})(["p", "p"], ["x", "y"])
    assert message in str(caught.value)
