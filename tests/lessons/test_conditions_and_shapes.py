"""Conditions on facts, and what a curve does, in a word."""

import math
import random

import pytest

from playground.lessons.conditions import condition, holds
from playground.lessons.shapes import shape
from playground.setup.expected import Band
from tests.support import data_beside


@pytest.mark.parametrize(("text", "yes", "no"), data_beside(__file__, "conditions.yaml"))
def test_a_condition_holds_of_these_values(text, yes, no):
    assert all(condition(text).holds(value) for value in yes)
    assert not any(condition(text).holds(value) for value in (*no, None))


@pytest.mark.parametrize("text", ["", "0.8", "> ", "> 0.8 1", "= 1", "0.6 to 0.4", "1 to", "> nan", "> x", "5 > 3"])
def test_what_is_no_condition_says_how_to_write_one(text):
    with pytest.raises(ValueError, match=r"is no (condition|range)"):
        condition(text)


def test_all_conditions_have_to_hold_and_over_a_band_at_both_of_its_ends():
    values = {"score": 2.0, "kl": None}
    assert holds({"score": "> 1"}, values)
    assert holds({}, values)
    assert not holds({"score": "> 1", "kl": "> 0"}, values)
    assert not holds({"length": "< 99"}, values)
    assert condition("> 0.8").holds_over(Band(0.85, 0.9, 3))
    assert not condition("> 0.8").holds_over(Band(0.75, 0.9, 3))
    assert not condition("0.1 to 0.8").holds_over(Band(0.75, 0.9, 3))


UP = [step / 39 for step in range(40)]
PLATEAU = [min(1.0, step / 15) for step in range(40)]
HILL = [1 - abs(step - 20) / 20 for step in range(40)]


def noisy(values, seed):
    """Values of 0 to 10 with a noise of 1."""
    drawn = random.Random(seed)
    return [10 * value + drawn.gauss(0, 1) for value in values]


SHAPES = [
    (UP, "rises", 195),
    (PLATEAU, "rises, then stays", 190),
    (HILL, "rises, then falls", 195),
    ([-value for value in UP], "falls", 195),
    ([0.0] * 40, "stays", 190),
    ([step / 80 for step in range(40)], "rises", 170),  # by five times the noise
    ([0.5 * (1 - math.exp(-step / 8)) for step in range(40)], "rises, then stays", 165),
]


@pytest.mark.parametrize(("values", "name", "least"), SHAPES)
def test_a_curve_is_called_by_its_shape_on_nearly_all_seeds(values, name, least):
    assert [shape("other", noisy(values, seed)) for seed in range(200)].count(name) >= least


def test_a_change_that_no_one_would_draw_is_none_and_of_the_offered_shapes_the_nearest_is_taken():
    assert shape("kl", [0.01 * step / 40 for step in range(40)]) == "stays"  # of nats
    assert shape("length", [20 + 0.5 * value for value in UP]) == "stays"  # of tokens
    assert shape("score", [0.2 * value for value in UP]) == "stays"  # of standard deviations
    assert shape("other", noisy(PLATEAU, 0), ["rises", "falls", "stays"]) == "rises"
    assert shape("other", noisy(HILL, 0), ["rises", "falls", "stays"]) == "stays"  # it ends where it began
    assert shape("other", noisy(UP, 0), ["rises, then stays", "falls", "stays"]) == "rises, then stays"
