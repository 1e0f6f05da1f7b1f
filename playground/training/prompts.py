"""Prompts: from a pocket set or a file to token lists, split into those trained on and those evaluated on."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import NamedTuple

import torch

from playground import catalog
from playground.config import PromptsConfig
from playground.errors import PromptsUnusable
from playground.pocket import prompts as pocket_prompts
from playground.training.models import Tokens
from playground.training.streams import derived_seed, generator

MAX_FILE_BYTES = 20_000_000


class Prompt(NamedTuple):
    """A prompt as text and as token ids."""

    text: str
    ids: list[int]


class PromptSplit(NamedTuple):
    """Prompts to train on and fixed prompts to evaluate on. `held_out` is False where there were too few for both."""

    training: list[Prompt]
    evaluation: list[Prompt]
    held_out: bool


def load(config: PromptsConfig, num_evaluation: int, room: int, tokens: Tokens, seed: int) -> PromptSplit:
    """Read, tokenize and split the prompts of a run.

    Args:
        num_evaluation: how many fixed prompts to keep aside. room: most tokens a prompt may have.

    Raises:
        PromptsUnusable: unreadable file, no prompts, empty prompts, or prompts longer than the model's context allows.
    """
    texts = read(config, config.limit + num_evaluation, seed)
    prompts = [Prompt(text, tokens.encode(text)) for text in texts]
    too_long = [prompt for prompt in prompts if len(prompt.ids) > room]
    if too_long:
        longest = max(too_long, key=lambda prompt: len(prompt.ids))
        raise PromptsUnusable(
            f"prompts.source: {len(too_long)} of {len(prompts)} prompts are too long: the model has room for {room} "
            f"tokens before the completion, and one has {len(longest.ids)} (`{longest.text[:60]}...`). Shorten them, "
            "or lower sampling.max_new_tokens."
        )
    if len(prompts) >= 2 * num_evaluation:
        return PromptSplit(prompts[num_evaluation:], prompts[:num_evaluation], True)
    return PromptSplit(prompts, prompts[:num_evaluation], False)


def read(config: PromptsConfig, count: int, seed: int) -> list[str]:
    """Up to `count` different prompts, in an order that depends on the seed only.

    Raises:
        PromptsUnusable: if the file cannot be read, or has no or empty prompts.
    """
    if config.source in [item.name for item in catalog.PROMPT_SETS]:
        drawn = pocket_prompts.prompts(config.source, count, derived_seed(seed, "prompts"))
        return list(dict.fromkeys(drawn))
    path = Path(config.source).expanduser()
    texts = _read_file(path, config.column or "prompt")
    empty = [number for number, text in enumerate(texts, 1) if not text.strip()]
    if empty:
        raise PromptsUnusable(
            f"prompts.source: entry {empty[0]} of {path.name} is empty; {len(empty)} are. Remove them."
        )
    if not texts:
        raise PromptsUnusable(f"prompts.source: {path.name} has no prompts.")
    distinct = list(dict.fromkeys(texts))
    order = torch.randperm(len(distinct), generator=generator(seed, "prompts")).tolist()
    return [distinct[position] for position in order[:count]]


def prompt_batch(prompts: list[Prompt], size: int, update: int, seed: int) -> list[Prompt]:
    """The prompts of one update: the set in a new order each time it has been used up, however small it is.

    Depends on (seed, update) only, so a resumed run sees the same prompts.
    """
    batch: list[Prompt] = []
    for position in range(update * size, (update + 1) * size):
        epoch, offset = divmod(position, len(prompts))
        if not batch or offset == 0:
            order = torch.randperm(len(prompts), generator=generator(seed, "prompt order", epoch)).tolist()
        batch.append(prompts[order[offset]])
    return batch


def _read_file(path: Path, column: str) -> list[str]:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise PromptsUnusable(f"prompts.source: {path.name} is larger than {MAX_FILE_BYTES // 1_000_000} MB.")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise PromptsUnusable(f"prompts.source: cannot read {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise PromptsUnusable(f"prompts.source: {path.name} is not UTF-8 text. Save it as UTF-8.") from None
    if path.suffix == ".txt":
        return [line.rstrip() for line in text.splitlines() if line.strip()]
    if path.suffix == ".csv":
        rows = list(csv.DictReader(text.splitlines()))
    else:
        rows = [_json_row(line, number, path) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if rows and column not in rows[0]:
        raise PromptsUnusable(
            f"prompts.column: {path.name} has no column `{column}`; it has {', '.join(map(str, rows[0]))}."
        )
    return [str(row.get(column) or "").rstrip() for row in rows]


def _json_row(line: str, number: int, path: Path) -> dict[str, object]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise PromptsUnusable(f"prompts.source: line {number} of {path.name} is not a JSON object.")
    return row
