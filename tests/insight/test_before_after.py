"""Before and after: pairs, gains and their uncertainty, against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from playground.insight.before_after import Outcome, outcome, outcome_sentence, pairs, t95
from tests.support import sample


def test_pairs_join_on_prompt_and_seed_and_drop_the_unmatched() -> None:
    before = [sample(0, "before", 0.0), sample(0, "before", 0.0, seed=1), sample(1, "before", 0.0)]
    after = [sample(0, "after", 1.0), sample(0, "after", 2.0, seed=1), sample(2, "after", 9.0)]
    joined = pairs([*after, *before])
    assert [(pair.before.prompt_id, pair.before.seed, pair.gain) for pair in joined] == [(0, 100, 1.0), (0, 1, 2.0)]


def test_pairs_take_the_newest_moment_or_the_one_asked_for() -> None:
    samples = [sample(0, "before", 0.0), sample(0, "during", 1.0, update=5), sample(0, "during", 3.0, update=10)]
    assert [pair.gain for pair in pairs(samples)] == [3.0]
    assert [pair.gain for pair in pairs(samples, update=5)] == [1.0]
    assert pairs(samples, update=7) == []


def test_a_pair_without_a_score_has_no_gain() -> None:
    joined = pairs([sample(0, "before", None), sample(0, "after", 1.0)])
    assert [pair.gain for pair in joined] == [None]
    assert outcome(joined) is None
    assert outcome([]) is None
    assert pairs([]) == []


def test_the_outcome_of_three_prompts_by_hand() -> None:
    before = [sample(0, "before", 0.0), sample(1, "before", 1.0), sample(2, "before", 2.0, tokens=16)]
    after = [
        sample(0, "after", 1.0, completion="same", kl=1.0),
        sample(1, "after", 3.0, completion="same", kl=2.0, ended=False),
        sample(2, "after", 5.0, kl=6.0, tokens=40),
    ]
    found = outcome(pairs([*before, *after]))
    assert found is not None
    half = 4.303 / math.sqrt(3)  # gains 1, 2, 3: mean 2, standard deviation 1; Student's t with 2
    kl_half = 4.303 * math.sqrt(7) / math.sqrt(3)  # KLs 1, 2, 6: mean 3, variance 7
    assert found == pytest.approx(
        Outcome(
            num_prompts=3,
            samples_per_prompt=1,
            score_before=1.0,
            score_after=3.0,
            gain=2.0,
            low=2.0 - half,
            high=2.0 + half,
            kl=3.0,
            kl_low=0.0,  # never negative, and 3 - kl_half is
            kl_high=3.0 + kl_half,
            unique_after=2,
            ended_after=2 / 3,
            length_before=12.0,
            length_after=20.0,
        )
    )


def test_samples_of_one_prompt_are_not_independent() -> None:
    before = [sample(prompt, "before", 0.0, seed=seed) for prompt in (0, 1) for seed in range(4)]
    after = [sample(prompt, "after", 1.0 + 2 * prompt, seed=seed) for prompt in (0, 1) for seed in range(4)]
    found = outcome(pairs(before + after))
    assert found is not None
    assert (found.num_prompts, found.samples_per_prompt, found.gain) == (2, 4, 2.0)
    assert found.high - found.gain == pytest.approx(12.706)  # two prompts: 1 and 3, sd 2^.5; t with 1


@pytest.mark.parametrize(("count", "quantile"), [(2, 12.706), (11, 2.228), (12, 2.201), (31, 2.042), (65, 1.998)])
def test_few_prompts_have_the_wider_interval_of_students_t(count: int, quantile: float) -> None:
    assert t95(count) == pytest.approx(quantile, abs=0.003)


def test_prompts_without_a_score_do_not_count_as_samples() -> None:
    before = [sample(prompt, "before", 0.0 if prompt < 2 else None) for prompt in range(4)]
    after = [sample(prompt, "after", 1.0) for prompt in range(4)]
    found = outcome(pairs(before + after))
    assert found is not None and (found.num_prompts, found.samples_per_prompt) == (2, 1)


def test_one_prompt_has_no_interval() -> None:
    found = outcome(pairs([sample(0, "before", 0.0), sample(0, "after", 1.5)]))
    assert found is not None and math.isnan(found.low) and math.isnan(found.high)
    assert outcome_sentence(found) == "Score +1.50 sd on 1 prompts; 4.0 nats from the reference."


def test_the_sentence_names_gain_interval_and_cost() -> None:
    found = Outcome(32, 4, 0.0, 1.4, 1.4, 1.2, 1.6, 5.12, 4.6, 5.64, 30, 1.0, 10.0, 12.0)
    assert outcome_sentence(found) == (
        "Score +1.40 sd on 32 prompts x 4 samples, 95 % interval +1.20 to +1.60; "
        "5.1 nats (4.6 to 5.6) from the reference."
    )
    worse = found._replace(gain=-0.5, low=-0.7, high=-0.3, samples_per_prompt=1)
    assert outcome_sentence(worse, "points") == (
        "Score -0.50 points on 32 prompts, 95 % interval -0.70 to -0.30; 5.1 nats (4.6 to 5.6) from the reference."
    )
