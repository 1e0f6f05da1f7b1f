import pytest

from playground.pocket.wording import distinct_n, ngrams, sentence_spans, words


def test_words_are_lower_case_without_punctuation():
    assert words("The plot, wasn't it? 4 plus 5!") == ["the", "plot", "wasn't", "it", "4", "plus", "5"]
    assert words("") == []


def test_sentences_end_at_their_marks_and_the_rest_is_told():
    text = " One. Two?! Three"
    spans, rest = sentence_spans(text)
    assert [text[a:b] for a, b in spans] == [" One.", " Two?!"]
    assert text[rest:] == " Three"
    assert sentence_spans("none") == ([], 0)


def test_distinct_n_is_distinct_ngrams_over_all_ngrams_of_the_pool():
    assert ngrams(["a", "b", "c"], 2) == [("a", "b"), ("b", "c")]
    # a b | b a | a b ; a b: three pairs and one more, of which two differ
    assert distinct_n(["a b, A b.", "a b"], 2) == pytest.approx(2 / 4)
    assert distinct_n(["one", ""], 2) == 0.0  # pairs never cross from one text to the next
    assert distinct_n(["a a", "b"], 1) == pytest.approx(2 / 3)
