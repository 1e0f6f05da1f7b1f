"""Perplexity on held-out text: what it is by hand, that padding does not matter, and what cannot be read."""

import math

import pytest
import torch

from playground.config import EvaluationConfig
from playground.errors import PromptsUnusable
from playground.setup import catalog
from playground.training.loop import held_out_text
from playground.training.models import loading


@pytest.fixture(scope="module")
def loaded():
    return loading.load(catalog.model_folder("pocket-1m"), torch.device("cpu"))


def encoded(loaded, **settings):
    model, tokens = loaded
    return held_out_text.encode(held_out_text.read(EvaluationConfig(**settings)), tokens, model.context_length)


@pytest.mark.parametrize("batch_size", [1, 4])
def test_perplexity_is_exp_of_the_mean_negative_log_prob_whatever_the_batch(loaded, batch_size):
    model, tokens = loaded
    rows = encoded(loaded, text="pocket", num_texts=9)
    total, count = 0.0, 0
    for row in rows:
        with torch.no_grad():
            log_probs = model.model(torch.tensor([row])).logits[0].double().log_softmax(-1)
        total -= sum(float(log_probs[place, token]) for place, token in enumerate(row[1:]))
        count += len(row) - 1
    measured = held_out_text.perplexity(model, rows, tokens.pad_id, batch_size)
    assert measured.perplexity == pytest.approx(math.exp(total / count), rel=1e-5)
    assert (measured.documents, measured.tokens) == (9, count)


def test_a_file_gives_one_document_a_line_and_long_ones_are_cut(loaded, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\ufeffThe film was dull .\n\n  " + "a " * 900 + "\nx\n", encoding="utf-8")
    documents = held_out_text.read(EvaluationConfig(text=str(path), num_texts=2))
    assert documents[0] == "The film was dull ."
    assert len(documents) == 2
    longest = max(map(len, encoded(loaded, text=str(path), num_texts=2)))
    assert longest == min(held_out_text.MOST_TOKENS, loaded[0].context_length)


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "Cannot read"), (b"", "is empty"), (b" \n\n", "is empty"), (b"\xff\xfe\x00", "is not UTF-8")],
)
def test_a_text_that_cannot_be_read_is_refused_in_one_sentence(tmp_path, content, words):
    path = tmp_path / "text.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PromptsUnusable, match=rf"^evaluation\.text: .*{words}"):
        held_out_text.read(EvaluationConfig(text=str(path)))
    assert held_out_text.read(EvaluationConfig()) == []
