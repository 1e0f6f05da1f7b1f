"""Text <-> turns of a dialogue, in the form of Anthropic's HH-RLHF data: "\\n\\nHuman: ...\\n\\nAssistant: ...";
and the prompt in a value of a table, which may be a text, a dialogue or chat messages.

A prompt is one text everywhere in the playground (in files, samples and on the page). Where a chat template or a reward
model wants turns, they are read out of that text here; a text in no such form is one turn of the user. Imports nothing
heavy: the page suggests a column with it; prompts, rewards and reward models call it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from playground.data.row_files import TEXT_COLUMN
from playground.errors import PromptsUnusable

COLUMNS = ("prompt", "text", "question", "instruction", "chosen")  # the first that is there is taken
DIALOGUE_COLUMNS = ("chosen", "rejected")  # whole dialogues: all but the last answer is the prompt
SPEAKERS = {"Human": "user", "Assistant": "assistant"}
ROLES = {"user": "user", "human": "user", "assistant": "assistant", "gpt": "assistant", "system": "system"}
_TURN = re.compile(r"(?:^|\n\n)(Human|Assistant):[ \t]?")


class NoDialogue(ValueError):
    """A value that should be a dialogue and is none."""


class Turn(NamedTuple):
    """Who says what. `role` is `user` or `assistant`, as chat templates call them."""

    role: str
    content: str


def is_dialogue(text: str) -> bool:
    """True if the text begins with a turn of the human."""
    return text.lstrip("\n").startswith("Human:")


def turns(text: str) -> list[Turn]:
    """The turns of a text; without a last turn of the assistant that has not been said yet.

    A text that is no dialogue is one turn of the user, exactly as it is.
    """
    if not is_dialogue(text):
        return [Turn("user", text)]
    _, *pieces = _TURN.split(text.lstrip("\n"))
    found = [
        Turn(SPEAKERS[speaker], content.strip()) for speaker, content in zip(pieces[::2], pieces[1::2], strict=True)
    ]
    return found[:-1] if found[-1] == Turn("assistant", "") else found


def of_messages(messages: Sequence[Any]) -> list[Turn]:
    """Chat messages (role and content, or from and value) -> turns, of which there is at least one; what the system
    says stands before the first turn of the user.

    Raises:
        NoDialogue: one of them is no message, or nothing but the system speaks.
    """
    system: list[Turn] = []
    said: list[Turn] = []
    for message in messages:
        given = message if isinstance(message, Mapping) else {}
        role, content = ROLES.get(str(given.get("role", given.get("from")))), given.get("content", given.get("value"))
        if role is None or not isinstance(content, str):
            raise NoDialogue
        (system if role == "system" else said).append(Turn(role, content.strip()))
    if not said:
        raise NoDialogue
    if said[0].role == "user":
        before = [turn.content for turn in system if turn.content]
        said[0] = Turn("user", "\n\n".join([*before, said[0].content]))
    return said


def text_of(said: Sequence[Turn]) -> str:
    """The turns as one text that ends where the assistant is to speak."""
    names = {role: speaker for speaker, role in SPEAKERS.items()}
    return "".join(f"\n\n{names[turn.role]}: {turn.content}" for turn in said) + "\n\nAssistant:"


def for_reading(prompt: str) -> str:
    """A prompt as a person reads it, as the page has it (static/core/texts.js): of a dialogue what the user says; with
    several turns who says what, a line each."""
    if not is_dialogue(prompt):
        return prompt
    said = turns(prompt)
    return said[0].content if len(said) == 1 else "\n".join(f"{one.role.title()}: {one.content}" for one in said)


def split_last_answer(dialogue: str) -> tuple[str, str]:
    """A whole dialogue -> the prompt (up to and with the last "Assistant:") and the answer behind it.

    Raises:
        NoDialogue: if it is no dialogue, or does not end with a turn of the assistant.
    """
    start = dialogue.rfind("\n\nAssistant:")
    if not is_dialogue(dialogue) or start < 0 or "\n\nHuman:" in dialogue[start + 1 :]:
        raise NoDialogue("is not a dialogue that ends with an answer of the assistant")
    border = start + len("\n\nAssistant:")
    return dialogue[:border], dialogue[border:]


def column_of(columns: Sequence[str], wanted: str | None, source: str) -> str:
    """The column to read: the wanted one, or the first of COLUMNS that is there, or the only one.

    Raises:
        PromptsUnusable: if it is not there, naming those that are.
    """
    if wanted is None and len(columns) == 1:
        return columns[0]
    found = next((name for name in ([wanted] if wanted else COLUMNS) if name in columns), None)
    if found is None:
        there = ", ".join(f"`{str(name)[:60]}`" for name in columns[:20]) or "none"
        lacks = f"no column `{wanted[:60]}`" if wanted else f"none of the columns {', '.join(COLUMNS)}"
        raise PromptsUnusable(f"prompts.column: {source} has {lacks}; it has {there}. Choose one of these.")
    return found


def prompt_of(value: Any, column: str = TEXT_COLUMN) -> str:
    """The prompt in one value; "" where there is none. Ends where the assistant is to speak, if it is a dialogue.

    Raises:
        NoDialogue: for a value of `chosen` or `rejected`, or a list, that is no dialogue.
    """
    if value is None:
        return ""
    if isinstance(value, (list, tuple, Mapping)):
        said = of_messages(value if isinstance(value, (list, tuple)) else ())
        said = said[:-1] if said[-1].role == "assistant" else said
        if not said or said[0].role != "user":
            raise NoDialogue
        return text_of(said)
    text = str(value).encode("utf-8", "replace").decode()  # half a surrogate pair cannot be written to a file
    if not text.strip():
        return ""
    if not is_dialogue(text):
        if column in DIALOGUE_COLUMNS:
            raise NoDialogue
        return text.rstrip()
    try:
        return split_last_answer(text)[0]
    except NoDialogue:  # the human spoke last
        return text_of(turns(text))
