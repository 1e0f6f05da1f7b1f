"""Text <-> turns of a dialogue, in the form of Anthropic's HH-RLHF data: "\\n\\nHuman: ...\\n\\nAssistant: ...";
and the prompt in a row of a table: a text, a dialogue or chat messages, with what other columns add to it.

A prompt is one text everywhere in the playground (in files, samples and on the page). Where a chat template or a reward
model wants turns, they are read out of that text here; a text in no such form is one turn of the user. Imports nothing
heavy: the page suggests a column with it; prompts, rewards and reward models call it.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from playground.data.row_files import TEXT_COLUMN, folded
from playground.errors import PromptsUnusable

# the first that is there is taken
COLUMNS = ("prompt", "messages", "conversations", "question", "instruction", "query", "problem", "text", "chosen")
BELOW = ("input", "context")  # columns whose text belongs under that of `WITH_OTHERS`
WITH_OTHERS = ("prompt", "question", "instruction", "query", "problem", "messages", "conversations")
DIALOGUE_COLUMNS = ("chosen", "rejected")  # whole dialogues: all but the last answer is the prompt
SPEAKERS = {"Human": "user", "Assistant": "assistant"}
ROLES = {
    **dict.fromkeys(("user", "human", "prompter"), "user"),
    **dict.fromkeys(("assistant", "gpt", "model", "bot", "chatgpt"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
}
_MESSAGES = re.compile(r"""\s*\[\s*\{\s*(["'])(?:role|content|from|value)\1\s*:""")  # how a list of them begins as text
MOST_CHARACTERS = 100_000  # of messages as text
_BEGIN_OF_TURN = re.compile(r"\n\n(?=(?:Human|Assistant):)")
_TURN = re.compile(r"(?:^|\n\n)(Human|Assistant):[ \t]?")


class NoDialogue(ValueError):
    """A value that should be a dialogue and is none."""


class Turn(NamedTuple):
    """Who says what. `role` is `user` or `assistant`, as chat templates call them."""

    role: str
    content: str


class Read(NamedTuple):
    """Which columns of a table make its prompts: `column`, and those that add to it."""

    column: str
    others: tuple[str, ...] = ()

    def in_words(self, columns: Sequence[str], whole: bool = False) -> str:
        """What is taken of a table with these columns, and what is not, as a sentence. `whole`: a function in Python
        gets what is not."""
        sentence = f"The prompts are `{self.column}`"
        if self.others:
            sentence += f" with {listed(self.others)}"
        left = [name for name in columns if name not in (self.column, *self.others)]
        if left:
            sentence += f"; {'for the reward in Python' if whole else 'not read'}: {listed(left)}"
        return f"{sentence}."

    def value(self, row: Mapping[str, Any]) -> Any:
        """What `prompt_of` makes a prompt of: the value itself, or a text or messages with what others add."""
        value, adds = row.get(self.column), {folded(name): row.get(name) for name in self.others}
        if "role" in adds:
            return [{"role": adds["role"], "content": value}]
        if isinstance(value, str):
            below = (cleaned(adds.get(name)) for name in BELOW)
            value = "\n".join([value, *filter(None, below)])
        history, system = adds.get("history"), cleaned(adds.get("system"))
        before = []
        for exchange in history if isinstance(history, (list, tuple)) else ():
            before += [
                {"role": role, "content": text} for role, text in zip(("user", "assistant"), exchange, strict=False)
            ]
        if not system and not before:
            return value
        if isinstance(value, str):
            if not before and not is_dialogue(value):
                return f"{system}\n\n{value}"
            value = [turn._asdict() for turn in turns(value)]
        if system:
            before.insert(0, {"role": "system", "content": system})
        return [*before, *(value or ())]


def listed(names: Sequence[str]) -> str:
    """Names of columns in a sentence."""
    listing = ", ".join(f"`{str(name)[:60]}`" for name in names[:12])
    if len(names) > 12:
        listing += f" and {len(names) - 12:,} more"
    return listing


def cleaned(value: Any) -> str:
    """A text as it is read: every line end is \\n; half a surrogate pair, which no file can hold, is a ?."""
    if value is None:
        return ""
    return str(value).replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode()


def unpacked(value: Any) -> Any:
    """Messages that a cell holds as text, as JSON or as Python shows them, as messages; any other value as it is.

    Raises:
        NoDialogue: it begins as messages and cannot be read, as numpy shows them, or is very long.
    """
    if not isinstance(value, str) or not _MESSAGES.match(value):
        return value
    for read in (json.loads, ast.literal_eval) if len(value) <= MOST_CHARACTERS else ():
        with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return read(value)
    raise NoDialogue


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
    spoken = [
        Turn(SPEAKERS[speaker], content.strip()) for speaker, content in zip(pieces[::2], pieces[1::2], strict=True)
    ]
    if spoken[-1] == Turn("assistant", ""):
        spoken.pop()
    return spoken


def of_messages(messages: Sequence[Any]) -> list[Turn]:
    """Chat messages (role and content, or from and value) -> turns, of which there is at least one; what the system
    says stands before the first turn of the user.

    Raises:
        NoDialogue: one of them is no message, or nothing but the system speaks.
    """
    system: list[Turn] = []
    spoken: list[Turn] = []
    for message in messages:
        fields = message if isinstance(message, Mapping) else {}
        role = ROLES.get(folded(fields.get("role", fields.get("from"))))
        content = fields.get("content", fields.get("value"))
        if isinstance(content, (list, tuple)):
            content = _text_of_parts(content)
        if role is None or not isinstance(content, str):
            raise NoDialogue
        (system if role == "system" else spoken).append(Turn(role, cleaned(content).strip()))
    if not spoken:
        raise NoDialogue
    before = [turn.content for turn in system if turn.content]
    if spoken[0].role == "user":
        spoken[0] = Turn("user", "\n\n".join([*before, spoken[0].content]))
    elif len(spoken) > 1 or before:  # the assistant begins: templates want a turn of the user, so it has an empty one
        spoken.insert(0, Turn("user", "\n\n".join(before)))
    return spoken


def _text_of_parts(parts: Sequence[Any]) -> str | None:
    """The text of a content in parts; None if one of them is no text."""
    texts: list[Any] = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    if all(isinstance(text, str) for text in texts):
        return "".join(texts)
    return None


def text_of(spoken: Sequence[Turn]) -> str:
    """The turns as one text that ends where the assistant is to speak. What is said in a turn and would begin another
    one loses the empty line before it."""
    names = {role: speaker for speaker, role in SPEAKERS.items()}
    contents = [_BEGIN_OF_TURN.sub("\n", turn.content) for turn in spoken]
    said = [f"\n\n{names[turn.role]}: {content}" for turn, content in zip(spoken, contents, strict=True)]
    return "".join(said) + "\n\nAssistant:"


def shorter(prompt: str) -> Iterator[str]:
    """A prompt without its oldest turns, fewer and fewer of them, down to the last turn of the human; nothing of a text
    that is no dialogue, or of one turn."""
    spoken = turns(prompt)
    for start in range(1, len(spoken)):
        if spoken[start].role == "user":
            yield text_of(spoken[start:])


def opening(prompt: str) -> str:
    """What tells one dialogue from another, however long each has become: the first thing that the human says."""
    return next((turn.content for turn in turns(prompt) if turn.role == "user" and turn.content), prompt)


def names_of(prompts: Sequence[str]) -> list[str]:
    """By what the dialogue of each prompt is known among these: its opening; all of it where most of them have the same
    opening, as have examples that stand above every question."""
    openings = [opening(prompt) for prompt in prompts]
    shared = {name for name, count in Counter(openings).items() if 2 * count > len(prompts)}
    return [prompt if name in shared else name for prompt, name in zip(prompts, openings, strict=True)]


def is_in_share(prompt: str, share: str) -> bool:
    """True for the dialogues of a share such as `0-60`, in percent: each has its place by a hash of its opening."""
    place = int.from_bytes(hashlib.sha256(opening(prompt).encode()).digest()[:8], "big") / 2**64
    low, _, high = share.partition("-")
    return int(low) <= 100 * place < int(high)


def for_reading(prompt: str) -> str:
    """A prompt as a person reads it, as the page has it (static/core/texts.js): of a dialogue what the user says; with
    several turns who says what, a line each."""
    if not is_dialogue(prompt):
        return prompt
    spoken = turns(prompt)
    if len(spoken) == 1:
        return spoken[0].content
    return "\n".join(f"{turn.role.title()}: {turn.content}" for turn in spoken)


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


def column_of(columns: Sequence[str], column: str | None, source: str) -> str:
    """The column to read: the wanted one, or the first of COLUMNS that is there, or the only one.

    Raises:
        PromptsUnusable: if it is not there, naming those that are.
    """
    if column is None and len(columns) == 1:
        return columns[0]
    if column in columns:
        return str(column)
    names = {folded(name): name for name in reversed(columns)}
    for name in [folded(column)] if column else COLUMNS:
        if name in names:
            return names[name]
    listing = ", ".join(f"`{str(name)[:60]}`" for name in columns[:20]) or "none"
    lacks = f"no column `{column[:60]}`" if column else f"none of the columns {', '.join(COLUMNS)}"
    raise PromptsUnusable(f"prompts.column: {source} has {lacks}; it has {listing}. Choose one of these.")


def read_of(columns: Sequence[str], chosen: str | None, source: str) -> Read:
    """The column to read and those that belong to it. Raises: PromptsUnusable; see `column_of`."""
    column = column_of(columns, chosen, source)
    names: tuple[str, ...] = (*BELOW, "history", "system") if folded(column) in WITH_OTHERS else ()
    if folded(column) == "text" and "role" in map(folded, columns):
        names = ("role",)  # as in OpenAssistant's tables: a row is a turn
    return Read(column, tuple(name for name in columns if folded(name) in names and name != column))


def prompt_of(value: Any, column: str = TEXT_COLUMN) -> str:
    """The prompt in one value; "" where there is none. Ends where the assistant is to speak, if it is a dialogue.

    Raises:
        NoDialogue: for a value of `chosen` or `rejected`, or a list, that is no dialogue.
    """
    value = unpacked(value)
    if value is None:
        return ""
    if isinstance(value, (list, tuple, Mapping)):
        if isinstance(value, Mapping):
            value = [value]
        spoken = of_messages(value)
        if spoken[-1].role == "assistant":
            spoken.pop()
        if not spoken or spoken[0].role != "user":
            raise NoDialogue
        return text_of(spoken)
    text = cleaned(value)
    if not text.strip():
        return ""
    if text.lstrip("\n").startswith("Assistant:") and "\n\nHuman:" in text:  # see `of_messages`
        text = f"\n\nHuman: \n\n{text.lstrip(chr(10))}"
    if not is_dialogue(text):
        if folded(column) in DIALOGUE_COLUMNS:
            raise NoDialogue
        return text.rstrip(" \t\r")
    try:
        return split_last_answer(text)[0]
    except NoDialogue:  # the human spoke last
        return text_of(turns(text))
