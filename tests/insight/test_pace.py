"""How long a run still takes."""

from __future__ import annotations

import pytest

from playground.insight.pace import seconds_left


def test_time_left_is_the_pace_so_far_times_what_remains() -> None:
    assert seconds_left([1, 2, 3], [5.0, 7.0, 9.0], 40) == 2.0 * 37
    assert seconds_left([5, 6], [50.0, 53.0], 10) == 3.0 * 4


def test_time_spent_in_a_pause_is_no_part_of_the_pace() -> None:
    assert seconds_left([1, 2, 3], [5.0, 7.0, 69.0], 40, waited=60.0) == 2.0 * 37


@pytest.mark.parametrize("updates", [[], [1], [3, 3]])
def test_without_two_updates_nothing_is_known(updates: list[int]) -> None:
    assert seconds_left(updates, [1.0] * len(updates), 10) is None


def test_a_run_past_its_end_needs_no_time() -> None:
    assert seconds_left([39, 40], [5.0, 7.0], 40) == seconds_left([39, 41], [5.0, 7.0], 40) == 0.0
