"""The knee: on curves whose shape is known, under noise, how often it is false, and what is said when there is none."""

from __future__ import annotations

import numpy as np
import pytest

from playground.insight.knee import Knee, curve_of, knee, knee_sentence, most_left, surely_positive
from tests.support import sample

LOOKS = range(0, 41, 5)


def samples(shape, *, prompts=64, noise=0.0, seed=0, looks=LOOKS):
    """Fixed prompts that all follow a shape, each with its own level, and noise at every look."""
    generator = np.random.default_rng(seed)
    levels = generator.normal(size=prompts)
    found = []
    for update in looks:
        stage = "before" if update == 0 else "during"
        luck = noise * generator.normal(size=prompts)
        found += [
            sample(prompt, stage, float(shape(update) + levels[prompt] + luck[prompt]), update=update)
            for prompt in range(prompts)
        ]
    return found


def saturating(tau):
    return lambda update: 2 * (1 - np.exp(-update / tau))


def left(shape, update):
    """What is truly still to come of the whole gain."""
    return (shape(LOOKS[-1]) - shape(update)) / (shape(LOOKS[-1]) - shape(0))


@pytest.mark.parametrize("tau", [4, 6, 8])
def test_the_knee_is_the_first_look_with_less_than_a_tenth_still_to_come(tau):
    shape = saturating(tau)
    first = next(update for update in LOOKS if left(shape, update) < 0.1)
    found = knee(samples(shape, noise=0.01))
    assert found.update == first and left(shape, first) <= found.left < 0.1
    assert found.half == next(update for update in LOOKS if left(shape, update) <= 0.5)
    assert found.half_low == found.half_high == found.half


def test_what_was_still_to_come_is_bounded_as_often_as_it_says():
    """Fieller's bound at one look, on 16 prompts of a curve that has 5 % of its gain still to come."""
    generator, held = np.random.default_rng(0), 0
    for _ in range(400):
        gain, to_come = 2 + generator.normal(size=16), 0.1 + 0.1 * generator.normal(size=16)
        held += most_left(to_come, gain, 1.0) >= 0.05 or not surely_positive(0.1 * gain - to_come, 1.0)
    assert held >= 0.96 * 400


SHAPES = {
    "straight": lambda update: update / 20,
    "root": lambda update: 2 * (update / 40) ** 0.5,
    "slow": saturating(20),
    "ordinary": saturating(12),
    "quick": saturating(8),
    "at once": saturating(4),
    "kink": lambda update: min(update, 20) / 10,
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_knee_is_hardly_ever_said_with_more_than_a_tenth_still_to_come(name):
    shape = SHAPES[name]
    said = [knee(samples(shape, noise=1.0, seed=seed)).update for seed in range(60)]
    false = [update for update in said if update is not None and left(shape, update) > 0.1 + 1e-9]
    assert len(false) <= 4, "5 % of 60, and one by chance"
    if name in ("at once", "kink"):
        assert sum(update is not None for update in said) >= 20, "it is not silent either"


def test_half_of_the_gain_came_where_it_says():
    shape, held = SHAPES["straight"], 0
    for seed in range(60):
        found = knee(samples(shape, noise=1.0, seed=seed))
        assert found.update is None and found.half_low <= found.half <= found.half_high
        held += found.half_low <= 20 <= found.half_high
    assert held >= 54, "of a straight line half came by update 20"


@pytest.mark.parametrize(
    ("shape", "reason", "words"),
    [
        (lambda update: 0.05 * update, "still rising", "and the score was still rising at the end."),
        (lambda update: 0.002 * update**2, "still rising", "half of the gain came by update 30"),
        (lambda update: 0.0, "no gain", "has not clearly risen"),
        (lambda update: -0.05 * update, "no gain", "has not clearly risen"),
    ],
)
def test_there_is_none_while_the_score_rises_or_has_not_risen(shape, reason, words):
    found = knee(samples(shape, noise=0.3))
    assert (found.update, found.reason) == (None, reason)
    assert words in knee_sentence(found) and "more updates" not in knee_sentence(found)


def test_the_dial_of_steering_has_no_knee_and_no_half():
    found = knee(samples(saturating(4), noise=0.01), "steer")
    assert found == Knee(None, reason="a dial") and knee_sentence(found) == ""


def test_too_few_looks_say_nothing():
    found = knee(samples(saturating(3), looks=(0, 10, 20, 30)))
    assert found == Knee(None, reason="few looks") and knee_sentence(found) == ""
    assert knee([]).reason == "few looks"


def test_the_curve_keeps_prompts_that_have_a_score_at_every_look_and_the_last_attempt():
    found = [sample(0, "before", 1.0), sample(0, "after", 2.0), sample(0, "after", 5.0), sample(1, "before", None)]
    found += [sample(1, "after", 3.0)]
    curve = curve_of(found)
    assert curve.index.tolist() == [0, 3] and curve.to_numpy().tolist() == [[1.0], [5.0]]


def test_the_sentence_tells_how_much_was_left_or_where_half_of_it_came():
    assert knee_sentence(Knee(20, 0.0312, 5, 5, 10)) == (
        "Training paid until about update 20: at most 4 % of the gain came after it (95 % confidence)."
    )
    assert knee_sentence(Knee(20, 0.0, 5, 5, 10)) == (
        "Training paid until about update 20: nothing of the gain came after it (95 % confidence)."
    )
    assert knee_sentence(Knee(None, None, 15, 10, 20, "undecided")) == (
        "No knee to be told from chance: half of the gain came by update 15 (95 % interval 10 to 20)."
    )
