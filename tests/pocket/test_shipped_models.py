"""The shipped models: their folders, their tokenizer, and the loop that made them in miniature. What they do is
measured in nightly/test_acceptance.py."""

import json
from itertools import islice
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM, AutoTokenizer

from bench import pretrain
from bench.pretrain import SHAPES, PocketShape
from playground.pocket import corpus
from playground.pocket.words import LEXICON
from playground.setup.catalog import POCKET_MODELS


def card_of(name):
    return json.loads((POCKET_MODELS / name / "card.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SHAPES)
def test_a_model_folder_is_complete_small_and_plain_to_load(name):
    folder = POCKET_MODELS / name
    weights = folder / "model.safetensors"
    assert weights.stat().st_size < 5_000_000
    with safe_open(weights, "pt") as stored:
        assert {stored.get_tensor(key).dtype for key in stored.keys()} == {torch.float16}  # noqa: SIM118
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert (model.dtype, model.num_parameters()) == (torch.float32, card_of(name)["parameters"])


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(POCKET_MODELS / "pocket-2m")


def test_all_models_have_the_one_tokenizer_to_which_numbers_are_single_tokens_and_no_text_gets_lost(tokenizer):
    assert len({path.read_bytes() for path in POCKET_MODELS.glob("*/tokenizer.json")}) == 1
    numbers = [f"{space}{number}" for number in range(21) for space in ("", " ")]
    texts = [*numbers, *(f" {word}" for word in LEXICON)]
    assert [text for text in texts if len(tokenizer(text, add_special_tokens=False)["input_ids"]) > 1] == []
    for text in ("", "  two  spaces ", "line\n\nbreaks\t", "héllo 日本 🎉", "12345 4plus5 a.b,c!", "it's <not> pad"):
        assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text


def test_the_border_between_prompt_and_completion_is_one_of_tokens_so_that_sampling_goes_on_as_in_training(tokenizer):
    for document in islice(corpus.documents("tokenizer test"), 500):
        prompt = tokenizer(document.prompt)["input_ids"]
        completion = tokenizer(document.completion, add_special_tokens=False)["input_ids"]
        assert prompt + completion == tokenizer(document.text)["input_ids"]


TINY = PocketShape(
    hidden_size=16, intermediate_size=16, layers=1, heads=2, train_tokens=15_000, peak_learning_rate=3e-2
)


@pytest.fixture
def tiny(monkeypatch, tokenizer):
    """A model that trains in a second, with the shipped tokenizer and no measuring."""
    monkeypatch.setitem(pretrain.SHAPES, "pocket-tiny", TINY)
    monkeypatch.setattr(pretrain, "WARMUP_TOKENS", 2_000)
    monkeypatch.setattr(pretrain, "POOLED_BATCHES", 4)
    monkeypatch.setattr(pretrain, "make_tokenizer", lambda: tokenizer)
    monkeypatch.setattr(pretrain, "acceptance", lambda folder: dict.fromkeys(pretrain.BOUNDS, 0.5))


def test_a_model_is_made_whole_and_the_same_again(tiny, tmp_path):
    steps = []
    first = pretrain.pretrain("pocket-tiny", tmp_path / "a", seed=1, on_progress=steps.append)
    second = pretrain.pretrain("pocket-tiny", tmp_path / "b", seed=1)
    other = pretrain.pretrain("pocket-tiny", tmp_path / "c", seed=2)
    weights = [(folder / "model.safetensors").read_bytes() for folder in (first, second, other)]
    assert weights[0] == weights[1] != weights[2]
    assert [step.step for step in steps] == list(range(1, len(steps) + 1))
    assert steps[-1].tokens >= 15_000 > steps[-2].tokens
    assert steps[-1].loss < steps[0].loss - 0.5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


def test_rows_are_bos_document_eos_and_padding(tiny, tokenizer):
    bos, eos, pad = tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id
    for batch in islice(pretrain._batches(tokenizer, seed=0), 3):
        assert batch.shape[0] == pretrain.BATCH_DOCUMENTS
        for row in batch.tolist():
            assert (row[0], row.count(eos)) == (bos, 1)
            assert set(row[row.index(eos) + 1 :]) <= {pad}
            assert pad not in row[: row.index(eos)]


def test_what_the_browser_computes_is_compared_with_what_transformers_computes():
    """tests/js/standalone/asking.test.js does the rest: a page without a server asks the model in the browser."""
    compared = json.loads((Path(__file__).parents[1] / "js/standalone/asking.json").read_text())
    tokens = AutoTokenizer.from_pretrained(POCKET_MODELS / "pocket-2m")(compared["text"])["input_ids"]
    assert tokens == compared["tokens"]
    model = AutoModelForCausalLM.from_pretrained(POCKET_MODELS / "pocket-2m", dtype=torch.float32)
    assert model(torch.tensor([tokens])).logits[0, -1].tolist() == pytest.approx(compared["logits"], abs=2e-4)
