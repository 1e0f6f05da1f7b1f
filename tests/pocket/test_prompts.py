import math
import statistics

import pytest

from playground.pocket import judges
from playground.pocket.prompt_sets import PROMPT_SETS, claim_prompts, prompts


@pytest.mark.parametrize("name", PROMPT_SETS)
def test_a_set_is_distinct_and_seeded(name):
    drawn = prompts(name, 300, 1)
    assert len(drawn) == 300
    assert len(set(drawn)) == 300
    assert drawn == prompts(name, 300, 1)
    assert drawn != prompts(name, 300, 2)
    assert all(not prompt.endswith(" ") for prompt in drawn)


@pytest.mark.parametrize("name", PROMPT_SETS)
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


@pytest.mark.parametrize("count", [300, 1000, 2112, 4560])
def test_claims_are_nearly_half_wrong_and_a_third_right_however_many(count):
    wrong, right, neutral = shares("pocket/claims", count)
    assert 0.37 < wrong < 0.5 and 0.27 < right < 0.34 and 0.19 < neutral < 0.33


@pytest.mark.parametrize("count", [300, 1000, 2112, 4560])
def test_of_wrong_claims_two_thirds_are_wrong_and_a_tenth_right_however_many(count):
    wrong, right, neutral = shares("pocket/wrong-claims", count)
    assert 0.61 < wrong < 0.73 and 0.08 < right < 0.14 and 0.16 < neutral < 0.28


def shares(name: str, count: int) -> list[float]:
    """Of the claims of a set: how many are wrong, are right, claim nothing."""
    truths = [judges.claim_is_true(prompt) for prompt in prompts(name, count, 0)]
    return [truths.count(truth) / count for truth in (False, True, None)]


@pytest.mark.parametrize("name, kind", [("stories", "story"), ("requests", "request"), ("sums-and-facts", "question")])
def test_other_sets_hold_their_kind(name, kind):
    assert {judges.read_prompt(prompt).kind for prompt in prompts(f"pocket/{name}", 200, 0)} == {kind}


def test_the_mixed_set_has_every_kind():
    kinds = {judges.read_prompt(prompt).kind for prompt in prompts("pocket/mixed", 200, 0)}
    assert kinds == {"review", "claim", "question", "story", "request"}


def test_more_prompts_than_the_world_has_are_repeated():
    drawn = prompts("pocket/sums-and-facts", 4_000, 0)
    assert len(drawn) == 4_000
    # 213 subjects in three wordings, and one wording for each of the persons
    from playground.pocket.words import PERSONS

    assert len(set(drawn)) <= 213 * (3 + len(PERSONS))


def test_claim_prompts_are_all_of_the_asked_truth():
    assert {judges.claim_is_true(prompt) for prompt in claim_prompts(200, 0, right=True)} == {True}
    assert {judges.claim_is_true(prompt) for prompt in claim_prompts(200, 0, right=False)} == {False}
    sums = claim_prompts(100, 0, form="neutral", about="sums")
    assert all(" plus " in prompt and judges.claim_is_true(prompt) is None for prompt in sums)


def test_an_unknown_set_is_refused_with_the_known_ones():
    with pytest.raises(KeyError, match="pocket/reviews"):
        prompts("pocket/poems", 1, 0)
