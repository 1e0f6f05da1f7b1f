"""Prompts: from a pocket set, typed texts, a file or a dataset to token lists, split into those trained on and those
evaluated on. What cannot be used is left out and counted, with the reason.

The session, the model service (for the preview) and exported scripts call it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from playground.config import PromptsConfig
from playground.errors import PromptsUnusable
from playground.pocket import prompt_sets as pocket_prompts
from playground.rewards import claims
from playground.setup import catalog
from playground.texts import claim_files, prompt_texts, row_files
from playground.training.data import hub_data
from playground.training.data.random_streams import derived_seed, generator
from playground.training.models.chat import PromptForm
from playground.training.models.language_model import Tokens

MAX_PROMPT_CHARACTERS = 100_000  # longer ones are too long for any model here, and are not tokenized to find out
LEAST = 2
NUM_UNSEEN = 400  # kept from every run
MAX_EXAMPLES = 3
LEFT_OUT = "; these are left out."
EMPTY, REPEATED, NO_DIALOGUE, TOO_LONG = "empty", "repeated", "no dialogue", "too long"


class Prompt(NamedTuple):
    """A prompt as text and as token ids."""

    text: str
    ids: list[int]


class LeftOut(NamedTuple):
    """Rows that were left out for one reason, and the first few of them as (number of the row from 1, its text)."""

    reason: str
    num_rows: int
    examples: list[tuple[int, str]]


class Source(NamedTuple):
    """What a prompt source holds. `name` is for sentences; `goes_on` says that there are more rows than were read."""

    field: str
    name: str
    values: list[Any]
    column: str = row_files.TEXT_COLUMN
    columns: tuple[str, ...] = ()
    separator: str = ""  # of the columns of a file, as a word
    goes_on: bool = False
    in_order: bool = False  # already drawn at random
    num_claims: int = 0  # rows of a file of claims, from which the values are made


class Selection(NamedTuple):
    """The prompts of a run in the order of its seed, what was left out, and how many good rows were not needed."""

    prompts: list[Prompt]
    left_out: list[LeftOut]
    num_rows: int
    num_unneeded: int

    def in_words(self) -> str:
        """What was left out, as one sentence; empty if nothing was."""
        if not self.left_out:
            return ""
        rows = f"{self.num_rows:,} {'row' if self.num_rows == 1 else 'rows'} of prompts"
        return f"Of {rows}, {', '.join(f'{item.num_rows:,} {_is(item)}' for item in self.left_out)}{LEFT_OUT}"


class PromptSplit(NamedTuple):
    """Prompts to train on and fixed prompts to evaluate on. `held_out` is False where there were too few for both."""

    training: list[Prompt]
    evaluation: list[Prompt]
    held_out: bool
    left_out: str = ""

    @property
    def warnings(self) -> list[str]:
        """What a person should know about these prompts, as sentences."""
        few = "There are too few prompts to hold some out: the fixed prompts are trained on too."
        return [*filter(None, [self.left_out, "" if self.held_out else few])]


def load(config: PromptsConfig, num_evaluation: int, room: int, tokens: Tokens, seed: int) -> PromptSplit:
    """Read, tokenize and split the prompts of a run.

    Args:
        num_evaluation: how many fixed prompts to keep aside. room: most tokens a prompt may have.

    Raises:
        PromptsUnusable: unreadable source, unusable chat template, or fewer than two prompts left.
    """
    form = PromptForm(tokens, config)
    selection = select(read(config, num_evaluation, seed), config, num_evaluation, room, form.ids, seed)
    return split(selection, num_evaluation)


def split(selection: Selection, num_evaluation: int) -> PromptSplit:
    """The first prompts are kept aside, if that leaves at least as many to train on."""
    prompts, left_out = selection.prompts, selection.in_words()
    if len(prompts) >= 2 * num_evaluation:
        return PromptSplit(prompts[num_evaluation:], prompts[:num_evaluation], True, left_out)
    return PromptSplit(prompts, prompts[:num_evaluation], False, left_out)


def read(config: PromptsConfig, num_evaluation: int, seed: int) -> Source:
    """The rows of the configured source; of a pocket set and of claims as many as are needed, drawn.

    Raises:
        PromptsUnusable: if it is not there, cannot be read, or has not the column.
    """
    name = config.source
    if name in pocket_prompts.PROMPT_SETS:
        used, _ = _of_pocket(config, num_evaluation, seed)
        return Source("prompts.source", name, used, in_order=True)
    if name == catalog.TYPED:
        return Source("prompts.typed", "the typed prompts", list(config.typed))
    found = _read_claims(config, num_evaluation, seed)
    if found:
        return found
    if row_files.kind_of(name):
        return _read_file(Path(name).expanduser(), config.column)
    rows = hub_data.Rows(name, config.subset, config.split)
    column = prompt_texts.column_of(rows.columns, config.column, name)
    values, goes_on = rows.values(column)
    return Source("prompts.source", name, values, column, rows.columns, goes_on=goes_on)


def unseen(config: PromptsConfig, num_evaluation: int, seed: int) -> list[str]:
    """Up to `NUM_UNSEEN` prompts of a pocket set that a run with this seed neither trains on nor evaluates on, of the
    same mix: the end of the list that its own prompts are the beginning of."""
    return _of_pocket(config, num_evaluation, seed)[1]


def select(
    source: Source, config: PromptsConfig, num_evaluation: int, room: int, encode: Callable[[str], list[int]], seed: int
) -> Selection:
    """As many prompts as a run needs, in an order that depends on the seed only.

    Args:
        room: most tokens a prompt may have. encode: the text of a prompt -> its token ids.

    Raises:
        PromptsUnusable: if fewer than two can be used.
    """
    if room < 1:
        raise PromptsUnusable(
            "sampling.max_new_tokens: so long a completion leaves the model no room for a prompt. Lower it."
        )
    left_out: dict[str, LeftOut] = {}

    def leave_out(reason: str, row: int, text: str) -> None:
        before = left_out.get(reason, LeftOut(reason, 0, []))
        more = [(row, text[:200])] if before.num_rows < MAX_EXAMPLES else []
        left_out[reason] = LeftOut(reason, before.num_rows + 1, before.examples + more)

    first_rows = _distinct(source, leave_out)
    texts = list(first_rows)
    if not source.in_order:
        order = torch.randperm(len(texts), generator=generator(seed, "prompts")).tolist()
        texts = [texts[position] for position in order]
    prompts: list[Prompt] = []
    looked_at = 0
    for text in texts:
        if len(prompts) == config.limit + num_evaluation:
            break
        looked_at += 1
        ids = encode(text) if len(text) <= MAX_PROMPT_CHARACTERS else []
        if ids and len(ids) <= room:
            prompts.append(Prompt(text, ids))
        else:
            short = not ids and len(text) <= MAX_PROMPT_CHARACTERS
            leave_out(EMPTY if short else TOO_LONG, first_rows[text], text)
    selection = Selection(prompts, list(left_out.values()), len(source.values), len(texts) - looked_at)
    if len(prompts) < LEAST:
        raise PromptsUnusable(_too_few(source, selection, room))
    return selection


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


def _of_pocket(config: PromptsConfig, num_evaluation: int, seed: int) -> tuple[list[str], list[str]]:
    """The prompts of a run and those that it never sees, cut from one shuffled list: what is left of a set that is
    nearly used up would be of another mix."""
    wanted = config.limit + num_evaluation
    drawn = pocket_prompts.prompts(config.source, wanted + NUM_UNSEEN, derived_seed(seed, "prompts"))
    listed = list(dict.fromkeys(drawn))
    return listed[:wanted], listed[wanted:]


def _read_claims(config: PromptsConfig, num_evaluation: int, seed: int) -> Source | None:
    """Prompts made of a file of claims, which the judges of this process know from now on; None if it is no such."""
    try:
        rows = claims.know(config)
    except row_files.TableUnusable as error:
        raise PromptsUnusable(f"prompts.source: {error}") from None
    if not rows:
        return None
    drawn = claim_files.prompts(rows, num_evaluation, config.limit, derived_seed(seed, "prompts"))
    name = claim_files.path_of(config.source).name
    return Source("prompts.source", name, drawn, columns=claim_files.COLUMNS, in_order=True, num_claims=len(rows))


def _read_file(path: Path, wanted: str | None) -> Source:
    try:
        shape = row_files.shape(path)
        lines = row_files.kind_of(path) == ".txt"
        column = prompt_texts.column_of(shape.columns, None if lines else wanted, path.name)
        values = row_files.values(path, column)
    except row_files.TableUnusable as error:
        raise PromptsUnusable(f"prompts.source: {error}") from None
    return Source("prompts.source", path.name, values, column, shape.columns, shape.separator)


def _distinct(source: Source, leave_out: Callable[[str, int, str], None]) -> dict[str, int]:
    """Prompt -> the row in which it stands first, counted from 1."""
    found: dict[str, int] = {}
    for row, value in enumerate(source.values, 1):
        try:
            text = prompt_texts.prompt_of(value, source.column)
        except prompt_texts.NoDialogue:
            leave_out(NO_DIALOGUE, row, str(value))
            continue
        if not text:
            leave_out(EMPTY, row, "")
        elif text in found:
            leave_out(REPEATED, row, text)
        else:
            found[text] = row
    return found


def _is(item: LeftOut) -> str:
    if item.reason == NO_DIALOGUE:
        return "holds no dialogue" if item.num_rows == 1 else "hold no dialogue"
    return f"{'is' if item.num_rows == 1 else 'are'} {item.reason}"


def _too_few(source: Source, selection: Selection, room: int) -> str:
    found = "no prompt" if not selection.prompts else "only one prompt"
    why = f" {selection.in_words().removesuffix(LEFT_OUT)}." if selection.left_out else ""
    reasons = [item.reason for item in selection.left_out]
    hint = f" The model has room for {room:,} tokens: shorten them, or lower sampling.max_new_tokens."
    have = "have" if source.field == "prompts.typed" else "has"
    return (
        f"{source.field}: {source.name} {have} {found} that can be used, and a run needs at least {LEAST}.{why}"
        f"{hint if TOO_LONG in reasons else ''}"
    )
