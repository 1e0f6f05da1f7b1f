"""Prompts: from a pocket set, typed texts, a file or a dataset to token lists, split into those trained on and those
evaluated on. What cannot be used is left out and counted, with the reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from playground.config import PromptsConfig
from playground.data import claim_files, dialogues, row_files
from playground.errors import PromptsUnusable
from playground.pocket import prompt_sets as pocket_prompts
from playground.rewards import claims
from playground.setup import catalog
from playground.training.data import hub_data
from playground.training.data.random_streams import derived_seed, generator
from playground.training.models.chat import PromptForm
from playground.training.models.language_model import Tokens

MAX_PROMPT_CHARACTERS = 100_000  # longer ones are too long for any model here, and are not tokenized to find out
LEAST = 2
NUM_UNSEEN = 400  # kept from every run
MAX_EXAMPLES = 3
EMPTY, REPEATED, NO_DIALOGUE, TOO_LONG = "empty", "repeated", "no dialogue", "too long"
REFUSED = "refused by the chat template"
OTHER_SHARE = "of another share"


class Prompt(NamedTuple):
    """A prompt as text and as token ids."""

    text: str
    ids: list[int]


@dataclass(frozen=True)
class LeftOut:
    """How many rows were left out for one reason, and the first few as {"row": number from 1, "text": text}."""

    reason: str
    count: int
    rows: list[dict[str, Any]]


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
    taken: str = ""  # which columns are read and which are not, as a sentence
    rows: Sequence[dict[str, Any]] = ()  # of the values, where they are wanted whole


class Selection(NamedTuple):
    """The prompts of a run in the order of its seed, what was left out, and how many good rows were not needed."""

    prompts: list[Prompt]
    left_out: list[LeftOut]
    num_rows: int
    num_unneeded: int
    columns: dict[str, dict[str, Any]]  # by the text of a prompt: its row, where rows were read whole
    num_shortened: int = 0  # prompts that lost their oldest turns

    def in_words(self) -> str:
        """What was left out and what was cut, in sentences; empty if nothing was."""
        counted = ", ".join(f"{item.count:,} {item.reason}" for item in self.left_out)
        sentences = []
        if counted:
            sentences.append(f"Left out of {self.num_rows:,} rows of prompts: {counted}.")
        if self.num_shortened:
            cut = f"{self.num_shortened:,} of {len(self.prompts):,} prompts lost their oldest turns"
            sentences.append(f"{cut} (prompts.max_tokens).")
        return " ".join(sentences)


class PromptSplit(NamedTuple):
    """Prompts to train on and fixed prompts to evaluate on. `held_out` is False where there were too few for both."""

    training: list[Prompt]
    evaluation: list[Prompt]
    held_out: bool
    left_out: str = ""
    remarks: str = ""
    columns: Mapping[str, dict[str, Any]] = {}  # by the text of a prompt, see `Selection`
    in_both: str = ""

    @property
    def warnings(self) -> list[str]:
        """What a person should know about these prompts, as sentences."""
        sentences = [self.remarks, self.left_out, self.in_both]
        if not self.held_out:
            sentences.append("There are too few prompts to hold some out: the fixed prompts are trained on too.")
        return [*filter(None, sentences)]


def load(
    config: PromptsConfig,
    num_evaluation: int,
    room: int,
    tokens: Tokens,
    seed: int,
    whole: bool = False,
    fixed: str | None = None,
) -> PromptSplit:
    """Read, tokenize and split the prompts of a run. `num_evaluation`: how many fixed ones there are, kept aside or
    of the file `fixed`. `room`: most tokens that a prompt may have. `whole`: with all columns of their rows. Raises:
    PromptsUnusable."""
    form = PromptForm(tokens, config)
    aside = 0 if fixed else num_evaluation
    selection = select(read(config, aside, seed, whole), config, aside, room, form.ids, seed)
    own = of_file(fixed, config, num_evaluation, room, form.ids, seed, whole) if fixed else None
    remarks = " ".join(filter(None, [without_effect(config), form.remarks]))
    return split(selection, num_evaluation, own)._replace(remarks=remarks)


def of_file(
    file: str,
    config: PromptsConfig,
    count: int,
    room: int,
    encode: Callable[[str], list[int]],
    seed: int,
    whole: bool = False,
) -> Selection:
    """The fixed prompts of a file of their own. Raises: PromptsUnusable."""
    config = config.model_copy(update={"source": file, "limit": count, "share": None})
    try:
        return select(read(config, 0, seed, whole), config, 0, room, encode, seed)
    except PromptsUnusable as error:
        raise PromptsUnusable(str(error).replace("prompts.source", "evaluation.prompts", 1)) from None


def without_effect(config: PromptsConfig) -> str:
    """Which settings this source has no use for, as a sentence; empty if they are as they usually are."""
    kind, usual = row_files.kind_of(config.source), PromptsConfig()
    own = config.source in (*pocket_prompts.PROMPT_SETS, catalog.TYPED, claim_files.SHIPPED)
    fields: list[str] = []
    if own or kind == ".txt":
        fields = ["column", "subset", "split"]
    elif kind:
        fields = ["subset", "split"]
    if own and config.source != catalog.TYPED:
        fields.append("share")
    fields_changed = [f"prompts.{name}" for name in fields if getattr(config, name) != getattr(usual, name)]
    if not fields_changed:
        return ""
    name = config.source
    if kind and name not in row_files.SHIPPED:
        name = Path(name).name
    return f"{name} has no use for {' and '.join(fields_changed)}: without effect."


def split(selection: Selection, num_evaluation: int, own: Selection | None = None) -> PromptSplit:
    """The first prompts are kept aside, with what others there are of the same dialogues, if that leaves at least as
    many to train on; or there are fixed ones of their `own`, whose doubles are counted."""
    if own is not None:
        left_out = " ".join(filter(None, [selection.in_words(), own.in_words()]))
        trained = {prompt.text for prompt in selection.prompts}
        same = sum(prompt.text in trained for prompt in own.prompts)
        columns = {**selection.columns, **own.columns}
        in_both = ""
        if same:
            in_both = f"{same} of the {len(own.prompts)} fixed prompts (evaluation.prompts) are trained on too."
        return PromptSplit(selection.prompts, own.prompts, True, left_out, columns=columns, in_both=in_both)
    prompts, columns = selection.prompts, selection.columns
    evaluation = prompts[:num_evaluation]
    names = dialogues.names_of([prompt.text for prompt in prompts])
    kept_aside = {*names[:num_evaluation]}
    training = [prompt for prompt, name in zip(prompts, names, strict=True) if name not in kept_aside]
    held_out = len(training) >= num_evaluation
    if not held_out:
        training = prompts
    return PromptSplit(training, evaluation, held_out, selection.in_words(), columns=columns)


def read(config: PromptsConfig, num_evaluation: int, seed: int, whole: bool = False) -> Source:
    """The rows of the configured source; of a pocket set and of claims as many as are needed, drawn. `whole`: with all
    their columns, for a reward that gets them. Raises: PromptsUnusable."""
    name = config.source
    if name in pocket_prompts.PROMPT_SETS:
        used, _ = _of_pocket(config, num_evaluation, seed)
        return Source("prompts.source", name, used, in_order=True)
    if name == catalog.TYPED:
        return Source("prompts.typed", "the typed prompts", list(config.typed))
    try:
        if claim_files.is_source(name, config.column):
            claims_rows = claim_files.read(row_files.path_of(name))
            drawn = claim_files.prompts(claims_rows, num_evaluation, config.limit, derived_seed(seed, "prompts"))
            file, columns = row_files.path_of(name).name, claim_files.COLUMNS
            own = claims.Questions(claims_rows)
            about = [claim._asdict() if (claim := claims.of(text, own)) else {} for text in drawn] if whole else []
            number = len(claims_rows)
            return Source("prompts.source", file, drawn, columns=columns, in_order=True, num_claims=number, rows=about)
        if row_files.is_file(name):
            path = row_files.path_of(name)
            shape, lines = row_files.shape(path), row_files.kind_of(path) == ".txt"
            read = dialogues.read_of(shape.columns, None if lines else config.column, path.name)
            rows = list(row_files.rows(path)) if whole else row_files.rows(path)
            values = [read.value(row) for row in rows]
            taken = "" if lines else read.in_words(shape.columns, whole)
            is_table = row_files.kind_of(path) in row_files.SEPARATED
            if is_table and len(shape.columns) == 1 and dialogues.folded(read.column) not in dialogues.COLUMNS:
                taken += " That name is the first line of the file."
            nameless = "The file has no line of column names." * shape.nameless
            return Source(
                "prompts.source",
                path.name,
                values,
                read.column,
                shape.columns,
                shape.separator,
                taken=f"{taken} {nameless}".strip(),
                rows=rows if isinstance(rows, list) else (),
            )
    except row_files.TableUnusable as error:
        raise PromptsUnusable(f"prompts.source: {error}") from None
    data = hub_data.Rows(name, config.subset, config.split)
    read = dialogues.read_of(data.columns, config.column, name)
    records, goes_on = data.rows(data.columns if whole else [read.column, *read.others])
    taken, values = read.in_words(data.columns, whole), [read.value(row) for row in records]
    kept = records if whole else ()
    return Source("prompts.source", name, values, read.column, data.columns, goes_on=goes_on, taken=taken, rows=kept)


def unseen(config: PromptsConfig, num_evaluation: int, seed: int) -> list[str]:
    """Up to `NUM_UNSEEN` prompts of a pocket set that a run with this seed neither trains on nor evaluates on, of the
    same mix: the end of the list that its own prompts are the beginning of."""
    return _of_pocket(config, num_evaluation, seed)[1]


def select(
    source: Source, config: PromptsConfig, num_evaluation: int, room: int, encode: Callable[[str], list[int]], seed: int
) -> Selection:
    """As many prompts as a run needs, in an order that depends on the seed only. `encode`: text -> token ids. Raises:
    PromptsUnusable, if fewer than two can be used."""
    if room < 1:
        raise PromptsUnusable(
            "sampling.max_new_tokens: so long a completion leaves the model no room for a prompt. Lower it."
        )
    left_out: dict[str, list[tuple[int, str]]] = defaultdict(list)  # by reason
    first_rows = _distinct(source, left_out, None if source.in_order else config.share)
    longest = min(room, config.max_tokens or room)
    texts = list(first_rows)
    if not source.in_order:
        order = torch.randperm(len(texts), generator=generator(seed, "prompts")).tolist()
        texts = [texts[position] for position in order]
    prompts: dict[str, Prompt] = {}
    rows_used: dict[str, int] = {}
    num_read = num_shortened = 0
    refusal = ""
    for text in texts:
        if len(prompts) == config.limit + num_evaluation:
            break
        num_read += 1
        too_long = len(text) > MAX_PROMPT_CHARACTERS
        try:
            prompt = Prompt(text, []) if too_long else _fitting(text, longest, bool(config.max_tokens), encode)
        except PromptsUnusable as error:
            refusal = str(error)
            left_out[REFUSED].append((first_rows[text], text))
            if len(left_out[REFUSED]) > len(prompts) + MAX_EXAMPLES:  # it is the template that is wrong, not a row
                raise
            continue
        if not 0 < len(prompt.ids) <= longest:
            left_out[TOO_LONG if prompt.ids or too_long else EMPTY].append((first_rows[text], text))
        elif prompt.text in prompts:
            left_out[REPEATED].append((first_rows[text], text))
        else:
            prompts[prompt.text] = prompt
            rows_used[prompt.text] = first_rows[text]
            num_shortened += prompt.text != text
    counted = [
        LeftOut(reason, len(rows), [{"row": row, "text": text[:200]} for row, text in rows[:MAX_EXAMPLES]])
        for reason, rows in left_out.items()
    ]
    columns = {text: source.rows[row - 1] for text, row in rows_used.items()} if source.rows else {}
    num_unneeded = len(texts) - num_read
    selection = Selection([*prompts.values()], counted, len(source.values), num_unneeded, columns, num_shortened)
    if len(prompts) < LEAST:
        raise PromptsUnusable(f"{_too_few(source, selection, room, config.max_tokens)} {refusal}".strip())
    return selection


def _fitting(text: str, longest: int, can_be_shortened: bool, encode: Callable[[str], list[int]]) -> Prompt:
    """The prompt with as many of its turns as fit into `longest` tokens, the last ones; whole where it may not be
    shortened, or where not even its last turn fits."""
    prompt = Prompt(text, encode(text))
    if not can_be_shortened or len(prompt.ids) <= longest:
        return prompt
    for shorter in dialogues.shorter(text):
        ids = encode(shorter)
        if len(ids) <= longest:
            return Prompt(shorter, ids)
    return prompt


def prompt_batch(prompts: list[Prompt], size: int, update: int, seed: int) -> list[Prompt]:
    """The prompts of one update: the set in a new order each time it has been used up, by (seed, update) only."""
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
    count = config.limit + num_evaluation
    drawn = pocket_prompts.prompts(config.source, count + NUM_UNSEEN, derived_seed(seed, "prompts"))
    listed = list(dict.fromkeys(drawn))
    return listed[:count], listed[count:]


def _distinct(source: Source, left_out: dict[str, list[tuple[int, str]]], share: str | None = None) -> dict[str, int]:
    """Prompt -> the row in which it stands first, counted from 1. What is no prompt goes to `left_out`."""
    numbers: dict[str, int] = {}
    for row, value in enumerate(source.values, 1):
        try:
            text = dialogues.prompt_of(value, source.column)
        except dialogues.NoDialogue:
            left_out[NO_DIALOGUE].append((row, str(value)))
            continue
        if text and share and not dialogues.is_in_share(text, share):
            left_out[OTHER_SHARE].append((row, text))
        elif text and text not in numbers:
            numbers[text] = row
        else:
            left_out[REPEATED if text else EMPTY].append((row, text))
    return numbers


def _too_few(source: Source, selection: Selection, room: int, max_tokens: int | None) -> str:
    few = f"{source.field}: {source.name}: {len(selection.prompts)} can be used; a run needs at least {LEAST} prompts."
    hint = f"The model has room for {room:,} tokens: shorten them, or lower sampling.max_new_tokens."
    if max_tokens and max_tokens < room:
        hint = f"At most {max_tokens:,} tokens are allowed: raise prompts.max_tokens."
    sentences, reasons = [few, selection.in_words()], [item.reason for item in selection.left_out]
    if TOO_LONG in reasons:
        sentences.append(hint)
    if OTHER_SHARE in reasons:
        sentences.append("Widen prompts.share.")
    return " ".join(filter(None, sentences))
