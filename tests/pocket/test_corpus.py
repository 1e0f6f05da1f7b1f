"""The corpus of the shipped models and the prompt sets: the same everywhere, good, and mixed as they promise."""

import hashlib
import math
import statistics
from itertools import islice

import pytest

from playground.pocket import corpus, judges, words
from playground.pocket.prompt_sets import PROMPT_SETS, prompts
from playground.pocket.wording import distinct_n
from tests.nights import cases
from tests.support import data_beside


@pytest.fixture(scope="module")
def documents():
    return list(islice(corpus.documents("tests"), 5_000))


def test_one_seed_is_one_corpus_on_every_machine():
    # The shipped models were trained on this text: a change here means that they must be trained again.
    digest = hashlib.sha256("".join(d.text for d in islice(corpus.documents("train 0"), 5000)).encode()).hexdigest()
    assert digest.startswith("bd0d24db87cf72ae")


def test_documents_are_good_unless_marked_as_spoilt_and_that_is_rare(documents):
    for document in documents:
        assert document.completion[:1] in (" ", ",")
        assert not document.prompt.endswith(" ")
        quality = judges.quality(document.prompt, document.completion)
        if document.habit:
            assert not quality.parses, document
        elif any(f" {doubled} " in document.completion for doubled in words.DOUBLED_INTENSIFIERS):
            assert quality == (True, True, False, True, True), document
        else:
            assert quality.score == 1.0, document
    for habit in ("typo", "repeat", "run_on"):
        assert 0.002 < sum(document.habit == habit for document in documents) / len(documents) < 0.01
    for start in range(0, 5000, 500):  # nor do they look like one template
        assert distinct_n([document.completion for document in documents[start : start + 500]], 2) >= 0.43


def test_distinct_n_is_distinct_ngrams_over_all_ngrams_of_the_pool():
    assert distinct_n(["a b, A b.", "a b"], 2) == pytest.approx(2 / 4)  # a b | b a | a b ; a b
    assert distinct_n(["one", ""], 2) is None  # pairs never cross from one text to the next
    assert distinct_n(["yes", "no", "well yes"], 2) is None  # too few to say how alike the texts are
    assert distinct_n([], 2) is None


def test_both_signs_are_equally_frequent(documents):
    reviews = [document for document in documents if document.kind == "review" and not document.habit]
    grades = [judges.sentiment(document.prompt, document.completion) for document in reviews]
    assert None not in grades
    assert all(grade != 0 for grade in grades)
    assert sum(grade > 0 for grade in grades) / len(grades) == pytest.approx(0.5, abs=0.03)
    mixed = sum(", but " in document.text or "Although" in document.text for document in reviews)
    assert mixed / len(reviews) == pytest.approx(corpus.MIXED_SHARE, abs=0.03)


@pytest.mark.parametrize("name", PROMPT_SETS)
def test_a_set_is_distinct_and_seeded(name):
    drawn = prompts(name, 300, 1)
    assert len(drawn) == 300
    assert len(set(drawn)) == 300
    assert drawn == prompts(name, 300, 1)
    assert drawn != prompts(name, 300, 2)
    assert all(not prompt.endswith(" ") for prompt in drawn)


@pytest.mark.parametrize("name", cases(PROMPT_SETS, always=("pocket/claims", "pocket/reviews")))
def test_the_first_prompts_are_like_the_rest(name):
    """Fixed prompts are the first ones. Frequent ones, which are short, are drawn before rare ones."""
    deviations = []
    for seed in range(6):
        lengths = [len(prompt) for prompt in prompts(name, 600, seed)]
        first, rest = lengths[:100], lengths[100:]
        error = math.sqrt(statistics.variance(first) / 100 + statistics.variance(rest) / 500)
        deviations.append((statistics.fmean(first) - statistics.fmean(rest)) / error)
    assert abs(sum(deviations)) / math.sqrt(6) < 2.5


def test_review_prompts_leave_the_sentiment_open():
    drawn = prompts("pocket/reviews", 600, 0)
    assert len(set(drawn)) == 600
    assert all(judges.read_prompt(prompt).kind == "review" for prompt in drawn)
    assert all(judges.sentiment("", prompt) is None for prompt in drawn)
    in_the_middle = [prompt for prompt in drawn if not prompt.endswith((".", ":"))]
    assert len(in_the_middle) > 200


@pytest.mark.parametrize(("name", "bounds"), data_beside(__file__, "tables.yaml")["mixes"])
def test_the_mix_of_wrong_right_and_no_claims_holds_however_many(name, bounds):
    truths = [judges.claim_is_true(prompt) for prompt in prompts(name, 4560, 0)]
    for truth, (low, high) in bounds.items():
        assert low < truths.count(truth) / 4560 < high
