"""Preference pairs: a prompt and two completions, of which somebody chose one. Reading them from files, and counting.

Forms: columns prompt, chosen and rejected; or whole dialogues in chosen and rejected (as in HH-RLHF), from which the
common prompt is split off; texts, or lists of messages. What cannot teach anything is left out and counted by reason.
Knows `row_files` and `dialogues`; no tokenizer and no torch, so that the page and the command line can look into a
file before anything is started.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from playground.errors import PairsUnusable
from playground.texts import dialogues, row_files
from playground.texts.row_files import TableUnusable

MAX_ROWS = 500_000
MIN_PAIRS = 8  # fewer cannot be split into a part to learn from and one to test on
ROLES = {"user": "user", "human": "user", "assistant": "assistant", "gpt": "assistant"}


class Pair(NamedTuple):
    """One prompt, the completion that was chosen and the one that was rejected.

    `better` and `share` are known of annotators of the pocket world only: whether the chosen one is truly what they
    like more, and with which probability they answer so.
    """

    prompt: str
    chosen: str
    rejected: str
    better: bool | None = None
    share: float | None = None


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
        reasons = [f"{count:,} {REASONS[name]}" for name, count in dataclasses.asdict(self).items()
                   if name in REASONS and count]  # fmt: skip
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
    first: Mapping[str, Any] | None = None
    for row in _rows(source):  # to its end, for a file that is cut off is no good either
        first = row if first is None else first
    _texts(first or {}, 1, Path(source).name)


def read_file(source: str) -> tuple[list[Pair], Counts]:
    """All usable pairs of a file, in its order, and what became of the rest.

    Raises:
        PairsUnusable: unreadable, too large, not UTF-8, without the columns, or with nothing usable in it.
    """
    return from_rows(_rows(source), Path(source).name)


def from_rows(rows: Iterable[Mapping[str, Any]], name: str) -> tuple[list[Pair], Counts]:
    """Rows with the columns chosen and rejected, and perhaps prompt -> pairs and counts. Raises: see `read_file`."""
    pairs: list[Pair] = []
    counts = Counts()
    seen: set[tuple[str, str, str]] = set()
    for number, row in enumerate(rows, 1):
        if number > MAX_ROWS:
            raise PairsUnusable(f"pairs.source: {name} has more than {MAX_ROWS:,} rows. Make it smaller.")
        counts.rows += 1
        texts = _texts(row, number, name)
        reason = "" if texts else "no_dialogue"
        if texts:
            reason = _fault(texts, seen)
        if texts and not reason:
            seen.add(texts)
            pairs.append(Pair(*texts))
        else:
            setattr(counts, reason, getattr(counts, reason) + 1)
    counts.kept = len(pairs)
    if not counts.rows:
        raise PairsUnusable(f"pairs.source: {name} has no pairs.")
    if len(pairs) < MIN_PAIRS:
        raise PairsUnusable(
            f"pairs.source: {name} has too few usable pairs; at least {MIN_PAIRS} are needed. {counts.in_words()}"
        )
    return pairs, counts


def split_dialogues(chosen: str, rejected: str) -> tuple[str, str, str] | None:
    """Two whole dialogues -> their common prompt and the two last answers; None where they differ before those."""
    try:
        prompt, answer = dialogues.split_last_answer(chosen)
        other_prompt, other_answer = dialogues.split_last_answer(rejected)
    except ValueError:
        return None
    return (prompt, answer, other_answer) if prompt.strip() == other_prompt.strip() else None


def _fault(texts: tuple[str, str, str], seen: set[tuple[str, str, str]]) -> str:
    """Why a pair cannot be used, as a name of a count; empty if it can."""
    prompt, chosen, rejected = texts
    if not prompt.strip() or not chosen.strip() or not rejected.strip():
        return "empty"
    if chosen.strip() == rejected.strip():
        return "equal"
    return "duplicate" if texts in seen else ""


def _texts(row: Mapping[str, Any], number: int, name: str) -> tuple[str, str, str] | None:
    """Prompt, chosen and rejected of a row; None if they are dialogues without a common prompt."""
    missing = [column for column in ("chosen", "rejected") if row.get(column) is None]
    if missing:
        there = ", ".join(str(column)[:40] for column in list(row)[:12]) or "nothing"
        raise PairsUnusable(
            f"pairs.source: row {number} of {name} has no `{missing[0]}`; it has {there}. A pair needs chosen and "
            "rejected, and a prompt unless both are whole dialogues."
        )
    chosen, rejected = (_as_text(row[column], number, column, name) for column in ("chosen", "rejected"))
    given = row.get("prompt")
    prompt = "" if given is None else _as_text(given, number, "prompt", name)
    if dialogues.is_dialogue(chosen):  # some datasets have a prompt beside whole dialogues
        return split_dialogues(chosen, rejected)
    if given is None:
        raise PairsUnusable(
            f"pairs.source: row {number} of {name} has no `prompt`, and its texts are no dialogues "
            "(Human: ... Assistant: ...). Add the prompt."
        )
    return prompt, chosen, rejected


def _as_text(value: Any, number: int, column: str, name: str) -> str:
    """A text, or a list of messages as a dialogue."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, Mapping) for item in value):
        said = []
        for item in value:
            role = ROLES.get(str(item.get("role", item.get("from", ""))))
            content = item.get("content", item.get("value"))
            if role and isinstance(content, str):
                said.append(dialogues.Turn(role, content.strip()))
        if len(said) == 1 and said[0].role == "assistant":
            return f" {said[0].content}"  # an answer alone, whose prompt stands in a column of its own
        if said and said[-1].role == "assistant":
            return f"{dialogues.text_of(said[:-1])} {said[-1].content}"
        if said:
            return dialogues.text_of(said)
    raise PairsUnusable(
        f"pairs.source: `{column}` in row {number} of {name} is {type(value).__name__}; it must be a text, or a list "
        "of messages with role and content."
    )


def _rows(source: str) -> Iterator[dict[str, Any]]:
    try:
        yield from row_files.rows(Path(os.path.expanduser(source)))
    except TableUnusable as error:
        raise PairsUnusable(f"pairs.source: {error}") from None
