"""The shipped models: their folders, and their tokenizer. What they do is measured in nightly/test_acceptance.py."""

from itertools import islice

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM, AutoTokenizer

from playground.pocket import corpus
from playground.pocket.pretrain import MODELS_DIR, SHAPES
from playground.pocket.words import LEXICON
from tests.pocket import card_of


@pytest.mark.parametrize("name", SHAPES)
def test_a_model_folder_is_complete_small_and_plain_to_load(name):
    folder = MODELS_DIR / name
    weights = folder / "model.safetensors"
    assert weights.stat().st_size < 5_000_000
    with safe_open(weights, "pt") as stored:
        assert {stored.get_tensor(key).dtype for key in stored.keys()} == {torch.float16}  # noqa: SIM118
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert model.dtype == torch.float32
    assert model.num_parameters() == card_of(name)["parameters"]


def test_all_models_have_the_same_tokenizer():
    assert len({path.read_bytes() for path in MODELS_DIR.glob("*/tokenizer.json")}) == 1


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(MODELS_DIR / "pocket-2m")


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
        ids = tokenizer(document.text)["input_ids"]
        assert tokenizer.decode(ids, skip_special_tokens=True) == document.text
        prompt_ids = tokenizer(document.prompt)["input_ids"]
        completion_ids = tokenizer(document.completion, add_special_tokens=False)["input_ids"]
        # the border between prompt and completion is a border of tokens, so sampling continues what training saw
        assert prompt_ids + completion_ids == ids
        lengths.append(len(completion_ids) + 1)
    assert sum(length > 32 for length in lengths) / len(lengths) < 0.012
