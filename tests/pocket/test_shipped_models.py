"""The shipped models: their folders, and their tokenizer. What they do is measured in nightly/test_acceptance.py."""

import json
from itertools import islice

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM, AutoTokenizer

from playground.pocket import corpus
from playground.pocket.pretrain import MODELS_DIR, SHAPES
from playground.pocket.words import LEXICON


def card_of(name):
    return json.loads((MODELS_DIR / name / "card.json").read_text(encoding="utf-8"))


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


def test_the_border_between_prompt_and_completion_is_one_of_tokens_so_that_sampling_goes_on_as_in_training(tokenizer):
    for document in islice(corpus.documents("tokenizer test"), 500):
        prompt = tokenizer(document.prompt)["input_ids"]
        completion = tokenizer(document.completion, add_special_tokens=False)["input_ids"]
        assert prompt + completion == tokenizer(document.text)["input_ids"]
