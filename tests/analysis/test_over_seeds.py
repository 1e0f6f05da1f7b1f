"""A sweep in figures: means over seeds, Student's intervals worked out by hand, and what does not count."""

import math

import pytest

from playground.analysis import over_seeds
from playground.analysis.intervals import Interval
from playground.analysis.over_seeds import Curve, RunEnd
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.sweeps.sweep_record import Sweep
from tests.support import sample, small_config, update_metrics


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


def test_a_row_is_of_the_runs_that_have_finished():
    ends = {
        "s-1": RunEnd(1.0, 4.0, {"is kind": 0.5}, []),
        "s-2": RunEnd(3.0, 6.0, {"is kind": 0.7, "rhymes": 0.1}, []),
        "s-4": RunEnd(None, None, {}, []),
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


def test_what_a_run_has_come_to_is_read_again_once_it_has_gone_on(tmp_path):
    run = RunDirectory.create(tmp_path, small_config(), "one")
    writer = RunWriter(run, num_updates=3)
    writer.samples([sample(0, "before", 0.0), sample(1, "before", 1.0)])
    writer.metrics(update_metrics(1))
    assert over_seeds.figures_of(run)["score_mean"] == {1: 0.5}
    writer.metrics(update_metrics(2))
    writer.samples([sample(0, "after", 1.0), sample(1, "after", 3.0)])
    end = over_seeds.end_of(run)
    assert (end.gain, end.kl) == (1.5, 4.0)
    assert [(point.update, point.score) for point in end.path] == [(0, 0.5), (3, 2.0)]
    assert over_seeds.figures_of(run) == {"score_mean": {1: 0.5, 2: 1.0}, "kl_to_reference": {1: 1.0, 2: 2.0}}
