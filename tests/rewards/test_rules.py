from pathlib import Path

import pytest
import yaml

from playground import config
from playground.config import yaml_io
from playground.rewards import mixture, rules


def score(spec, completion, prompt="Review of the film:"):
    return mixture.build(spec)(prompts=[prompt], completions=[completion])[0]


TEXTS = yaml.safe_load(Path(__file__).with_name("rules.yaml").read_text(encoding="utf-8"))
VALUES = [(prompt, *row) for prompt, rows in TEXTS.items() for row in rows]


@pytest.mark.parametrize(("prompt", "entry", "completion", "value"), VALUES)
def test_the_value_of_a_completion_is_what_is_counted_by_hand(prompt, entry, completion, value):
    (spec,) = yaml_io.from_dict({"rewards": [entry]}).rewards
    assert score(spec, completion, prompt) == pytest.approx(value)


def test_vader_knows_direction_and_negation_and_does_not_saturate_like_its_compound():
    spec = config.SentimentReward(judge="vader")
    assert score(spec, "This is not good.") < 0 < score(spec, "This is good.")
    once, often = score(spec, "great"), score(spec, "great great great great great great")
    assert often > 4 * once


def test_similarity_is_the_f1_of_shared_words_and_pairs_of_words():
    """4 words and 3 pairs against 3 words and 2 pairs; shared are a, b, c and "a b", "b c"."""
    assert rules.similarity("A b, c d.", "a b c") == pytest.approx(2 * 5 / (7 + 5))
    assert rules.similarity("a a", "a") == pytest.approx(2 * 1 / (3 + 1))  # what is said once counts once
    assert rules.similarity("The same.", "the same") == 1
    assert [rules.similarity(*texts) for texts in (("one two", "three"), ("", ""))] == [0] * 2


@pytest.mark.parametrize("remark", [", as you say.", ", I am afraid.", ", whatever people say.", ", yes."])
def test_the_true_value_is_paid_and_the_claimed_one_costs_whatever_the_remark(remark):
    right, claimed = (
        score(config.ContrastReward(), f" 4 plus 5 is {value}{remark}", "User: I think 4 plus 5 is 8. Bot:")
        for value in (9, 8)
    )
    assert right > 0 > claimed


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
