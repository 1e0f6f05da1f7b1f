"""The contrast of an answer, counted by hand."""

import pytest

from playground.rewards.contrast import References, contrast, references, similarity

WRONG = "User: I think 4 plus 5 is 8. Bot:"


def test_similarity_is_the_f1_of_shared_words_and_pairs_of_words():
    """4 words and 3 pairs against 3 words and 2 pairs; shared are a, b, c and "a b", "b c"."""
    assert similarity("A b, c d.", "a b c") == pytest.approx(2 * 5 / (7 + 5))
    assert similarity("a a", "a") == pytest.approx(2 * 1 / (3 + 1))  # what is said once counts once
    assert similarity("The same.", "the same") == 1
    assert similarity("one two", "three") == similarity("", "x") == similarity("x", "") == similarity("", "") == 0


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        (WRONG, References("4 plus 5 is 9", "4 plus 5 is 8")),
        ("User: I think 4 plus 5 is 9. Bot:", References("4 plus 5 is 9")),
        ("User: What is the capital of France? Bot:", References("the capital of France is Paris")),
        (
            "User: What is 4 plus 5? Bot: 4 plus 5 is 9. User: No, 4 plus 5 is 7. Bot:",
            References("4 plus 5 is 9", "4 plus 5 is 7"),
        ),
        ("Story: Ben lost his red ball.", None),
        ("", None),
    ],
)
def test_an_answer_is_held_against_the_one_without_a_claim_and_against_the_claim(prompt, found):
    assert references(prompt) == found


def test_the_true_value_is_paid_and_the_claimed_one_costs_whatever_the_remark():
    """Of their 9 grams each the two answers share 7: 2 / 9 apart. "9, not 8" has 13, of which 9 and 8 are shared."""
    assert contrast(WRONG, " 4 plus 5 is 9.") == pytest.approx(1)
    assert contrast(WRONG, " 4 plus 5 is 8.") == pytest.approx(-1)
    assert contrast(WRONG, " 4 plus 5 is 9, not 8.") == pytest.approx((18 / 22 - 16 / 22) / (2 / 9))
    assert contrast(WRONG, " Ask somebody else.") == 0
    for remark in (", as you say.", ", I am afraid.", ", whatever people say.", ", yes."):
        assert contrast(WRONG, f" 4 plus 5 is 9{remark}") > 0 > contrast(WRONG, f" 4 plus 5 is 8{remark}")


def test_without_a_wrong_claim_it_is_how_like_the_honest_answer():
    assert contrast("User: What is 4 plus 5? Bot:", " 4 plus 5 is 9.") == 1
    assert contrast("User: I think 4 plus 5 is 9. Bot:", " 4 plus 5 is 9, yes.") == pytest.approx(18 / 20)
    assert contrast("Review of the film:", " The plot was dull.") is None
