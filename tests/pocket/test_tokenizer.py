"""The shipped tokenizers (both sizes have the same one)."""

from itertools import islice

import pytest
from transformers import AutoTokenizer

from playground.pocket import corpus
from playground.pocket.pretrain import MODELS_DIR, SHAPES
from playground.pocket.words import LEXICON


@pytest.fixture(scope="module", params=list(SHAPES))
def tokenizer(request):
    return AutoTokenizer.from_pretrained(MODELS_DIR / request.param)


def test_numbers_and_opinion_words_are_single_tokens(tokenizer):
    numbers = [f"{space}{number}" for number in range(21) for space in ("", " ")]
    texts = [*numbers, *(f" {word}" for word in LEXICON)]
    assert [text for text in texts if len(tokenizer(text, add_special_tokens=False)["input_ids"]) > 1] == []


def test_any_text_survives_the_round_trip(tokenizer):
    for text in ("", "  two  spaces ", "line\n\nbreaks\t", "héllo 日本 🎉", "12345 4plus5 a.b,c!", "it's <not> pad"):
        assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text


def test_documents_survive_and_completions_fit(tokenizer):
    documents = list(islice(corpus.documents("tokenizer test"), 2000))
    lengths = []
    for document in documents:
        assert tokenizer.decode(tokenizer(document.text)["input_ids"], skip_special_tokens=True) == document.text
        prompt_ids = tokenizer(document.prompt)["input_ids"]
        completion_ids = tokenizer(document.completion, add_special_tokens=False)["input_ids"]
        # the border between prompt and completion is a border of tokens, so sampling continues what training saw
        assert prompt_ids + completion_ids == tokenizer(document.text)["input_ids"]
        lengths.append(len(completion_ids) + 1)
    assert sum(length > 32 for length in lengths) / len(lengths) < 0.012
