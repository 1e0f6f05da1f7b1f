"""Preference pairs: a prompt and two completions, one of them chosen. Reading them from files, and counting.

Forms: a prompt (or conversations, an instruction with its input, a question), chosen and rejected; or both whole, as
dialogues (as in HH-RLHF) or as texts that begin alike, from which the common prompt is split off; texts, messages, or
lists of messages. What cannot teach anything is left out and counted by reason.
Knows `row_files` and `dialogues`; no tokenizer and no torch, so that the page and the command line can look into a
file before anything is started.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from playground.data import dialogues, row_files
from playground.data.row_files import TableUnusable
from playground.errors import PairsUnusable

ANSWERS = (  # the columns of the better and the worse answer, the first that are there
    ("chosen", "rejected"),
    ("response_chosen", "response_rejected"),
    ("chosen_response", "rejected_response"),
    ("response_j", "response_k"),
)
MIN_PAIRS = 8  # fewer cannot be split into a part to learn from and one to test on


class Pair(NamedTuple):
    """One prompt, the completion that was chosen and the one that was rejected.

    `better` is known of annotators of the pocket world only: whether the chosen one is truly what they like more.
    """

    prompt: str
    chosen: str
    rejected: str
    better: bool | None = None


class Columns(NamedTuple):
    """Which columns of a table make a pair; without `prompt` it is what both answers begin with."""

    chosen: str
    rejected: str
    prompt: dialogues.Read | None

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        if self.prompt is None:
            return (self.chosen, self.rejected)
        return (self.chosen, self.rejected, self.prompt.column, *self.prompt.others)

    def in_words(self, columns: Sequence[str]) -> str:
        """What is taken of a table with these columns, and what is not, as a sentence."""
        left = [name for name in columns if name not in self.names]
        behind = "without the prompt that both begin with"
        if self.prompt:
            behind = f"behind {dialogues.listed(self.names[2:])}"
        sentence = f"A pair is {dialogues.listed(self.names[:2])} {behind}"
        if left:
            sentence += f"; not read: {dialogues.listed(left)}"
        return f"{sentence}."


@functools.lru_cache
def columns_of(names: tuple[str, ...]) -> Columns:
    """The columns of pairs among these names; `chosen` and `rejected` where there are none."""
    by_name = {row_files.folded(name): name for name in reversed(names)}
    chosen, rejected = ANSWERS[0]
    for pair in ANSWERS:
        if by_name.keys() >= set(pair):
            chosen, rejected = pair
            break
    prompt = None
    for name in dialogues.WITH_OTHERS:
        if name in by_name:
            prompt = dialogues.read_of(names, by_name[name], "")
            break
    return Columns(by_name.get(chosen, chosen), by_name.get(rejected, rejected), prompt)


@dataclasses.dataclass
class Counts:
    """What became of the rows of a source: `kept`, or left out for a reason. `taken`: which columns make a pair."""

    rows: int = 0
    kept: int = 0
    equal: int = 0
    empty: int = 0
    too_long: int = 0
    duplicate: int = 0
    no_dialogue: int = 0
    no_preference: int = 0
    not_drawn: int = 0
    other_share: int = 0
    taken: str = dataclasses.field(default="", init=False, compare=False)

    def in_words(self) -> str:
        """One sentence with every count that is not 0."""
        reasons = [f"{count:,} {words}" for name, words in REASONS.items() if (count := getattr(self, name))]
        sentence = f"{self.kept:,} of {self.rows:,} pairs are used"
        if reasons:
            sentence += f"; left out: {', '.join(reasons)}"
        return f"{sentence}. {self.taken}".rstrip()


REASONS = {
    "equal": "whose chosen and rejected texts are equal",
    "empty": "with an empty text",
    "too_long": "that are too long",
    "duplicate": "that occurred before",
    "no_dialogue": "that share no prompt before the last answer",
    "no_preference": "on which the annotator has no preference",
    "not_drawn": "beyond the limit",
    "other_share": "of another share of the dialogues",
}


def is_file_name(source: str) -> bool:
    """True if a source is meant to be a file of pairs."""
    return row_files.is_file(source) or source.lower().endswith(".gz")


def check_file(source: str) -> str:
    """Look whether a file of pairs is there, can be read, and begins as one; which of its columns are read.

    Raises:
        PairsUnusable: with what to do.
    """
    rows = _rows(source)
    first = next(rows, {})
    deque(rows, maxlen=0)  # to its end, for a file that is cut off is no good either
    _pair(first, 1, Path(source).name)
    return columns_of(tuple(first)).in_words(list(first))


def read_file(source: str) -> tuple[list[Pair], Counts]:
    """All usable pairs of a file, in its order, and what became of the rest.

    Raises:
        PairsUnusable: unreadable, too large, not UTF-8, without the columns, or with nothing usable in it.
    """
    return from_rows(_rows(source), Path(source).name)


def from_rows(rows: Iterable[Mapping[str, Any]], name: str) -> tuple[list[Pair], Counts]:
    """Rows with the columns of pairs -> pairs and counts. Raises: see `read_file`."""
    pairs: dict[Pair, None] = {}
    seen: dict[str, None] = {}
    left_out: Counter[str] = Counter()
    number = 0
    for number, row in enumerate(rows, 1):
        seen.update(dict.fromkeys(row))
        pair = _pair(row, number, name)
        texts = [text.strip() for text in pair[:3]] if pair else []
        if pair is None:
            left_out["no_dialogue"] += 1
        elif not all(texts):
            left_out["empty"] += 1
        elif texts[1] == texts[2]:
            left_out["equal"] += 1
        elif pair in pairs:
            left_out["duplicate"] += 1
        else:
            pairs[pair] = None
    counts = Counts(number, len(pairs), **left_out)
    counts.taken = columns_of(tuple(seen)).in_words(list(seen))
    if len(pairs) < MIN_PAIRS:
        raise PairsUnusable(
            f"pairs.source: {name} has too few usable pairs; at least {MIN_PAIRS} are needed. {counts.in_words()}"
        )
    return list(pairs), counts


def split_dialogues(chosen: str, rejected: str) -> Pair | None:
    """Two whole dialogues -> their common prompt with the two last answers; None where they differ before those."""
    try:
        prompt, answer = dialogues.split_last_answer(chosen)
        other_prompt, other_answer = dialogues.split_last_answer(rejected)
    except dialogues.NoDialogue:
        return None
    if prompt.strip() == other_prompt.strip():
        return Pair(prompt, answer, other_answer)
    return None


def _pair(row: Mapping[str, Any], number: int, name: str) -> Pair | None:
    """The pair in a row; None if its texts are dialogues without a common prompt."""
    columns = columns_of(tuple(row))
    missing = [column for column in columns[:2] if column not in row]
    if missing:
        listing = ", ".join(str(column)[:40] for column in list(row)[:12]) or "nothing"
        raise PairsUnusable(
            f"pairs.source: row {number} of {name} has no `{missing[0]}`; it has {listing}. A pair needs chosen and "
            "rejected, and a prompt unless both are whole dialogues."
        )
    if row[columns.chosen] is None or row[columns.rejected] is None:
        return Pair("", "", "")
    cell = columns.prompt and columns.prompt.value(row)
    try:
        chosen, rejected = (_as_text(row[column], number, column, name) for column in columns[:2])
        prompt = None
        if columns.prompt is not None and cell is not None:
            prompt = _as_text(cell, number, columns.prompt.column, name)
    except dialogues.NoDialogue:
        return None
    if dialogues.is_dialogue(chosen):  # some datasets have a prompt beside whole dialogues
        return split_dialogues(chosen, rejected)
    if prompt is None and columns.prompt is not None:
        return Pair("", chosen, rejected)
    if prompt is None:
        both = zip(chosen, rejected, strict=False)
        common = "".join(one for one, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], both))
        prompt = common[: max(common.rfind(" "), common.rfind("\n"), 0)]  # as TRL's implicit prompt, in whole words
        if not prompt.strip():
            raise PairsUnusable(
                f"pairs.source: row {number} of {name} has no `prompt`, and its texts neither begin alike nor are "
                "dialogues (Human: ... Assistant: ...). Add the prompt."
            )
    if chosen.startswith(prompt) and rejected.startswith(prompt):  # it stands in them again
        chosen, rejected = chosen[len(prompt) :], rejected[len(prompt) :]
    return Pair(prompt, chosen, rejected)


def _as_text(value: Any, number: int, column: str, name: str) -> str:
    """A text, or messages as a dialogue; of one answer alone, whose prompt has its own column, its text.

    Raises:
        PairsUnusable: it is neither. NoDialogue: a list of something else.
    """
    value = dialogues.unpacked(value)
    if isinstance(value, str):
        return dialogues.cleaned(value)
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, (list, tuple)) or not value:
        raise PairsUnusable(
            f"pairs.source: `{column}` in row {number} of {name} is {type(value).__name__}; it must be a text, or a "
            "list of messages with role and content."
        )
    *before, last = dialogues.of_messages(value)
    if last.role != "assistant":
        return dialogues.text_of([*before, last])
    if not before:
        return f" {last.content}"
    return f"{dialogues.text_of(before)} {last.content}"


def _rows(source: str) -> Iterator[dict[str, Any]]:
    try:
        yield from row_files.rows(Path(os.path.expanduser(source)))
    except TableUnusable as error:
        raise PairsUnusable(f"pairs.source: {error}") from None
