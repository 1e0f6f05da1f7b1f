import itertools

import pytest

from playground.analysis.pass_at import pass_at, passes
from playground.rewards.verify import RIGHT
from tests.support import sample


@pytest.mark.parametrize(("answers", "k"), [(6, 1), (6, 2), (6, 4), (6, 6), (4, 3)])
def test_pass_at_k_is_the_share_of_all_subsets_of_k_answers_that_hold_a_right_one(answers, k):
    for right in range(answers + 1):
        marks = [True] * right + [False] * (answers - right)
        subsets = [*itertools.combinations(marks, k)]
        assert pass_at(answers, right, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


def test_before_and_now_are_means_over_the_prompts_for_each_k_up_to_their_answers():
    rows = {"before": [(2, 4), (0, 4), (1, 4)], "after": [(4, 4), (0, 4), (2, 4)]}  # of each prompt right, of answers
    samples = [
        sample(prompt, stage, 0.0, seed=seed, behaviours={RIGHT: seed < right})
        for stage, prompts in rows.items()
        for prompt, (right, of) in enumerate(prompts)
        for seed in range(of)
    ]
    one, two, four = passes(samples)
    assert [item.k for item in (one, two, four)] == [1, 2, 4]
    assert (one.before.mean, one.now.mean) == pytest.approx((3 / 12, 6 / 12))
    assert (two.before.mean, two.now.mean) == pytest.approx(((5 / 6 + 0 + 1 / 2) / 3, (1 + 0 + 5 / 6) / 3))
    assert (four.before.mean, four.now.mean) == pytest.approx((2 / 3, 2 / 3))
    # changes of 1/2, 0, 1/4: mean and sd are 1/4; t of 2 degrees times sd / sqrt(3)
    assert (one.change, one.high - one.low) == pytest.approx((1 / 4, 2 * 4.303 * 0.25 / 3**0.5))
    assert passes([item for item in samples if item.stage == "after"]) == passes([]) == []
