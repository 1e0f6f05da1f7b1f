"""A mean with its interval: against numbers by hand, and simulated where few values differ."""

from __future__ import annotations

import math

import numpy as np
import pytest

from playground.analysis.intervals import Interval, interval


def test_it_is_students() -> None:
    found = interval([1.0, 2.0, 3.0])
    half = 4.303 / 3**0.5  # 2 degrees, standard deviation 1
    assert found == Interval(2.0, pytest.approx(half), 3)
    assert (found.low, found.high, found.error) == pytest.approx((2 - half, 2 + half, 1 / 3**0.5))


@pytest.mark.parametrize("values", [[1.5], [1.5] * 64])
def test_one_value_has_none_and_neither_have_many_that_are_all_alike(values: list[float]) -> None:
    found = interval(values)
    assert (found.mean, found.half, found.units) == (1.5, None, len(values))
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert math.isnan(found.error)
    assert math.isnan(interval([]).mean)


@pytest.mark.parametrize(("share", "chance_up"), [(0.005, 1), (0.05, 1), (0.05, 0.5), (0.2, 1)])
def test_it_holds_the_mean_as_often_as_it_says_also_where_few_prompts_differ(share: float, chance_up: float) -> None:
    """1500 runs of 64 prompts, of which this share moves by 1: up by that chance, or down."""
    generator = np.random.default_rng(0)
    moved = generator.random((1500, 64)) < share
    steps = np.where(generator.random((1500, 64)) < chance_up, 1.0, -1.0) * moved
    found = [interval(row, 1.0) for row in steps.tolist()]
    assert np.mean([abs(one.mean - share * (2 * chance_up - 1)) <= (one.half or math.nan) for one in found]) >= 0.94


@pytest.mark.parametrize(("few", "sure"), [(0, False), (5, False), (6, True), (9, True)])
def test_where_few_prompts_differ_it_says_what_the_exact_sign_test_says(few: int, sure: bool) -> None:
    found = interval([1.0] * few + [0.0] * (64 - few), 1.0)
    assert (found.half or 0) > 0
    assert (found.low > 0) == sure
