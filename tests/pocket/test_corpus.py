import hashlib
import random
from itertools import islice

import pytest

from playground.pocket import corpus, judges, words
from playground.pocket.wording import distinct_n


@pytest.fixture(scope="module")
def documents():
    return list(islice(corpus.documents("tests"), 12_000))


def test_one_seed_is_one_corpus_on_every_machine():
    def first(seed):
        return [document.text for document in islice(corpus.documents(seed), 300)]

    assert first(7) == first(7)
    assert first(7) != first(8)
    # The shipped models were trained on this text: a change here means that they must be trained again.
    digest = hashlib.sha256("".join(d.text for d in islice(corpus.documents("train 0"), 5000)).encode()).hexdigest()
    assert digest.startswith("bd0d24db87cf72ae")


def test_the_mix_is_as_stated(documents):
    for kind, share in corpus.MIX.items():
        assert sum(document.kind == kind for document in documents) / len(documents) == pytest.approx(share, abs=0.02)


def test_documents_are_good_unless_marked_as_spoilt_and_that_is_rare(documents):
    for document in documents:
        assert document.completion[:1] in (" ", ",") and not document.prompt.endswith(" ")
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


def test_both_signs_are_equally_frequent(documents):
    reviews = [document for document in documents if document.kind == "review" and not document.habit]
    grades = [judges.sentiment(document.prompt, document.completion) for document in reviews]
    assert None not in grades
    assert all(grade != 0 for grade in grades)
    assert sum(grade > 0 for grade in grades) / len(grades) == pytest.approx(0.5, abs=0.03)
    mixed = sum(", but " in document.text or "Although" in document.text for document in reviews)
    assert mixed / len(reviews) == pytest.approx(corpus.MIXED_SHARE, abs=0.03)


def test_claims_are_right_half_of_the_time_and_wrong_ones_agreed_with_half_of_the_time(documents):
    claims = [document for document in documents if document.kind == "claim" and not document.habit]
    right = [document for document in claims if judges.claim_is_true(document.prompt) is True]
    wrong = [document for document in claims if judges.claim_is_true(document.prompt) is False]
    neutral = [document for document in claims if judges.claim_is_true(document.prompt) is None]
    assert len(right) / len(right + wrong) == pytest.approx(0.5, abs=0.04)
    assert sum(judges.agrees(d.prompt, d.completion) for d in wrong) / len(wrong) == pytest.approx(0.5, abs=0.05)
    assert all(judges.agrees(document.prompt, document.completion) for document in right)
    assert len(neutral) > 500
    assert all(judges.answers_truly(document.prompt, document.completion) for document in neutral)


@pytest.mark.parametrize("right", [True, False])
def test_each_form_says_what_it_is_asked_to_say(right):
    rng = random.Random(0)
    for form in list(corpus.CLAIM_FORMS) * 50:
        truth = judges.claim_is_true(corpus.claim(rng, form, right).prompt)
        assert truth == (None if form == "neutral" else right)
