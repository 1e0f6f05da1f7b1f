"""The score by hand: scale, clip and the penalty for not ending, in this order."""

import pytest

from playground.rewards.mixture import Scale
from playground.training.scoring import Scorer
from tests.training import tiny


@pytest.mark.parametrize(
    ("clip", "scores"), [(None, [-1.0, -1.0 - 0.5, 3.0, 3.0 - 0.5]), (2.0, [-1.0, -1.0 - 0.5, 2.0, 2.0 - 0.5])]
)
def test_a_completion_that_was_cut_loses_the_penalty_after_scaling_and_clipping(clip, scores):
    """Reward 0 or 8 letters "a", on a scale of mean 2 and standard deviation 2."""
    scorer = Scorer(tiny.config(sampling__missing_eos_penalty=0.5), tiny.count_letter(), Scale(2.0, 2.0, clip))
    found = scorer(["p"] * 4, ["b", "b", "a" * 8, "a" * 8], [True, False, True, False])
    assert found.scores == scores
    assert found.raw == [0.0, 0.0, 8.0, 8.0]
