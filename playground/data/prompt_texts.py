"""Which column of a table holds the prompts, and the prompt in one of its values: a text, a dialogue or chat messages.

Imports nothing heavy: the page suggests a column with it, training reads prompts with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playground.data import dialogues, row_files
from playground.data.dialogues import NoDialogue as NoDialogue
from playground.errors import PromptsUnusable

COLUMNS = ("prompt", "text", "question", "instruction", "chosen")  # the first that is there is taken
DIALOGUE_COLUMNS = ("chosen", "rejected")  # whole dialogues: all but the last answer is the prompt
MAX_NAMED_COLUMNS = 20


def column_of(columns: Sequence[str], wanted: str | None, source: str) -> str:
    """The column to read: the wanted one, or the first of COLUMNS that is there, or the only one.

    Raises:
        PromptsUnusable: if it is not there, naming those that are.
    """
    if wanted is None and len(columns) == 1:
        return columns[0]
    found = next((name for name in ([wanted] if wanted else COLUMNS) if name in columns), None)
    if found is None:
        there = ", ".join(f"`{str(name)[:60]}`" for name in columns[:MAX_NAMED_COLUMNS]) or "none"
        lacks = f"no column `{wanted[:60]}`" if wanted else f"none of the columns {', '.join(COLUMNS)}"
        raise PromptsUnusable(f"prompts.column: {source} has {lacks}; it has {there}. Choose one of these.")
    return found


def prompt_of(value: Any, column: str = row_files.TEXT_COLUMN) -> str:
    """The prompt in one value; "" where there is none. Ends where the assistant is to speak, if it is a dialogue.

    Raises:
        NoDialogue: for a value of `chosen` or `rejected`, or a list, that is no dialogue.
    """
    if value is None:
        return ""
    if isinstance(value, (list, tuple, Mapping)):
        said = dialogues.of_messages(value if isinstance(value, (list, tuple)) else ())
        said = said[:-1] if said[-1].role == "assistant" else said
        if not said or said[0].role != "user":
            raise NoDialogue
        return dialogues.text_of(said)
    text = str(value).encode("utf-8", "replace").decode()  # half a surrogate pair cannot be written to a file
    if not text.strip():
        return ""
    if not dialogues.is_dialogue(text):
        if column in DIALOGUE_COLUMNS:
            raise NoDialogue
        return text.rstrip()
    try:
        return dialogues.split_last_answer(text)[0]
    except NoDialogue:  # the human spoke last
        return dialogues.text_of(dialogues.turns(text))
