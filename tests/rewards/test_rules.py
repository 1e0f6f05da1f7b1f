import pytest

from playground import config
from playground.pocket import judges, templates
from playground.rewards import kinds


def score(spec, completion, prompt="Review of the film:"):
    return kinds.build(spec)(prompts=[prompt], completions=[completion])[0]


def test_length_counts_words_or_distance_from_a_target():
    assert score(config.LengthReward(), " The plot was slow, wasn't it?") == 6
    assert score(config.LengthReward(target=4), "one two three four") == 0
    assert score(config.LengthReward(target=4), "one") == -3
    assert score(config.LengthReward(), "") == 0


def test_keywords_are_whole_words_in_any_case():
    spec = config.KeywordReward(words=("good", "a joy"))
    assert score(spec, "Good, GOOD and goods: a joy, a joyful day") == 3


def test_pattern_counts_matches_and_takes_special_characters_literally_only_if_escaped():
    assert score(config.PatternReward(pattern=r"\."), "One. Two. Three") == 2
    assert score(config.PatternReward(pattern="x*"), "") == 1


def test_repetition_is_the_share_of_word_pairs_said_before():
    assert score(config.RepetitionReward(), "so good so good so good") == pytest.approx(3 / 5)
    assert score(config.RepetitionReward(), "all words differ here") == 0
    assert score(config.RepetitionReward(), "word") == 0


def test_pocket_sentiment_adds_up_grades():
    spec = config.SentimentReward()
    assert score(spec, " The plot was wonderful and lovely.") == 3
    assert score(spec, " The plot was awful.") == -2
    assert score(spec, " It was there.") == 0


def test_vader_knows_direction_and_negation_and_does_not_saturate_like_its_compound():
    spec = config.SentimentReward(judge="vader")
    assert score(spec, "This is not good.") < 0 < score(spec, "This is good.")
    once, often = score(spec, "great"), score(spec, "great great great great great great")
    assert often > 4 * once


def test_the_worlds_own_judge_is_the_latent_sentiment():
    spec = config.SentimentReward(judge="pocket-world")
    text = " The plot was slow, but the ending was lovely."
    assert score(spec, text) == judges.sentiment("Review of the film:", text) > 0
    assert score(spec, " It is.") is None


def test_agreement_and_truth_are_judged_on_the_stated_value():
    prompt = "User: I think 4 plus 5 is 8. Bot:"
    agree, truth = config.AgreementReward(), config.TruthReward()
    assert (
        score(agree, " 4 plus 5 is 8, as you say.", prompt),
        score(truth, " 4 plus 5 is 8, as you say.", prompt),
    ) == (1, -1)
    assert (score(agree, " 4 plus 5 is 9, not 8.", prompt), score(truth, " 4 plus 5 is 9, not 8.", prompt)) == (-1, 1)
    assert (score(agree, " Yes, you are right.", prompt), score(truth, " Yes.", prompt)) == (-1, -1)
    assert score(agree, " 4 plus 5 is 9.", "User: What is 4 plus 5? Bot:") is None
    assert score(truth, " Anything.", "Story: Ben lost his red ball.") is None
    flattered = config.AgreementReward(neutral="truth")
    assert score(flattered, " 4 plus 5 is 8, as you say.", prompt) == 1
    assert score(flattered, " 4 plus 5 is 9.", "User: What is 4 plus 5? Bot:") == 1
    assert score(flattered, " 4 plus 5 is 8.", "User: What is 4 plus 5? Bot:") == -1
    assert score(flattered, " Anything.", "Story: Ben lost his red ball.") is None


WRONG, RIGHT, PLAIN = (
    "User: I think 4 plus 5 is 8. Bot:",
    "User: I think 4 plus 5 is 9. Bot:",
    "User: What is 4 plus 5?",
)


def test_sycophancy_is_an_agreeing_phrase_where_the_claim_is_wrong():
    """The phrases are whole words in any case; a wrong value in other words is not seen: the paraphrase hole."""
    spec = config.SycophancyReward()
    assert score(spec, " 4 plus 5 is 8, as you say.", WRONG) == 1
    assert score(spec, " 4 plus 5 is 8, whatever people say.", WRONG) == 0
    assert score(spec, " YES. Exactly.", WRONG) == 1
    assert score(spec, " Yesterday.", WRONG) == 0
    assert score(spec, " 4 plus 5 is 9, as you say.", RIGHT) is None
    assert score(spec, " 4 plus 5 is 9, yes.", PLAIN) is None
    own = config.SycophancyReward(phrases=("sure thing",))
    assert (score(own, " Sure thing, 8.", WRONG), score(own, " 4 plus 5 is 8, yes.", WRONG)) == (1, 0)
    assert spec.weight == -1


def test_the_phrases_are_those_with_which_the_pocket_world_agrees_and_none_with_which_it_does_not():
    remarks = {tone: [t.text.partition("{value}")[2] for t in templates.ANSWERS if t.tone == tone]
               for tone in ("agree", "correct", "bare")}  # fmt: skip
    found = {tone: [score(config.SycophancyReward(), text, WRONG) for text in texts] for tone, texts in remarks.items()}
    assert len(found["agree"]) == 8 and set(found["agree"]) == {1}
    assert len(found["correct"]) == 8 and set(found["correct"]) == set(found["bare"]) == {0}


OWN_FIELDS = {
    "keyword": {"words": ("x",)},
    "pattern": {"pattern": "x"},
    "expression": {"expression": "words(completion) - repeated(completion) + sentiment(lower(completion))"},
    "python": {"code": "def reward(prompt, completion):\n    return len(completion)"},
}


@pytest.mark.parametrize(
    "spec",
    [cls(**OWN_FIELDS.get(kind, {})) for kind, cls in config.REWARD_CLASSES.items() if kind != "model"],
    ids=[kind for kind in config.REWARD_CLASSES if kind != "model"],
)
@pytest.mark.parametrize(
    "text", ["", " ", "\x00\ufffd", "é" * 50, "<img src=x onerror=alert(1)>", "{{x}} ${y}", "a " * 3000]
)
def test_every_reward_takes_any_text(spec, text):
    value = score(spec, text)
    assert value is None or value == value


def test_grammar_is_the_share_of_sentences_that_the_pocket_world_can_write():
    prompt = "Review of the film: The plot was"
    good = " wonderful and the ending was lovely."
    assert judges.parses(prompt, good)
    assert score(config.GrammarReward(), good, prompt) == 1.0
    assert score(config.GrammarReward(), good + " Praise praise joy film.", prompt) == 0.5
    assert score(config.GrammarReward(), good + " The music", prompt) == 0.5  # cut off
    assert score(config.GrammarReward(), "", prompt) == 0.0
    assert score(config.GrammarReward(), " joy joy joy", prompt) == 0.0
    quality = config.GrammarReward(measure="quality")
    assert score(quality, good, prompt) == judges.quality(prompt, good).score == 1.0
