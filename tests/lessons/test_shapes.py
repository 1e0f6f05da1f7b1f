"""What a curve does, in a word."""

from __future__ import annotations

import random

import pytest

from playground.lessons.shapes import shape

UP = [step / 39 for step in range(40)]
PLATEAU = [min(1.0, step / 15) for step in range(40)]
HILL = [1 - abs(step - 20) / 20 for step in range(40)]


def noisy(values: list[float], seed: int) -> list[float]:
    """Values of 0 to 10 with a noise of 1."""
    drawn = random.Random(seed)
    return [10 * value + drawn.gauss(0, 1) for value in values]


@pytest.mark.parametrize("seed", range(5))
def test_curves_with_noise_are_called_by_their_shape(seed: int) -> None:
    assert shape("other", noisy(UP, seed)) in ("rises", "rises, then stays")
    assert shape("other", noisy(UP, seed), ["rises", "falls", "stays"]) == "rises"
    assert shape("other", noisy(PLATEAU, seed)) == "rises, then stays"
    assert shape("other", noisy(HILL, seed)) == "rises, then falls"
    assert shape("other", noisy([-value for value in UP], seed)) == "falls"


def test_noise_alone_stays_on_nearly_all_seeds() -> None:
    found = [shape("other", noisy([0.0] * 40, seed)) for seed in range(200)]
    assert found.count("stays") >= 190


def test_a_change_that_no_one_would_draw_is_none() -> None:
    assert shape("kl", [0.01 * step / 40 for step in range(40)]) == "stays"  # of nats
    assert shape("length", [20 + 0.5 * value for value in UP]) == "stays"  # of tokens
    assert shape("score", [0.2 * value for value in UP]) == "stays"  # of standard deviations


def test_of_the_offered_shapes_the_nearest_is_taken() -> None:
    assert shape("other", noisy(PLATEAU, 0), ["rises", "falls", "stays"]) == "rises"
    assert shape("other", noisy(HILL, 0), ["rises", "falls", "stays"]) == "stays"  # it ends where it began
    assert shape("other", noisy(UP, 0), ["rises, then stays", "falls", "stays"]) == "rises, then stays"


def test_one_point_has_no_shape() -> None:
    assert shape("score", []) == shape("score", [1.0]) == ""
    assert shape("score", [1.0, 3.0]).startswith("rises")
