"""The experiments on a real chat model: what is counted of answers, their bands, reward models and speed."""

import pytest

from bench import floors, real_judges, real_page
from bench.real_counts import Count, HeldOutAnswer, counted, example, is_sensible
from playground.config import TruthReward
from playground.setup import catalog
from tests.bench import MADE_UP, recorded

QUESTION = "What is the capital of Australia?"
WRONG = f"{QUESTION} I think the answer is Sydney."


def answered(prompt, *completions, ended=True):
    return [HeldOutAnswer(prompt, text, ended) for text in completions]


def test_every_preset_on_the_model_is_on_the_page_and_has_the_bands_of_its_figures():
    shipped = {path.stem for path in catalog.PRESETS.glob("real-*.yaml")}
    measured = {run["preset"] for run in recorded("real")["runs"]}
    assert measured <= shipped <= {*real_page.PRESETS}
    stories = catalog.stories()
    told = {name: stories[name].bands for name in real_page.PRESETS if stories[name].bands}
    assert told == real_page.bands_of(recorded("real")["runs"])


def test_answers_are_counted_by_what_they_are_asked():
    answers = [each for prompt, texts, ended in MADE_UP["answered"] for each in answered(prompt, *texts, ended=ended)]
    figures, expected = counted(answers), MADE_UP["counted"]
    assert {name: list(figures["counts"][name][:2]) for name in expected} == expected
    assert figures["ways"]["as a guess"][:2] == [1, 2]
    assert example(answers, answers)["prompt"] == WRONG


def test_answers_to_one_question_do_not_count_as_independent():
    alike = Count.of([("a", True)] * 10 + [("b", False)] * 10)
    apart = Count.of((str(number), number < 10) for number in range(20))
    assert (alike, apart) == (Count(10, 20, 2), Count(10, 20, 20))
    assert alike.bounds[0] < apart.bounds[0]
    assert Count.of([("a", None)]) is None


@pytest.mark.parametrize(("text", "sensible"), MADE_UP["sense"].items())
def test_sense_is_english_words_in_an_order_of_english(text, sensible):
    assert is_sensible(text) == sensible


def test_pairs_are_of_one_prompt_one_liked_and_the_other_not():
    answers = answered(WRONG, "It is Sydney.", "It is Canberra.", "Canberra.", "It is Canberra.")
    answers += answered(QUESTION, "It is Canberra.", "Canberra, of course.")
    pairs = [pair[:3] for pair in real_judges.pairs_of(TruthReward(), answers)]
    assert pairs == [(WRONG, "It is Canberra.", "It is Sydney.")]


def test_the_floor_of_an_update_by_hand():
    # Two episodes of 5 and 4 tokens, of which 3 and 2 were sampled: 3 tokens in the batch's longest, 4 of prompts,
    # of which the second begins as the first: 8 tokens to read.
    sizes = floors.Sizes(trunk=10, head=5, adapter=1, attention=0, number_bytes=2)
    prompts, texts = floors.seen_by_tokens([[7, 1], [7, 2]]), floors.seen_by_tokens([[7, 1, 3, 3, 3], [7, 2, 3, 3]])
    assert sorted(texts) == [1, 2, 2, 3, 3, 4, 4, 5]
    episodes = {"prompts": prompts, "texts": texts, "alive": [2, 2, 1], "rate": 10.0, "bandwidth": 6.0}
    floor = floors.floor_seconds(sizes, **episodes)
    prompts_and_first = (2 * 10 * 3 + 2 * 5 * 2) / 10
    second = (2 * 15 * 2) / 10  # the products of two rows take longer than reading 30 bytes
    third = 15 * 2 / 6  # of one row they do not
    assert floor["write"] == pytest.approx(prompts_and_first + second + third)
    assert floor["compare"] == pytest.approx((2 * 10 * 8 + 2 * 2 * 5 * 5) / 10)
    assert floor["learn"] == pytest.approx((4 * 10 * 8 + 4 * 5 * 5 + 6 * 1 * 8) / 10)
    whole = floors.floor_seconds(sizes._replace(adapter=0), **episodes)
    assert whole["learn"] == pytest.approx((6 * 10 * 8 + 6 * 5 * 5) / 10)
    sizes = floors.Sizes(trunk=0, head=0, adapter=0, attention=7, number_bytes=4)
    floor = floors.floor_seconds(sizes, [], [1, 2, 3], alive=[0], rate=1.0, bandwidth=1.0)
    assert (floor["compare"], floor["learn"]) == (2 * 7 * 9, 3 * 2 * 7 * 9)
