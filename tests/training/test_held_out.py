"""Perplexity on held-out text: what it is by hand, that padding does not matter, and what cannot be read."""

from __future__ import annotations

import math

import pytest
import torch

from playground.config import EvaluationConfig
from playground.errors import PromptsUnusable
from playground.setup import catalog
from playground.training.loop import held_out_text
from playground.training.models import loading

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def loaded():
    """The smaller shipped model."""
    return loading.load(catalog.model_folder("pocket-1m"), CPU)


def by_hand(model, rows):
    """exp of the mean negative log-prob, one document at a time through the whole model."""
    total, count = 0.0, 0
    for row in rows:
        with torch.no_grad():
            log_probs = model.model(torch.tensor([row])).logits[0].double().log_softmax(-1)
        total -= sum(float(log_probs[place, token]) for place, token in enumerate(row[1:]))
        count += len(row) - 1
    return math.exp(total / count), count


@pytest.mark.parametrize("batch_size", [1, 4])
def test_it_is_the_definition_whatever_the_batch(loaded, batch_size):
    model, tokens = loaded
    rows = held_out_text.encode(
        held_out_text.read(EvaluationConfig(text="pocket", num_texts=9)), tokens, model.context_length
    )
    found = held_out_text.perplexity(model, rows, tokens.pad_id, batch_size)
    expected, count = by_hand(model, rows)
    assert found.perplexity == pytest.approx(expected, rel=1e-5)
    assert (found.documents, found.tokens) == (9, count)


def test_a_file_gives_one_document_a_line_and_long_ones_are_cut(loaded, tmp_path):
    model, tokens = loaded
    path = tmp_path / "text.txt"
    path.write_text("\ufeffThe film was dull .\n\n  " + "a " * 900 + "\nx\n", encoding="utf-8")
    documents = held_out_text.read(EvaluationConfig(text=str(path), num_texts=2))
    assert documents[0] == "The film was dull ."
    assert len(documents) == 2
    rows = held_out_text.encode(documents, tokens, model.context_length)
    assert max(map(len, rows)) == min(held_out_text.MOST_TOKENS, model.context_length)


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "Cannot read"), (b"", "is empty"), (b" \n\n", "is empty"), (b"\xff\xfe\x00", "is not UTF-8")],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path, content, words):
    path = tmp_path / "text.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PromptsUnusable, match=words) as error:
        held_out_text.read(EvaluationConfig(text=str(path)))
    assert str(error.value).startswith("evaluation.text: ")
    assert held_out_text.read(EvaluationConfig()) == []
