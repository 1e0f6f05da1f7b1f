"""Every mistake that the check of the exercise knows, made by the check itself."""

import pytest

from playground.training.exercise import checks, mistakes
from tests.training.exercise.test_checks import ours


@pytest.mark.parametrize(
    ("function", "mistake"), [(name, mistake) for name, each in mistakes.MISTAKES.items() for mistake in each]
)
def test_every_known_mistake_differs_from_what_is_right_and_from_the_others(function, mistake):
    answer = checks.verdict(mistakes.mutant(ours(), function, mistake), ours(), function, "x")
    assert answer["verdict"] == "wrong"
    assert answer["hint"] == mistake.hint
