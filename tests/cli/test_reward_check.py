"""What `reward-check` prints of one reward model."""

from __future__ import annotations

from typing import Any

import pytest

from playground.cli import check_reward

NOTHING: dict[str, Any] = dict.fromkeys(
    ("template", "example", "lengths", "good", "bad", "reference", "pairs", "cost"), None
)


def example(score: float | None) -> dict[str, Any]:
    return {"prompt": "p", "completion": " text", "score": score}


@pytest.mark.parametrize(
    ("good", "bad", "wrong"), [(0.5, 1.5, True), (1.5, 0.5, False), (0.5, 0.5, False), (None, 1.0, False)]
)
def test_a_bad_example_that_is_scored_above_the_good_one_is_said_to_be(
    good: float | None, bad: float | None, wrong: bool
) -> None:
    facts = check_reward.facts_of({**NOTHING, "good": example(good), "bad": example(bad)})
    assert ("it is scored above the good one" in facts["a bad example"]) is wrong
    assert "scored above" not in facts["a good example"]
