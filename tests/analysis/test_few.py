"""Few prompts are all that there are: an interval is of these prompts, and the gain of each is what it is."""

import numpy as np
import pytest

from playground.analysis.before_after import outcome, outcome_sentence, pairs
from playground.analysis.intervals import of_prompts
from playground.analysis.plateau import plateau
from tests.support import sample


def answers(generator, gains, each):
    return [generator.normal(gain, 1.0, each).tolist() for gain in gains]


@pytest.mark.parametrize("gains", [(0.2, 2.0), (-1.0, 1.0, 3.0), (0.0, 0.5, 1.0, 1.5, 2.0)])
def test_an_interval_of_few_prompts_holds_their_mean_as_often_as_it_says(gains):
    generator, num_held = np.random.default_rng(0), 0
    for _ in range(400):
        interval = of_prompts(answers(generator, gains, 8))
        num_held += interval.low <= np.mean(gains) <= interval.high
    assert num_held / 400 == pytest.approx(0.95, abs=0.025)


def test_many_prompts_stand_for_others_like_them():
    generator = np.random.default_rng(0)
    four, eight = (of_prompts(answers(generator, np.arange(count) % 2 * 4.0, 16)) for count in (4, 8))
    assert four.half < 0.3
    assert eight.half > 1.5


def test_a_gain_on_two_prompts_that_is_clear_on_each_is_told_as_one():
    """As of a problem whose every text can be listed, of two prompts, of which one has little to gain."""
    generator = np.random.default_rng(0)
    samples = [
        sample(prompt, stage, level * min(update, 15) / 15 + 0.1 * generator.normal(), update=update, seed=seed)
        for update, stage in ((0, "before"), *((later, "during") for later in range(5, 41, 5)))
        for prompt, level in enumerate((0.4, 1.8))
        for seed in range(32)
    ]
    change = outcome(pairs(samples))
    assert change.low > 0.9
    assert change.high < 1.3
    assert "on these 2 prompts x 32 samples, 95 % interval" in outcome_sentence(change)
    assert plateau(samples).update == 15
