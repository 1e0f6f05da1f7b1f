"""A mean with its interval: against numbers by hand, and simulated where few values differ."""

import math

import numpy as np
import pytest

from playground.analysis.intervals import Interval, interval
from tests.nights import cases


def test_an_interval_is_students():
    mean = interval([1.0, 2.0, 3.0])
    half = 4.303 / 3**0.5  # 2 degrees, standard deviation 1
    assert mean == Interval(2.0, pytest.approx(half), 3)
    assert (mean.low, mean.high, mean.error) == pytest.approx((2 - half, 2 + half, 1 / 3**0.5))


@pytest.mark.parametrize("values", [[1.5], [1.5] * 64])
def test_one_value_has_no_interval_and_neither_have_many_that_are_all_alike(values):
    mean = interval(values)
    assert (mean.mean, mean.half, mean.units) == (1.5, None, len(values))
    assert math.isnan(mean.low)
    assert math.isnan(mean.high)
    assert math.isnan(mean.error)
    assert math.isnan(interval([]).mean)


MOVES = [(0.005, 1), (0.05, 1), (0.05, 0.5), (0.2, 1)]


@pytest.mark.parametrize(("share", "chance_up"), cases(MOVES, always=[(0.005, 1), (0.05, 0.5)]))
def test_an_interval_holds_the_mean_as_often_as_it_says_also_where_few_prompts_differ(share, chance_up):
    """1500 runs of 64 prompts, of which this share moves by 1: up by that chance, or down."""
    generator = np.random.default_rng(0)
    moved = generator.random((1500, 64)) < share
    steps = np.where(generator.random((1500, 64)) < chance_up, 1.0, -1.0) * moved
    truth = share * (2 * chance_up - 1)
    intervals = [interval(row, 1.0) for row in steps.tolist()]
    assert np.mean([abs(each.mean - truth) <= (each.half or math.nan) for each in intervals]) >= 0.94


@pytest.mark.parametrize(("few", "sure"), [(0, False), (5, False), (6, True), (9, True)])
def test_where_few_prompts_differ_an_interval_is_as_sure_as_the_exact_sign_test(few, sure):
    mean = interval([1.0] * few + [0.0] * (64 - few), 1.0)
    assert (mean.half or 0) > 0
    assert (mean.low > 0) == sure
