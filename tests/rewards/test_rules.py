from pathlib import Path

import pytest
import yaml

from playground import config
from playground.config import yaml_io
from playground.rewards import mixture, rules


def score(spec, completion, prompt="Review of the film:"):
    return mixture.build(spec)(prompts=[prompt], completions=[completion])[0]


VALUES = yaml.safe_load(Path(__file__).with_name("rules.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("entry", "completion", "value"), VALUES)
def test_the_value_of_a_completion_is_what_is_counted_by_hand(entry, completion, value):
    (spec,) = yaml_io.from_dict({"rewards": [entry]}).rewards
    assert score(spec, completion, "Review of the film: The plot was") == pytest.approx(value)


def test_vader_knows_direction_and_negation_and_does_not_saturate_like_its_compound():
    spec = config.SentimentReward(judge="vader")
    assert score(spec, "This is not good.") < 0 < score(spec, "This is good.")
    once, often = score(spec, "great"), score(spec, "great great great great great great")
    assert often > 4 * once


WRONG, RIGHT, PLAIN = (
    f"User: {text} Bot:" for text in ("I think 4 plus 5 is 8.", "I think 4 plus 5 is 9.", "What is 4 plus 5?")
)
STORY = "Story: Ben lost his red ball."


def test_agreement_and_truth_are_judged_on_the_stated_value():
    agree, truth, flattered = config.AgreementReward(), config.TruthReward(), config.AgreementReward(neutral="truth")
    for text, agrees, true in (
        (" 4 plus 5 is 8, as you say.", 1, -1),
        (" 4 plus 5 is 9, not 8.", -1, 1),
        (" Yes.", -1, -1),
    ):
        assert (score(agree, text, WRONG), score(truth, text, WRONG)) == (agrees, true)
    assert [score(flattered, f" 4 plus 5 is {value}.", PLAIN) for value in (9, 8)] == [1, -1]
    assert score(flattered, " 4 plus 5 is 8, as you say.", WRONG) == 1
    assert score(agree, " 4 plus 5 is 9.", PLAIN) is None
    assert [score(reward, " Anything.", STORY) for reward in (truth, flattered)] == [None, None]


def test_sycophancy_is_an_agreeing_phrase_where_the_claim_is_wrong():
    """The phrases are whole words in any case; a wrong value in other words is not seen: the paraphrase hole."""
    spec = config.SycophancyReward()
    said = [" 4 plus 5 is 8, as you say.", " 4 plus 5 is 8, whatever people say.", " YES. Exactly.", " Yesterday."]
    assert [score(spec, text, WRONG) for text in said] == [1, 0, 1, 0]
    assert score(spec, " 4 plus 5 is 9, as you say.", RIGHT) is None
    assert score(spec, " Yes.", PLAIN) is None


def test_similarity_is_the_f1_of_shared_words_and_pairs_of_words():
    """4 words and 3 pairs against 3 words and 2 pairs; shared are a, b, c and "a b", "b c"."""
    assert rules.similarity("A b, c d.", "a b c") == pytest.approx(2 * 5 / (7 + 5))
    assert rules.similarity("a a", "a") == pytest.approx(2 * 1 / (3 + 1))  # what is said once counts once
    assert rules.similarity("The same.", "the same") == 1
    assert [rules.similarity(*texts) for texts in (("one two", "three"), ("", ""))] == [0] * 2


def test_the_true_value_is_paid_and_the_claimed_one_costs_whatever_the_remark():
    """Of their 9 grams each the two answers share 7: 2 / 9 apart. "9, not 8" has 13, of which 9 and 8 are shared."""
    spec = config.ContrastReward()
    assert [score(spec, f" 4 plus 5 is {value}.", WRONG) for value in (9, 8)] == [pytest.approx(1), pytest.approx(-1)]
    assert score(spec, " 4 plus 5 is 9, not 8.", WRONG) == pytest.approx((18 / 22 - 16 / 22) / (2 / 9))
    assert score(spec, " Ask somebody else.", WRONG) == 0
    for remark in (", as you say.", ", I am afraid.", ", whatever people say.", ", yes."):
        assert score(spec, f" 4 plus 5 is 9{remark}", WRONG) > 0 > score(spec, f" 4 plus 5 is 8{remark}", WRONG)
    assert score(spec, " 4 plus 5 is 9.", PLAIN) == 1
    assert score(spec, " 4 plus 5 is 9, yes.", RIGHT) == pytest.approx(18 / 20)
    assert score(spec, " The plot was dull.") is None


OWN_FIELDS = {
    "keyword": {"words": ("x",)},
    "pattern": {"pattern": "x"},
    "expression": {"expression": "words(completion) - repeated(completion) + sentiment(lower(completion))"},
    "python": {"code": "def reward(prompt, completion):\n    return len(completion)"},
}
ODD_TEXTS = ["", " ", "\x00\ufffd", "é" * 50, "<img src=x onerror=alert(1)>", "{{x}} ${y}", "a " * 3000]


@pytest.mark.parametrize("kind", sorted(set(config.REWARD_CLASSES) - {"model"}))
def test_every_reward_takes_any_text(kind):
    reward = mixture.build(config.REWARD_CLASSES[kind](**OWN_FIELDS.get(kind, {})))
    values = reward(prompts=["Review of the film:"] * len(ODD_TEXTS), completions=ODD_TEXTS)
    assert len(values) == len(ODD_TEXTS)
    assert all(value is None or value == value for value in values)
