"""A mean with its interval, against numbers by hand and simulated; and a sweep in such figures."""

import math

import numpy as np
import pytest

from playground.analysis import judging, over_seeds
from playground.analysis.before_after import Headline
from playground.analysis.intervals import Interval, interval
from playground.analysis.over_seeds import Curve, RunEnd
from playground.runs.folder.writer import RunWriter
from playground.runs.sweeps.sweep_record import Sweep
from tests.nights import cases
from tests.support import sample, small_config, update_metrics


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


def sweep(**vary):
    fields = {name.replace("__", "."): values for name, values in vary.items()}
    runs = [f"s-{number}" for number in range(1, math.prod(map(len, vary.values())) + 1)]
    return Sweep(name="s", created_at=1.0, base={}, vary=fields, runs=runs)


def test_runs_that_differ_in_the_seed_only_are_one_setting():
    settings = over_seeds.settings(sweep(seed=[0, 1], kl__coef=[0.1, 0.5]))
    assert [(setting.values, setting.runs) for setting in settings] == [
        ({"kl.coef": 0.1}, ["s-1", "s-3"]),
        ({"kl.coef": 0.5}, ["s-2", "s-4"]),
    ]
    (setting,) = over_seeds.settings(sweep(seed=[0, 1, 2]))
    assert setting.values == {}


def came_to(gain, kl):
    return Headline("fixed prompts", 10, gain, None, None, kl)


def test_a_row_is_of_the_runs_that_have_finished():
    ends = {
        "s-1": RunEnd(came_to(1.0, 4.0), {"is kind": 0.5}),
        "s-2": RunEnd(came_to(3.0, 6.0), {"is kind": 0.7, "rhymes": 0.1}),
        "s-4": RunEnd(None),
    }
    kind, other = over_seeds.rows(sweep(kl__coef=[0.1, 0.5], seed=[0, 1]), ends)
    assert (kind.finished, kind.gain, kind.kl) == (2, over_seeds.interval([1.0, 3.0]), over_seeds.interval([4.0, 6.0]))
    assert kind.shares == {"is kind": over_seeds.interval([0.5, 0.7]), "rhymes": Interval(0.1, None, 1)}
    assert (other.finished, other.gain, other.kl, other.shares) == (1, None, None, {})


def test_a_curve_is_the_mean_of_those_that_have_come_that_far():
    half = 12.706 * 2.0**0.5 / 2.0**0.5  # of 1 and 3: 1 degree, standard deviation sqrt 2
    assert over_seeds.curve([{1: 1.0, 2: 5.0}, {1: 3.0}]) == Curve(
        [1, 2], [2.0, 5.0], [pytest.approx(2.0 - half), None], [pytest.approx(2.0 + half), None], [2, 1]
    )
    assert over_seeds.curve([]) == Curve([], [], [], [], [])


def test_what_a_run_has_come_to_is_read_again_once_it_has_gone_on(run):
    writer = RunWriter(run, num_updates=3)
    writer.samples([sample(0, "before", 0.0), sample(1, "before", 1.0)])
    writer.metrics(update_metrics(1))
    assert over_seeds.figures_of(run)["score_mean"] == {1: 0.5}
    writer.metrics(update_metrics(2))
    writer.samples([sample(0, "after", 1.0), sample(1, "after", 3.0)])
    end = over_seeds.end_of(run)
    assert (end.gain, end.kl) == (1.5, 4.0)
    assert end.shares["earns more than the untrained median"] == 1.0
    tied = [sample(at, stage, score, update=4) for stage in ("before", "after") for at, score in enumerate((1, 1, 0))]
    writer.samples([item.model_copy(update={"update": 0 if item.stage == "before" else 4}) for item in tied])
    assert "earns more than the untrained median" in over_seeds.end_of(run).shares, "one name over all seeds"
    assert [(point.update, point.score) for point in end.path] == [(0, 0.5), (3, 2.0)]
    assert over_seeds.figures_of(run) == {"score_mean": {1: 0.5, 2: 1.0}, "kl_to_reference": {1: 1.0, 2: 2.0}}


def test_a_monitor_stands_in_its_row_by_its_change_in_its_own_unit():
    """Two seeds: the trained score and a judge, of which less is better, over one prompt after another."""
    judges, ends = [{"kind": "length", "weight": -1}], {}
    for number, after in ((1, 1.0), (2, 3.0)):
        asked = [(0, "before", 0.0), (1, "before", 4.0), (0, "after", after), (1, "after", 4.0 + after)]
        samples = [sample(prompt, stage, 0.0, judges={"length": value}) for prompt, stage, value in asked]
        judged = judging.judged_of(small_config(judges=judges), samples, points=True)
        ends[f"s-{number}"] = RunEnd(came_to(1.0, 4.0), judged=judged)
    (row,) = over_seeds.rows(sweep(seed=[0, 1]), ends)
    assert row.monitors == {"length": over_seeds.interval([-1.0, -3.0])}
    assert judging.judged_of(small_config(), samples) is None
