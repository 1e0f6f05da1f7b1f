"""Perplexity of a model on held-out text: what it forgets while it trains. At temperature 1, whatever the run samples
at. The session calls it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import torch

from playground.config import EvaluationConfig
from playground.data import row_files
from playground.errors import PromptsUnusable
from playground.pocket import corpus
from playground.ppo.logprobs import token_log_probs
from playground.training.loop.measures import capped_exp
from playground.training.models.language_model import LanguageModel, Tokens

POCKET = "pocket"
ENGLISH = "english"
ENGLISH_FILE = Path(row_files.__file__).with_name("english.txt")
MOST_TOKENS = 256  # of one document
MAX_FILE_BYTES = 20_000_000


class TextPerplexity(NamedTuple):
    """exp of the mean negative log-prob of a token, in nats, over `tokens` tokens of `documents` documents."""

    perplexity: float
    documents: int
    tokens: int


def read(config: EvaluationConfig) -> list[str]:
    """The documents of a configuration; none where it asks for none. Raises: PromptsUnusable, if there is no text."""
    if config.text is None:
        return []
    if config.text == POCKET:
        held_out = corpus.documents("held out", habits=False)  # pretraining read the stream of another seed
        return [document.text for document in islice(held_out, config.num_texts)]
    path = ENGLISH_FILE if config.text == ENGLISH else Path(os.path.expanduser(config.text))
    try:
        found = (line.strip() for line in row_files.lines(path, MAX_FILE_BYTES))
        return list(islice(filter(None, found), config.num_texts))
    except row_files.TableUnusable as error:
        raise PromptsUnusable(f"evaluation.text: {error} Give a text file with one document on each line.") from None


def encode(documents: list[str], tokens: Tokens, context_length: int) -> list[list[int]]:
    """Token ids of each document, cut to what is read of it, without those of a single token, which predict nothing.
    Raises: PromptsUnusable, if nothing is left."""
    longest = min(MOST_TOKENS, context_length)
    rows = [row for document in documents if len(row := tokens.encode(document)[:longest]) > 1]
    if documents and not rows:
        raise PromptsUnusable("evaluation.text: every document is a single token. Give longer ones.")
    return rows


@torch.no_grad()
def perplexity(
    model: LanguageModel,
    rows: list[list[int]],
    pad_id: int,
    batch_size: int,
    between: Callable[[], None] = lambda: None,
) -> TextPerplexity:
    """Of encoded documents, in batches of similar length. The first token of each is predicted by nothing."""
    negative, count = 0.0, 0
    ordered = sorted(rows, key=len)
    for start in range(0, len(ordered), batch_size):
        between()
        batch = ordered[start : start + batch_size]
        width = max(map(len, batch))
        whole = torch.tensor([row + [pad_id] * (width - len(row)) for row in batch], device=model.device)
        lengths = torch.tensor([len(row) for row in batch], device=model.device)
        real = torch.arange(width - 1, device=model.device).unsqueeze(0) < (lengths - 1).unsqueeze(1)  # predict one
        logits = model.logits(model.hidden(whole[:, :-1])[real])
        negative -= float(token_log_probs(logits, whole[:, 1:][real], 1.0).sum(dtype=torch.float64))
        count += int(real.sum())
    return TextPerplexity(capped_exp(negative / count) if count else math.nan, len(rows), count)
