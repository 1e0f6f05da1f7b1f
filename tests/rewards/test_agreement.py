"""Tails and intervals of paired outcomes, against values by hand and by enumeration."""

import itertools

import numpy as np
import pytest

from playground.rewards import agreement


def test_at_least_is_the_tail_of_the_binomial():
    outcomes = list(itertools.product((0, 1), repeat=6))
    for wanted in range(8):
        share = sum(sum(outcome) >= wanted for outcome in outcomes) / len(outcomes)
        assert agreement.at_least(wanted, 6) == pytest.approx(share if wanted else 1.0)
    assert agreement.at_least(0, 0) == 1.0


def test_only_pairs_on_which_the_two_differ_count():
    first = [1, 1, 1, 0, 0, 0, 0, 0]
    second = [1, 1, 1, 1, 1, 1, 1, 0]  # four wins, no loss: one in sixteen by luck
    assert agreement.chance_that_better(first, second) == pytest.approx(1 / 16)
    assert agreement.chance_that_better(second, first) == 1.0
    assert agreement.chance_that_better(first, first) == 1.0


def test_a_share_has_wilsons_interval():
    assert agreement.wilson(0.8, 10) == pytest.approx((0.490, 0.943), abs=1e-3)  # the textbook's
    assert agreement.wilson(0.5, 20) == pytest.approx((0.2993, 0.7007), abs=1e-4)
    assert agreement.wilson(1.0, 10) == pytest.approx((10 / (10 + 1.96**2), 1.0))
    assert agreement.wilson(0.0, 10)[0] == 0.0


def test_the_interval_of_a_share_holds_where_groups_have_several_values_that_are_alike():
    draws, held, times = np.random.default_rng(0), 0, 200
    for _ in range(times):
        marks = (draws.random((30, 4)) < draws.beta(1.6, 0.4, (30, 1))).astype(float)  # 0.8 on average, each by itself
        low, high = agreement.wilson(float(marks.mean()), agreement.effective(marks.tolist()) or 30)
        held += low <= 0.8 <= high
    assert held >= 0.92 * times


@pytest.mark.parametrize(("count", "quantile"), [(2, 12.706), (11, 2.228), (12, 2.201), (31, 2.042), (65, 1.998)])
def test_few_values_have_the_wider_interval_of_students_t(count, quantile):
    assert agreement.t95(count) == pytest.approx(quantile, abs=0.003)
