"""Conditions on facts."""

from __future__ import annotations

import pytest

from playground.lessons.conditions import condition, holds
from playground.setup.expected import Band


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("> 0.8", (0.81, 1), (0.8, 0.1)),
        (">=0.8", (0.8, 1), (0.79,)),
        ("< 3", (2.9, -5), (3, 4)),
        ("<= 3", (3,), (3.01,)),
        ("0.4 to 0.6", (0.4, 0.5, 0.6), (0.39, 0.61)),
        ("-2 to -1.5", (-2, -1.7), (-1, 2)),
        ("> 1e-3", (0.002,), (0.0001,)),
    ],
)
def test_a_condition_holds_of_these_values(text: str, yes: tuple[float, ...], no: tuple[float, ...]) -> None:
    assert all(condition(text).holds(value) for value in yes)
    assert not any(condition(text).holds(value) for value in (*no, None))


@pytest.mark.parametrize("text", ["", "0.8", "> ", "> 0.8 1", "= 1", "0.6 to 0.4", "1 to", "> nan", "> x", "5 > 3"])
def test_what_is_no_condition_says_how_to_write_one(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no (condition|range)"):
        condition(text)


def test_all_conditions_have_to_hold_and_of_what_is_not_known_none_does() -> None:
    values = {"score": 2.0, "kl": None}
    assert holds({"score": "> 1"}, values)
    assert holds({}, values)
    assert not holds({"score": "> 1", "kl": "> 0"}, values)
    assert not holds({"length": "< 99"}, values)


def test_a_condition_holds_over_a_band_where_it_holds_at_both_ends() -> None:
    assert condition("> 0.8").holds_over(Band(0.85, 0.9, 3))
    assert not condition("> 0.8").holds_over(Band(0.75, 0.9, 3))
    assert not condition("0.1 to 0.8").holds_over(Band(0.75, 0.9, 3))
