"""The check of the exercise names what is wrong in functions that were written in another way than the example."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import pytest

from playground.training.exercise import checks, mistakes, runner
from tests.support import PROJECT
from tests.training.exercise.students import RIGHT, WRONG


@functools.cache
def ours() -> dict[str, Any]:
    return vars(runner.example(PROJECT))


def verdict(function: str, source: str) -> dict[str, Any]:
    """What is said of one function of a file in which it is written so, and all else is the example's."""
    names = vars(ModuleType("exercise")) | ours()
    exec(source, names)
    return checks.verdict(names, ours(), function, "your file")


@pytest.mark.parametrize("function", RIGHT)
def test_what_is_right_is_right_in_another_style_too(function: str) -> None:
    assert verdict(function, RIGHT[function]) == {"verdict": "right"}


@pytest.mark.parametrize(("function", "right", "wrong", "hint"), WRONG)
def test_a_mistake_is_named_with_a_case_that_shows_it(function: str, right: str, wrong: str, hint: str) -> None:
    assert right in RIGHT[function]
    found = verdict(function, RIGHT[function].replace(right, wrong))
    assert found["verdict"] == "wrong" and hint in found["hint"], found
    assert found["case"]
    assert found["given"]
    assert found["expected"].keys() == found["got"].keys() != set()
    assert found["expected"] != found["got"]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("function", "mistake"), [(name, one) for name, every in mistakes.MISTAKES.items() for one in every]
)
def test_every_mistake_that_is_known_differs_from_what_is_right_and_from_the_others(
    function: str, mistake: mistakes.Mistake
) -> None:
    found = checks.verdict(mistakes.mutant(ours(), function, mistake), ours(), function, "x")
    assert found["verdict"] == "wrong"
    assert found["hint"] == mistake.hint


def test_what_shows_a_mistake_is_the_smallest_case() -> None:
    right, wrong = "r[n - 1] +=", "r[C - 1] +="
    found = verdict("compute_advantages", RIGHT["compute_advantages"].replace(right, wrong))
    assert found["case"] == "completions of two tokens and of one"  # shorter than others, so that there is padding
    assert found["given"]["mask"] == "[[1, 1], [1, 0]]"
    assert found["given"]["scores"] == "[1, -1]"
    assert found["expected"]["returns"] == "[[0.95, 1], [-1, 0]]"
    assert found["got"]["returns"] == "[[0.95, 1], [0, 0]]"
    sign = verdict("ppo_step", RIGHT["ppo_step"].replace("pl = -(", "pl = ("))
    assert sign["case"] == "one token with ratio 1 and advantage 1"
    assert (sign["expected"]["policy_loss"], sign["got"]["policy_loss"]) == ("-1", "1")


def test_what_is_not_written_and_what_raises_is_said() -> None:
    assert verdict("compute_kl", "def compute_kl(*given): pass") == {"verdict": "missing"}
    assert verdict("train", "def train(*given): raise NotImplementedError") == {"verdict": "missing"}
    assert verdict("train", "train = None") == {"verdict": "missing"}
    found = verdict("train", "def train(*given):\n    return 1 / 0")
    assert found == {"verdict": "wrong", "error": "ZeroDivisionError: division by zero"}
    exits = verdict("compute_kl", "import sys\ndef compute_kl(*given):\n    sys.exit()")
    assert exits["verdict"] == "wrong"
    assert exits["got"] == {"error": "SystemExit: "}
    lists = verdict("compute_kl", "def compute_kl(*given): return [[1.0]]")
    assert lists["hint"] == "A Tensor is asked for, and this is a list."
