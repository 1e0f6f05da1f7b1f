"""How long a run still takes."""

import pytest

from playground.analysis.pace import all_left, seconds_left
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status
from playground.setup import catalog


def test_time_left_is_a_range_around_the_pace_so_far_times_what_remains():
    assert seconds_left([1, 2, 3], [5.0, 7.0, 9.0], 40) == pytest.approx((74 / (1.4 + 1 / 3), 74 * (1.4 + 1 / 3)))
    assert seconds_left([5, 6], [50.0, 53.0], 10) == pytest.approx((12 / 1.9, 12 * 1.9))


def test_the_range_holds_what_is_left_of_the_recorded_runs_8_times_in_10():
    held = []
    for path in sorted(catalog.RECORDED.glob("*/config.yaml")):
        metrics = RunDirectory(path.parent).metrics()
        updates, seconds = [item.update for item in metrics], [item.seconds for item in metrics]
        for done in range(2, len(updates)):
            left = seconds_left(updates[:done], seconds[:done], updates[-1])
            assert left is not None
            held.append(left.low <= seconds[-1] - seconds[done - 1] <= left.high)
    assert len(held) > 500
    assert sum(held) >= 0.8 * len(held)


def of(state, update, worked):
    return Status(state=state, update=update, num_updates=10, worked_seconds=worked, updated_at=100.0)


def test_many_runs_take_what_is_left_of_all_at_the_pace_of_all_shared_among_those_that_train():
    done, half, waits = of("finished", 10, 30.0), of("running", 5, 10.0), of("queued", 0, 0.0)
    left = 50 / 15 * (5 + 10 + 10)  # with the 10 seconds since the status of the running one was written
    factor = 1.4 + 1 / 16
    assert all_left([done, half, waits, waits], 110.0) == pytest.approx((left / factor, left * factor))
    two = all_left([done, half, half, waits, waits], 100.0)
    assert two == pytest.approx((50 / 20 * 30 / 2 / (1.4 + 1 / 21), 50 / 20 * 30 / 2 * (1.4 + 1 / 21)))
