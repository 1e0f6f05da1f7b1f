"""The prompt sets: distinct, seeded, the first like the rest, and with the mix that they promise."""

import math
import statistics

import pytest

from playground.pocket import judges
from playground.pocket.prompt_sets import PROMPT_SETS, prompts
from tests.nights import cases


@pytest.mark.parametrize("name", PROMPT_SETS)
def test_a_set_is_distinct_and_seeded(name):
    drawn = prompts(name, 300, 1)
    assert len(drawn) == 300
    assert len(set(drawn)) == 300
    assert drawn == prompts(name, 300, 1)
    assert drawn != prompts(name, 300, 2)
    assert all(not prompt.endswith(" ") for prompt in drawn)


@pytest.mark.parametrize("name", cases(PROMPT_SETS, always=("pocket/claims", "pocket/reviews")))
def test_the_first_prompts_are_like_the_rest(name):
    """Fixed prompts are the first ones. Frequent ones, which are short, are drawn before rare ones."""
    deviations = []
    for seed in range(6):
        lengths = [len(prompt) for prompt in prompts(name, 600, seed)]
        first, rest = lengths[:100], lengths[100:]
        error = math.sqrt(statistics.variance(first) / 100 + statistics.variance(rest) / 500)
        deviations.append((statistics.fmean(first) - statistics.fmean(rest)) / error)
    assert abs(sum(deviations)) / math.sqrt(6) < 2.5


def test_review_prompts_leave_the_sentiment_open():
    drawn = prompts("pocket/reviews", 600, 0)
    assert len(set(drawn)) == 600
    assert all(judges.read_prompt(prompt).kind == "review" for prompt in drawn)
    assert all(judges.sentiment("", prompt) is None for prompt in drawn)
    in_the_middle = [prompt for prompt in drawn if not prompt.endswith((".", ":"))]
    assert len(in_the_middle) > 200


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("pocket/claims", {False: (0.37, 0.5), True: (0.27, 0.34), None: (0.19, 0.33)}),
        ("pocket/wrong-claims", {False: (0.61, 0.73), True: (0.08, 0.14), None: (0.16, 0.28)}),
    ],
)
def test_the_mix_of_wrong_right_and_no_claims_holds_however_many(name, bounds):
    truths = [judges.claim_is_true(prompt) for prompt in prompts(name, 4560, 0)]
    for truth, (low, high) in bounds.items():
        assert low < truths.count(truth) / 4560 < high
