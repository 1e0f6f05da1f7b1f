"""The knee: on curves whose shape is known, under noise, and what is said when there is none."""

from __future__ import annotations

import numpy as np
import pytest

from playground.insight.knee import Knee, curve_of, knee, knee_sentence, smoothed
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


@pytest.mark.parametrize("tau", [5, 8, 12])
def test_a_saturating_curve_has_its_knee_where_the_slope_has_fallen_to_about_a_tenth(tau):
    found = knee(samples(saturating(tau)))
    pointwise = tau * np.log(10)
    assert found.update is not None and pointwise - 7.5 <= found.update <= pointwise + 2.5
    assert found.certainty == 1.0 and found.low == found.high == found.update
    expected = (1 - np.exp(-found.update / tau)) / (1 - np.exp(-40 / tau))
    assert found.gain_share == pytest.approx(expected)


def test_a_kink_is_found_where_it_is_whatever_the_noise_of_single_prompts():
    for seed in range(3):
        found = knee(samples(lambda update: 0.1 * min(update, 20), noise=0.7, seed=seed))
        assert found.update is not None and 15 <= found.update <= 25, seed
        assert found.low <= found.update <= found.high


@pytest.mark.parametrize(
    ("shape", "reason", "words"),
    [
        (lambda update: 0.05 * update, "still rising", "more updates may pay"),
        (lambda update: 0.002 * update**2, "still rising", "more updates may pay"),
        (lambda update: 0.0, "no gain", "has not clearly risen"),
        (lambda update: -0.05 * update, "no gain", "has not clearly risen"),
    ],
)
def test_there_is_none_while_the_score_rises_or_has_not_risen(shape, reason, words):
    found = knee(samples(shape, noise=0.3))
    assert (found.update, found.reason) == (None, reason)
    assert words in knee_sentence(found)


def reasons(shape, prompts):
    """What is said of 40 draws of the same curve."""
    return [knee(samples(shape, prompts=prompts, noise=0.8, seed=seed)).reason for seed in range(40)]


def test_a_straight_line_has_hardly_ever_a_knee_and_a_flat_end_is_hardly_ever_said_to_rise():
    """A certain slope on 16 prompts, a smaller one, and a curve that has been flat for half of the run."""
    for slope in (0.05, 0.02):
        assert reasons(lambda update, slope=slope: slope * update, 16).count("") <= 4
    assert reasons(lambda update: 0.1 * min(update, 20), 16).count("still rising") <= 3
    assert reasons(lambda update: 0.05 * update, 64).count("still rising") >= 30


def test_too_few_looks_say_nothing():
    found = knee(samples(saturating(3), looks=(0, 10, 20, 30)))
    assert found == Knee(None, reason="few looks") and knee_sentence(found) == ""
    assert knee([]).reason == "few looks"


def test_the_curve_keeps_prompts_that_have_a_score_at_every_look_and_the_last_attempt():
    found = [sample(0, "before", 1.0), sample(0, "after", 2.0), sample(0, "after", 5.0), sample(1, "before", None)]
    found += [sample(1, "after", 3.0)]
    curve = curve_of(found)
    assert curve.index.tolist() == [0, 3] and curve.to_numpy().tolist() == [[1.0], [5.0]]


def test_smoothing_keeps_the_ends_and_straight_lines():
    assert smoothed(np.array([0.0, 1, 2, 3])).tolist() == [0, 1, 2, 3]
    assert smoothed(np.array([0.0, 4, 0])).tolist() == [0, 2, 0]


def test_the_sentence_tells_spread_and_doubt():
    words = knee_sentence(Knee(20, 15, 30, 0.6, 0.925))
    assert words == (
        "Training paid until about update 20 (other prompts would say 15 to 30), with 92 % of the gain made. "
        "It is not certain: with other prompts there would often be none."
    )
