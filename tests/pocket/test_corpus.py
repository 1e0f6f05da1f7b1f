"""The corpus on which the shipped models were trained: the same everywhere, good, and not of one template."""

import hashlib
from itertools import islice

import pytest

from playground.pocket import corpus, judges, words
from playground.pocket.wording import distinct_n


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
    assert distinct_n(["one", ""], 2) == 0.0  # pairs never cross from one text to the next


def test_both_signs_are_equally_frequent(documents):
    reviews = [document for document in documents if document.kind == "review" and not document.habit]
    grades = [judges.sentiment(document.prompt, document.completion) for document in reviews]
    assert None not in grades
    assert all(grade != 0 for grade in grades)
    assert sum(grade > 0 for grade in grades) / len(grades) == pytest.approx(0.5, abs=0.03)
    mixed = sum(", but " in document.text or "Although" in document.text for document in reviews)
    assert mixed / len(reviews) == pytest.approx(corpus.MIXED_SHARE, abs=0.03)
