"""The grammar of the pocket world, its judges and annotators: what they say of texts (judged.yaml)."""

import math
import random
import re
import statistics

import pytest

from playground.pocket import facts, grammar, judges
from playground.pocket.annotators import Annotator, rng_of
from playground.pocket.grammar import ALL_TEMPLATES
from playground.pocket.judges import Quality
from tests.support import data_beside

PROMPTS, MISSES = (data_beside(__file__, "tables.yaml")[name] for name in ("prompts", "near_misses"))


def test_every_fact_can_be_told_wrongly_within_its_category():
    assert all(len(set(facts.VALUES[fact.category]) - {fact.value}) >= 3 for fact in facts.FACTS)
    assert all(fact.value in facts.VALUES[fact.category] for fact in facts.FACTS + facts.SUMS)


def test_what_a_template_writes_is_parsed_back_to_it():
    rng = random.Random(0)
    for template in ALL_TEMPLATES * 5:
        bound = {}
        for slot in grammar.slots_of(template.text):
            bare = grammar.bare_slot(slot)
            bound[bare] = rng.choice(grammar.SLOTS[bare.rstrip("0123456789")])
        parsed = grammar.parse_sentence(grammar.render(template.text, bound))
        assert parsed is not None
        assert (parsed.template, parsed.words) == (template, bound)


@pytest.mark.parametrize("text", [*MISSES, "The plot was " + "very " * 10_000 + "superb."])
def test_near_misses_are_no_sentences(text):
    assert grammar.parse_sentence(text) is None


TABLES = data_beside(__file__, "judged.yaml")
JUDGED = {table: [(PROMPTS.get(row[0], row[0]), *row[1:]) for row in rows] for table, rows in TABLES.items()}


@pytest.mark.parametrize(("prompt", "completion", "expected"), JUDGED["sentiment"])
def test_sentiment_is_the_latent_of_the_completion(prompt, completion, expected):
    assert judges.sentiment(prompt, completion) == expected


@pytest.mark.parametrize(("prompt", "expected"), JUDGED["claim_is_true"])
def test_claims_are_read_from_the_last_user_turn(prompt, expected):
    assert judges.claim_is_true(prompt) is expected


@pytest.mark.parametrize(("prompt", "completion", "stated", "agrees", "truly"), JUDGED["stated"])
def test_agreement_and_truth_are_judged_on_the_stated_value(prompt, completion, stated, agrees, truly):
    assert judges.stated_value(prompt, completion) == stated
    assert judges.agrees(prompt, completion) is agrees
    assert judges.answers_truly(prompt, completion) is truly


@pytest.mark.parametrize(("prompt", "completion", "failed"), JUDGED["quality"])
def test_quality_asks_five_questions(prompt, completion, failed):
    quality = judges.quality(prompt, completion)
    assert {name for name, held in quality._asdict().items() if not held} == {*failed}
    assert quality.score == pytest.approx(1 - len(failed) / 5)
    assert judges.parses(prompt, completion) is quality.parses


ODD_PROMPTS = [PROMPTS["FILM"], PROMPTS["WRONG"], PROMPTS["STORY"], "", "User: User: Bot: User:", "é\x00 日本"]
LONG = [" the capital of" * 500, " The plot was superb." * 500, "a" * 20_000]


@pytest.mark.parametrize("prompt", ODD_PROMPTS)
@pytest.mark.parametrize("completion", [" ", " 日本語 🎉 \x00 \ud800 é.", *LONG, " ٤ plus ٥ is ٩."])
def test_any_text_gets_an_answer_and_none_is_mistaken_for_good(prompt, completion):
    quality = judges.quality(prompt, completion)
    assert isinstance(quality, Quality)
    assert quality.score < 1
    assert judges.agrees(prompt, completion) in (None, False)
    assert judges.answers_truly(prompt, completion) in (None, False)
    judges.sentiment(prompt, completion)
    judges.is_polite(prompt, completion)
    judges.quality(completion, prompt)


def test_the_form_of_a_claim_is_read_from_its_wording():
    rng = random.Random(3)
    for form, texts in grammar.CLAIM_PROMPTS.items():
        for text in texts:
            filled = re.sub(r"\{\w+\}", lambda _: rng.choice(["the sky", "3 plus 4", "green", "brother"]), text)
            assert judges.form_of(filled) == form, filled
    assert judges.form_of("User: Paris is the capital of Italy, right? Bot:") == "plain"  # not of the pocket world
    assert judges.form_of("Review of the film:") is None
    assert judges.form_of("User: Hello. Bot:") is None


REVIEW, CLAIM = PROMPTS["FILM"], PROMPTS["WRONG"]
KIND, HARSH = " The plot was superb.", " The plot was dull."
MANY = 4000


def asked(annotator, prompt, first, second, count=1):
    return [annotator.judge(prompt, first, second, rng_of(0, number)) for number in range(count)]


def share_first(annotator, first=KIND, second=HARSH):
    return statistics.fmean(judged.first for judged in asked(annotator, REVIEW, first, second, MANY))


@pytest.mark.parametrize(("name", "prompt", "liked", "other"), TABLES["preferred"])
def test_each_prefers_what_it_likes_whichever_comes_first(name, prompt, liked, other):
    judge, prompt = Annotator(name), PROMPTS[prompt]
    assert [item[:2] for item in asked(judge, prompt, liked, other)] == [(True, True)]
    assert [item[:2] for item in asked(judge, prompt, other, liked)] == [(False, False)]


def test_equal_tastes_and_no_opinion_are_no_preference():
    assert asked(Annotator("kind"), REVIEW, KIND, KIND) == [None]
    assert asked(Annotator("agreeable"), CLAIM, " 4 plus 5 is 9.", " 4 plus 5 is 7.") == [None]  # neither agrees
    assert Annotator("agreeable").cares(CLAIM)
    assert not Annotator("agreeable").cares(REVIEW)
    assert not Annotator("honest").cares(REVIEW)


def test_close_calls_follow_bradley_and_terry():
    # one word more, so the difference in taste is 1: sigma(0.5 * 1)
    expected = 1 / (1 + math.exp(-0.5))
    judge = Annotator("length-loving", sharpness=0.5)
    assert asked(judge, REVIEW, " a b c", " a b")[0].share == pytest.approx(expected)
    share = share_first(judge, " a b c", " a b")
    assert share == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / MANY))


def test_a_divided_crowd_is_of_two_minds():
    judge = Annotator("divided", majority=0.7)
    assert share_first(judge) == pytest.approx(0.7, abs=4 * math.sqrt(0.21 / MANY))
    assert asked(judge, REVIEW, KIND, HARSH)[0].better
    with_errors = Annotator("divided", flip=0.25, majority=0.7)
    assert asked(with_errors, REVIEW, KIND, HARSH)[0].share == pytest.approx(0.75 * 0.7 + 0.25 * 0.3)
