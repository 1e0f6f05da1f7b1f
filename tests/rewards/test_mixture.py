"""What a completion is paid: the rules, by hand, and their weighted sum."""

import math

import pytest

from playground import config
from playground.config import LengthReward, ModelReward, yaml_io
from playground.errors import ModelNotFound, RewardFailed
from playground.rewards import mixture, rules
from playground.rewards.mixture import Mixture, Scale, TermScale, term_names
from tests.support import data_beside


def constant(*values):
    return lambda prompts, completions, **_: list(values)


def score(mixture, count=2):
    return mixture(["p"] * count, ["x"] * count)


def test_the_total_is_the_weighted_sum_and_a_term_without_an_opinion_adds_nothing():
    mixture = Mixture({"a": (2.0, constant(1.0, 3.0)), "b": (-0.5, constant(4.0, 0.0))})
    totals, terms, contributions, disagreement = score(mixture)
    assert (totals, disagreement) == ([0.0, 6.0], [])
    assert terms == {"a": [1.0, 3.0], "b": [4.0, 0.0]}
    assert contributions == {"a": [2.0, 6.0], "b": [-2.0, 0.0]}
    mixture = Mixture({"a": (1.0, constant(None, None)), "b": (1.0, constant(5.0, None))})
    mixed = score(mixture)
    assert mixed.totals == [5.0, None]
    assert mixed.contributions == {"a": [0.0, None], "b": [5.0, None]}
    assert mixed.terms == {"a": [None, None], "b": [5.0, None]}


@pytest.mark.parametrize(("how", "totals", "parts"), data_beside(__file__, "mixture.yaml")["ensembles"])
def test_learned_rewards_of_an_ensemble_are_one_and_others_are_added(how, totals, parts):
    """Two learned rewards say 1 and 2 x 2 of the first text; of the second the other has no opinion, of the third
    neither. A rule says 10 of the first. Contributions add up."""
    values = {"a": [1.0, 5.0, None], "b": [2.0, None, None], "rule": [10.0, None, None]}
    terms = {"a": (1.0, None, False, None, True), "b": (2.0, None, False, None, True), "rule": (1.0, None)}
    scored = Mixture(terms, score=config.ScoreConfig(**how)).combine(values)
    assert scored.totals == pytest.approx(totals)
    assert scored.disagreement == [1.5, 0.0, None]
    assert [scored.contributions[name][0] for name in terms] == pytest.approx(parts)


def test_an_ensemble_of_normalised_rewards_is_of_their_values_on_the_references_scale():
    """Reference 0, 2 and 10, 30: means 1 and 20, sds 1 and 10. Of 3 and 10 they say 2 and -1."""
    terms = {name: (1.0, None, True, None, True) for name in "ab"}
    mixture = Mixture(terms, score=config.ScoreConfig(combine="min"))
    mixture.fit({"a": [0.0, 2.0], "b": [10.0, 30.0]})
    scored = mixture.combine({"a": [3.0], "b": [10.0]})
    assert (scored.totals, scored.disagreement) == ([-1.0], [1.5])


def test_a_normalised_term_has_mean_0_and_sd_1_on_the_reference_and_is_never_scored_without_its_scale():
    """Reference 10, 20, 30: mean 20, sd sqrt(200/3). Weight 3, cap 1: the outer two are cut to one sd."""
    mixture = Mixture({"a": (3.0, constant(10.0, 20.0, 30.0), True, 1.0), "b": (1.0, constant(1.0, 1.0, 1.0))})
    mixture.fit(mixture.measure(["p"] * 3, ["x"] * 3))
    assert mixture.scales["a"] == TermScale(20.0, pytest.approx(math.sqrt(200 / 3)), pytest.approx(0))
    assert mixture.scales["b"] == TermScale(1.0, 1.0, 1.0)
    mixed = score(mixture, 3)
    assert mixed.contributions["a"] == pytest.approx([-3.0, 0.0, 3.0])
    assert mixed.totals == pytest.approx([-2.0, 1.0, 4.0])
    assert mixed.terms["a"] == [10.0, 20.0, 30.0]
    with pytest.raises(RuntimeError, match="fitted"):
        score(Mixture({"a": (1.0, constant(1.0, 2.0), True)}))


def test_terms_are_named_after_their_kind_or_source_and_never_alike():
    sources = ["kind-judge", "/models/kind-judge/", "someone/reward-large", "length", "C:\\models\\mine"]
    specs = [LengthReward(), *(ModelReward(source=source) for source in sources)]
    assert term_names(specs) == ["length", "kind-judge", "kind-judge 2", "reward-large", "length 2", "mine"]


def test_scores_are_clipped_on_both_sides_and_no_opinion_is_the_average_of_the_reference():
    assert Scale(0.0, 1.0, clip=2.0)([-5.0, 1.0, 5.0]) == [-2.0, 1.0, 2.0]
    assert Scale(10.0, 2.0)([None, 12.0]) == [0.0, 1.0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (constant(1.0), "returned 1 values for 2 completions"),
        (constant(1.0, float("inf")), "finite number or None"),
        (constant(1.0, float("nan")), "finite number or None"),
        (constant(1.0, "good"), "returned 'good' for a completion"),
        (lambda prompts, completions, **_: None, "returned nothing"),
        (lambda prompts, completions, **_: {}["x"], "KeyError"),
    ],
)
def test_a_misbehaving_reward_is_named_with_what_it_did(function, message):
    with pytest.raises(RewardFailed, match="`mine`") as caught:
        Mixture({"mine": (1.0, function)})(["p", "p"], ["x", "y"])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("error", [ModelNotFound("There is no model."), MemoryError()])
def test_an_error_with_a_remedy_of_its_own_is_passed_on_as_it_is(error):
    def reward(prompts, completions, **_):
        raise error

    with pytest.raises(type(error)) as caught:
        Mixture({"mine": (1.0, reward)})(["p"], ["x"])
    assert caught.value is error


def value_of(spec, completion, prompt="Review of the film:"):
    return mixture.build(spec)(prompts=[prompt], completions=[completion])[0]


TEXTS = data_beside(__file__, "rules.yaml")
VALUES = [(prompt, *row) for prompt, rows in TEXTS.items() for row in rows]


@pytest.mark.parametrize(("prompt", "entry", "completion", "value"), VALUES)
def test_the_value_of_a_completion_is_what_is_counted_by_hand(prompt, entry, completion, value):
    (spec,) = yaml_io.from_dict({"rewards": [entry]}).rewards
    assert value_of(spec, completion, prompt) == pytest.approx(value)


def test_vader_knows_direction_and_negation_and_does_not_saturate_like_its_compound():
    spec = config.SentimentReward(judge="vader")
    assert value_of(spec, "This is not good.") < 0 < value_of(spec, "This is good.")
    once, often = value_of(spec, "great"), value_of(spec, "great great great great great great")
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
        value_of(config.ContrastReward(), f" 4 plus 5 is {value}{remark}", "User: I think 4 plus 5 is 8. Bot:")
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
