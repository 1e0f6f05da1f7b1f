"""A preview of a run's prompts: how many, how long, what is left out and why, and what the model really sees. Loads a
tokenizer and no model. The model service answers with it the question `prompts`.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from playground.config import RunConfig
from playground.setup import catalog
from playground.training.data import prompts
from playground.training.models import loading, time_limit
from playground.training.models.chat import PromptForm
from playground.training.models.language_model import Tokens
from playground.training.models.token_pieces import Pieces

NUM_ROWS = 20
NUM_SEEN = 3
MAX_TEXT_CHARACTERS = 600
MAX_SEEN_TOKENS = 300
BINS = 24


def preview(config: RunConfig) -> dict[str, Any]:
    """Everything that is shown of the prompts of a configuration. Raises: ModelNotFound, PromptsUnusable."""
    tokens, context = tokens_of(catalog.model_folder(config.model.source, config.model.revision))
    room = context - config.sampling.max_new_tokens
    fixed, file = config.evaluation.num_prompts, config.evaluation.prompts
    form, aside = PromptForm(tokens, config.prompts), 0 if file else fixed
    whole = config.reads_columns
    source = prompts.read(config.prompts, aside, config.seed, whole)
    selection = prompts.select(source, config.prompts, aside, room, form.ids, config.seed)
    own = prompts.of_file(file, config.prompts, fixed, room, form.ids, config.seed, whole) if file else None
    split = prompts.split(selection, fixed, own)
    held_out = split.evaluation if split.held_out else []
    rendered = [*split.evaluation, *(split.training if split.held_out else [])] if fixed else split.training
    return {
        "source": config.prompts.source,
        "column": source.column if source.columns and not source.num_claims else None,
        "num_claims": source.num_claims,
        "columns": list(source.columns),
        "separator": source.separator,
        "form": form.name,
        "system": form.system,
        "room": room,
        "num_rows": selection.num_rows,
        "goes_on": source.goes_on,
        "num_training": len(split.training),
        "num_evaluation": len(split.evaluation),
        "num_unneeded": selection.num_unneeded,
        "held_out": split.held_out,
        "left_out": [dataclasses.asdict(item) for item in selection.left_out],
        "sentence": " ".join(
            filter(
                None,
                [
                    source.taken,
                    prompts.without_effect(config.prompts),
                    form.remarks,
                    split.left_out,
                    split.in_both,
                ],
            )
        ),
        "lengths": lengths([len(prompt.ids) for prompt in selection.prompts]),
        "rows": [
            {
                "text": prompt.text[:MAX_TEXT_CHARACTERS],
                "cut": len(prompt.text) > MAX_TEXT_CHARACTERS,
                "tokens": len(prompt.ids),
                "held_out": prompt in held_out,
            }
            for prompt in rendered[:NUM_ROWS]
        ],
        "seen": [seen(tokens, prompt.ids) for prompt in rendered[:NUM_SEEN]],
    }


def lengths(counts: Sequence[int]) -> dict[str, Any]:
    """Token counts in four figures and a histogram of bins of equal whole width; the last edge is past the longest."""
    low, high = min(counts), max(counts)
    width = max(1, -(-(high - low + 1) // BINS))
    edges = list(range(low, high + width + 1, width))
    return {
        "min": low,
        "median": round(statistics.median(counts)),
        "p90": int(np.quantile(counts, 0.9, method="inverted_cdf")),
        "max": high,
        "edges": edges,
        "counts": np.histogram(counts, edges)[0].tolist(),
    }


def seen(tokens: Tokens, ids: Sequence[int]) -> list[dict[str, Any]]:
    """What the model reads, as pieces of text with their tokens; special tokens are pieces of their own, by name."""
    special = {*tokens.tokenizer.all_special_ids, *tokens.tokenizer.added_tokens_decoder}
    pieces: list[dict[str, Any]] = []
    with tokens.limited():
        text_of = Pieces(tokens)
        for named, run in itertools.groupby(ids[:MAX_SEEN_TOKENS], special.__contains__):
            if named:
                names = tokens.tokenizer.convert_ids_to_tokens(list(run))
                pieces += [{"text": str(name), "special": True} for name in names]
            else:
                parts = [text_of(token) for token in run]
                pieces.append({"text": "".join(parts), "special": False, "tokens": parts})
    if len(ids) > MAX_SEEN_TOKENS:
        pieces.append({"text": f"{len(ids) - MAX_SEEN_TOKENS:,} more tokens", "special": True, "more": True})
    return pieces


def tokens_of(folder: Path) -> tuple[Tokens, int]:
    """A model folder -> its tokenizer, and most tokens of prompt and completion together. Raises: ModelNotFound."""
    from transformers import AutoConfig

    catalog.files(folder)
    tokenizer = loading.read_tokenizer(folder)
    with time_limit.limited(f"The configuration of the model in {folder} cannot be read", folder):
        path = loading.adapter_base(folder) or folder
        config = AutoConfig.from_pretrained(path, local_files_only=True, trust_remote_code=False)
    eos = tokenizer.eos_token_id or 0
    pad = tokenizer.pad_token_id
    if pad is None:
        pad = eos
    return Tokens(tokenizer, pad, eos), int(getattr(config, "max_position_embeddings", 1024))
