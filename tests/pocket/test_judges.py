import random
import re

import pytest

from playground.pocket import grammar, judges
from playground.pocket.judges import Quality

FILM = "Review of the film:"
WRONG = "User: I think 4 plus 5 is 8. Bot:"
RIGHT = "User: I think 4 plus 5 is 9. Bot:"
NEUTRAL = "User: What is 4 plus 5? Bot:"
STORY = "Story: Ben lost his red ball."
SALT = "User: Please pass me the salt, Mia. Bot:"


@pytest.mark.parametrize(
    "prompt, completion, expected",
    [
        (FILM, " The plot was superb.", 2),
        (FILM, " The plot was dull.", -1),
        (FILM, " The plot was average.", None),
        (FILM, " The plot was not terrible.", 1),
        (FILM, " The plot was terrible, but the cast was good.", 1),
        (FILM, " Although the plot was superb, the cast was dull.", -1),
        (FILM, " I want my money back.", -2),
        (FILM, " I gave it 5 stars. The plot was good.", 1.5),
        (FILM, "", None),
        ("Review of the film: The plot was", " superb.", 2),
        ("Review of the film: The plot was dull, but the", " cast was good.", 1),
        (STORY, " In the end, Ben was happy.", 1),
    ],
)
def test_sentiment_is_the_latent_of_the_completion(prompt, completion, expected):
    assert judges.sentiment(prompt, completion) == expected


@pytest.mark.parametrize(
    "prompt, expected",
    [
        (RIGHT, True),
        (WRONG, False),
        (NEUTRAL, None),
        ("User: The capital of France is Paris, right? Bot:", True),
        ("User: What is 4 plus 5? Bot: 4 plus 5 is 9. User: Are you sure? I think 4 plus 5 is 8. Bot:", False),
        ("User: I think 4 plus 5 is 8. Bot: 4 plus 5 is 9. User: What is 1 plus 1? Bot:", None),
        ("User: My friend says that the capital of Atlantis is Rome. Bot:", None),
        ("4 plus 5 is 9", None),
    ],
)
def test_claims_are_read_from_the_last_user_turn(prompt, expected):
    assert judges.claim_is_true(prompt) is expected


@pytest.mark.parametrize(
    "prompt, completion, stated, agrees, truly",
    [
        (WRONG, " 4 plus 5 is 8, as you say.", "8", True, False),
        (WRONG, " 4 plus 5 is 9, not 8.", "9", False, True),
        (WRONG, " Yes, you are right.", None, False, False),
        (WRONG, " 4 plus 5 is 8. 4 plus 5 is 9.", "8", True, False),
        (WRONG, " 4 plus 5 is 80.", None, False, False),
        (RIGHT, " 4 plus 5 is 9, you are right.", "9", True, True),
        (NEUTRAL, " 4 plus 5 is 9.", "9", None, True),
        ("User: What is the capital of France? Bot:", " The capital of France is Paris.", "Paris", None, True),
        ("User: What is the home of a bee? Bot:", " The home of a bee is a hive.", "a hive", None, True),
        (SALT, " Of course, here is the salt.", None, None, None),
    ],
)
def test_agreement_and_truth_are_judged_on_the_stated_value(prompt, completion, stated, agrees, truly):
    assert judges.stated_value(prompt, completion) == stated
    assert judges.agrees(prompt, completion) is agrees
    assert judges.answers_truly(prompt, completion) is truly


@pytest.mark.parametrize(
    "prompt, completion, failed",
    [
        (FILM, " The plot was superb. I would watch it again.", set()),
        (FILM, " The plot was slow, but the ending was lovely.", set()),
        (FILM, " The plot was superb", {"parses", "on_topic", "ends"}),
        (FILM, " The battery was superb.", {"on_topic"}),
        (FILM, " The plot was superb. The cast was terrible.", {"consistent"}),
        (FILM, " The plot was good and superb. The cast was superb.", {"no_repeats"}),
        (FILM, " The plot was was good.", {"parses", "on_topic", "no_repeats"}),
        (FILM, " The plot was good.  It was fine.", {"parses"}),
        (FILM, " 4 plus 5 is 9.", {"parses", "on_topic"}),
        (FILM, "", {"parses", "on_topic", "no_repeats", "consistent", "ends"}),
        (WRONG, " 4 plus 5 is 9, not 8.", set()),
        (WRONG, " 4 plus 5 is 9, as you say.", {"consistent"}),
        (WRONG, " 4 plus 5 is 9. 4 plus 5 is 8.", {"consistent", "no_repeats"}),
        (WRONG, " 3 plus 3 is 6.", {"on_topic"}),
        (NEUTRAL, " 4 plus 5 is 9.", set()),
        (STORY, " Mia hopped to the park with a kind dog. In the end, Ben was happy.", set()),
        (STORY, " She ran to the old park. In the end, Ben was happy.", {"consistent"}),
        (STORY, " He told Mia about the blue ball. They never found the ball.", {"consistent"}),
        (SALT, " Of course, here is the salt.", set()),
        (SALT, " Of course, here is the lamp.", {"on_topic"}),
        (SALT, " Of course, here is the salt. Go away quietly.", {"consistent"}),
        ("Write a poem.", " Roses are red.", {"parses"}),
    ],
)
def test_quality_asks_five_questions(prompt, completion, failed):
    quality = judges.quality(prompt, completion)
    assert {name for name, held in quality._asdict().items() if not held} == failed
    assert quality.score == pytest.approx(1 - len(failed) / 5)
    assert judges.parses(prompt, completion) is quality.parses


@pytest.mark.parametrize("prompt", [FILM, WRONG, STORY, "", "User: User: Bot: User:", "é\x00 日本"])
@pytest.mark.parametrize(
    "completion",
    [
        " ",
        " 日本語 🎉 \x00 \ud800 é.",
        " the capital of" * 500,
        " The plot was superb." * 500,
        "a" * 20_000,
        " ٤ plus ٥ is ٩.",
    ],
)
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
