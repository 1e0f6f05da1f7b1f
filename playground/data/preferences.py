"""Preference pairs: a prompt and two completions, one of them chosen. Reading them from files, and counting.

Forms: columns prompt, chosen and rejected; or whole dialogues in chosen and rejected (as in HH-RLHF), from which the
common prompt is split off; texts, or lists of messages. What cannot teach anything is left out and counted by reason.
Knows `row_files` and `dialogues`; no tokenizer and no torch, so that the page and the command line can look into a
file before anything is started.
"""

from __future__ import annotations

import dataclasses
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from playground.data import dialogues, row_files
from playground.data.row_files import TableUnusable
from playground.errors import PairsUnusable

MIN_PAIRS = 8  # fewer cannot be split into a part to learn from and one to test on


class Pair(NamedTuple):
    """One prompt, the completion that was chosen and the one that was rejected.

    `better` is known of annotators of the pocket world only: whether the chosen one is truly what they like more.
    """

    prompt: str
    chosen: str
    rejected: str
    better: bool | None = None


@dataclasses.dataclass
class Counts:
    """What became of the rows of a source: `kept`, or left out for a reason."""

    rows: int = 0
    kept: int = 0
    equal: int = 0
    empty: int = 0
    too_long: int = 0
    duplicate: int = 0
    no_dialogue: int = 0
    no_preference: int = 0
    not_drawn: int = 0

    def in_words(self) -> str:
        """One sentence with every count that is not 0."""
        reasons = [f"{count:,} {words}" for name, words in REASONS.items() if (count := getattr(self, name))]
        left_out = f"; left out: {', '.join(reasons)}" if reasons else ""
        return f"{self.kept:,} of {self.rows:,} pairs are used{left_out}."


REASONS = {
    "equal": "whose chosen and rejected texts are equal",
    "empty": "with an empty text",
    "too_long": "that are too long",
    "duplicate": "that occurred before",
    "no_dialogue": "that share no prompt before the last answer",
    "no_preference": "on which the annotator has no preference",
    "not_drawn": "beyond the limit",
}


def is_file_name(source: str) -> bool:
    """True if a source is meant to be a file of pairs."""
    return row_files.kind_of(source) is not None or source.lower().endswith((".json", ".gz"))


def check_file(source: str) -> None:
    """Look whether a file of pairs is there, can be read, and begins as one.

    Raises:
        PairsUnusable: with what to do.
    """
    rows = _rows(source)
    first = next(rows, {})
    deque(rows, maxlen=0)  # to its end, for a file that is cut off is no good either
    _pair(first, 1, Path(source).name)


def read_file(source: str) -> tuple[list[Pair], Counts]:
    """All usable pairs of a file, in its order, and what became of the rest.

    Raises:
        PairsUnusable: unreadable, too large, not UTF-8, without the columns, or with nothing usable in it.
    """
    return from_rows(_rows(source), Path(source).name)


def from_rows(rows: Iterable[Mapping[str, Any]], name: str) -> tuple[list[Pair], Counts]:
    """Rows with the columns chosen and rejected, and perhaps prompt -> pairs and counts. Raises: see `read_file`."""
    pairs: dict[Pair, None] = {}
    left_out: Counter[str] = Counter()
    number = 0
    for number, row in enumerate(rows, 1):
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
    counts = Counts(rows=number, kept=len(pairs), **left_out)
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
    return Pair(prompt, answer, other_answer) if prompt.strip() == other_prompt.strip() else None


def _pair(row: Mapping[str, Any], number: int, name: str) -> Pair | None:
    """The pair in a row; None if its texts are dialogues without a common prompt."""
    missing = [column for column in ("chosen", "rejected") if row.get(column) is None]
    if missing:
        there = ", ".join(str(column)[:40] for column in list(row)[:12]) or "nothing"
        raise PairsUnusable(
            f"pairs.source: row {number} of {name} has no `{missing[0]}`; it has {there}. A pair needs chosen and "
            "rejected, and a prompt unless both are whole dialogues."
        )
    given = row.get("prompt")
    try:
        chosen, rejected = (_as_text(row[column], number, column, name) for column in ("chosen", "rejected"))
        prompt = "" if given is None else _as_text(given, number, "prompt", name)
    except dialogues.NoDialogue:
        return None
    if dialogues.is_dialogue(chosen):  # some datasets have a prompt beside whole dialogues
        return split_dialogues(chosen, rejected)
    if given is None:
        raise PairsUnusable(
            f"pairs.source: row {number} of {name} has no `prompt`, and its texts are not dialogues "
            "(Human: ... Assistant: ...). Add the prompt."
        )
    return Pair(prompt, chosen, rejected)


def _as_text(value: Any, number: int, column: str, name: str) -> str:
    """A text, or a list of messages as a dialogue; of one answer alone, whose prompt has its own column, its text.

    Raises:
        PairsUnusable: it is neither. NoDialogue: a list of something else.
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, (list, tuple)) or not value:
        raise PairsUnusable(
            f"pairs.source: `{column}` in row {number} of {name} is {type(value).__name__}; it must be a text, or a "
            "list of messages with role and content."
        )
    *before, last = dialogues.of_messages(value)
    if last.role != "assistant":
        return dialogues.text_of([*before, last])
    return f"{dialogues.text_of(before) if before else ''} {last.content}"


def _rows(source: str) -> Iterator[dict[str, Any]]:
    try:
        yield from row_files.rows(Path(os.path.expanduser(source)))
    except TableUnusable as error:
        raise PairsUnusable(f"pairs.source: {error}") from None
