"""How long a run still takes."""

from __future__ import annotations

import pytest

from playground.insight.pace import seconds_left
from tests.support import update_metrics


def test_the_pace_of_the_latest_updates_goes_on() -> None:
    slow_start = [update_metrics(1, seconds=100.0)] + [update_metrics(n, seconds=100.0 + 2 * n) for n in range(2, 15)]
    assert seconds_left(slow_start, num_updates=20) == pytest.approx(2.0 * 6)


@pytest.mark.parametrize("updates", [[], [1], [3, 3]])
def test_without_two_updates_nothing_is_known(updates: list[int]) -> None:
    assert seconds_left([update_metrics(update) for update in updates], 10) is None


def test_the_clock_of_a_resumed_run_goes_on() -> None:
    metrics = [update_metrics(5, seconds=50.0), update_metrics(6, seconds=53.0, attempt=2)]
    assert seconds_left(metrics, 10) == pytest.approx(12.0)


def test_a_run_past_its_end_needs_no_time() -> None:
    assert seconds_left([update_metrics(1), update_metrics(2)], 2) == 0.0
