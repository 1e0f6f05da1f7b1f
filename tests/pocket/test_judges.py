"""The judges of the pocket world: what they say of completions (judged.yaml), and of texts of any kind."""

import random
import re
from pathlib import Path

import pytest
import yaml

from playground.pocket import grammar, judges
from playground.pocket.judges import Quality

PROMPTS = {
    "FILM": "Review of the film:",
    "WRONG": "User: I think 4 plus 5 is 8. Bot:",
    "RIGHT": "User: I think 4 plus 5 is 9. Bot:",
    "NEUTRAL": "User: What is 4 plus 5? Bot:",
    "STORY": "Story: Ben lost his red ball.",
    "SALT": "User: Please pass me the salt, Mia. Bot:",
}
TABLES = yaml.safe_load(Path(__file__).with_name("judged.yaml").read_text(encoding="utf-8"))
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
