"""The plateau: on curves whose shape is known, under noise, how often it is false, and what is said of none."""

import numpy as np
import pytest

from playground.analysis.plateau import lies_above, most_left, plateau, plateau_sentence
from tests.nights import cases
from tests.support import sample

UPDATES = range(0, 41, 5)
MOLD = sample(0, "during", 0.0)


def samples(shape, *, prompts=64, noise=0.0, seed=0):
    """Fixed prompts that all follow a shape, each with its own level, and noise at every evaluation."""
    generator = np.random.default_rng(seed)
    levels = generator.normal(size=prompts)
    scores = {update: shape(update) + levels + noise * generator.normal(size=prompts) for update in UPDATES}
    return [
        MOLD.model_copy(update={"update": update, "prompt_id": prompt, "score": float(score)})
        for update, of_update in scores.items()
        for prompt, score in enumerate(of_update)
    ]


def saturating(tau):
    return lambda update: 2 * (1 - np.exp(-update / tau))


def left(shape, update):
    """What is truly still to come of the whole gain."""
    return (shape(UPDATES[-1]) - shape(update)) / (shape(UPDATES[-1]) - shape(0))


@pytest.mark.parametrize("tau", [4, 6, 8])
def test_the_plateau_begins_at_the_first_evaluation_with_less_than_a_tenth_still_to_come(tau):
    shape = saturating(tau)
    first = next(update for update in UPDATES if left(shape, update) < 0.1)
    result = plateau(samples(shape, noise=0.01))
    assert result.update == first
    assert left(shape, first) <= result.left < 0.1
    assert result.half == next(update for update in UPDATES if left(shape, update) <= 0.5)
    assert result.half_low == result.half_high == result.half


def test_what_was_still_to_come_is_bounded_as_often_as_it_says():
    """Fieller's bound at one evaluation, on 16 prompts of a curve that has 5 % of its gain still to come."""
    generator, num_held = np.random.default_rng(0), 0

    def surely_positive(values):
        return lies_above(values, 1.0, np.arange(16))

    for _ in range(200):
        gain, to_come = 2 + generator.normal(size=16), 0.1 + 0.1 * generator.normal(size=16)
        num_held += most_left(to_come, gain, surely_positive) >= 0.05 or not surely_positive(0.1 * gain - to_come)
    assert num_held >= 0.955 * 200


SHAPES = {
    "straight": lambda update: update / 20,
    "ordinary": saturating(12),
    "at once": saturating(4),
    "kink": lambda update: min(update, 20) / 10,
}


@pytest.mark.parametrize("name", cases(SHAPES, always=("straight", "at once")))
def test_a_plateau_is_hardly_ever_seen_with_more_than_a_tenth_still_to_come(name):
    shape = SHAPES[name]
    updates = [plateau(samples(shape, noise=1.0, seed=seed)).update for seed in range(40)]
    false = [update for update in updates if update is not None and left(shape, update) > 0.1 + 1e-9]
    assert len(false) <= 3, "5 % of 40, and one by chance"
    if name in ("at once", "kink"):
        assert sum(update is not None for update in updates) >= 13, "it is not silent either"


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        (lambda update: 0.05 * update, "still rising"),
        (lambda update: 0.0, "no gain"),
        (lambda update: -0.05 * update, "no gain"),
        ({0: 0, 5: 1, 15: 3}.get, "swings"),
        ({0: 0, 5: 1, 10: 2, 30: 2.5}.get, "swings"),
        ({0: 0, 5: 2, 35: 1}.get, "undecided"),
    ],
)
def test_no_plateau_is_seen_while_the_score_rises_or_swings_or_has_not_risen(shape, reason):
    result = plateau(samples(lambda update: 2.0 if shape(update) is None else shape(update), noise=0.3))
    assert (result.update, result.reason) == (None, reason)
    assert ("rose and fell" in plateau_sentence(result)) == (reason == "swings")
    assert ("still rising" in plateau_sentence(result)) == (reason == "still rising")
