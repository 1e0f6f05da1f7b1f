"""The sentence templates of the pocket world: one list (templates.txt), used to write sentences and to recognise them.

`{slot}` stands for one word of a list (see `grammar.SLOTS`); trailing digits only tell two slots of one list apart, and
`{a_slot}` is the word with its article. A template knows its meaning (sign, contrast, tone), never a document.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Template:
    """One sentence with slots."""

    text: str
    family: str  # where it may stand: opener, body, verdict, intro, middle, ending, answer, reply
    grade: int | None = None  # the sentiment of the whole sentence, where the words do not decide it
    negated: bool = False  # "was not {adj}": the sign of the word is flipped
    contrast: bool = False  # only the slots of the second half count (adj2, verb2, verdict2)
    tone: str = ""  # of an answer (agree, correct, bare) or a reply (polite, curt)
    needs: str = ""  # "two" people, for a sentence of a story


MEANINGS: dict[str, Callable[[str], Any]] = {"grade": int, "negated": bool, "contrast": bool, "tone": str, "needs": str}


def _read() -> dict[str, list[str]]:
    """Heading in brackets -> the lines below it."""
    sections: dict[str, list[str]] = {}
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            lines = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return sections


def _of(*families: str) -> list[Template]:
    """All templates of some families, in the order of the file."""
    found = []
    for heading, texts in _SECTIONS.items():
        family, *marks = heading.split()
        if family in families:
            meaning = {name: MEANINGS[name](value) for name, value in (mark.split("=") for mark in marks)}
            found += [Template(text, family, **meaning) for text in texts]
    return found


_SECTIONS = _read()
REVIEW_PROMPT = "Review of the {topic}:"
REVIEWS = _of("opener", "body", "verdict")
CLAIM = "claim: "  # before the form of what the user says
CLAIM_PROMPTS: dict[str, tuple[str, ...]] = {
    heading.removeprefix(CLAIM): tuple(texts) for heading, texts in _SECTIONS.items() if heading.startswith(CLAIM)
}
ANSWERS = _of("answer")
STORY_PROMPT = "Story:"
STORIES = _of("intro", "middle", "ending")
REQUEST_PROMPTS = tuple(_SECTIONS["request"])
REPLIES = _of("reply")
ALL_TEMPLATES: tuple[Template, ...] = (*REVIEWS, *ANSWERS, *STORIES, *REPLIES)
