"""The engine of the pocket world: one list of templates (templates.txt), written as sentences and compiled to regexes
that parse. `{slot}` stands for one word of a list (see `SLOTS`), `{a_slot}` for it with its article; trailing digits
tell two slots of one list apart."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from playground.pocket import facts, words


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
    for line in Path(__file__).with_name("templates.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            lines = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return sections


def of_family(*families: str) -> list[Template]:
    """All templates of some families, in the order of the file."""
    templates = []
    for heading, texts in _SECTIONS.items():
        family, *marks = heading.split()
        if family in families:
            meaning = {name: MEANINGS[name](value) for name, value in (mark.split("=") for mark in marks)}
            templates += [Template(text, family, **meaning) for text in texts]
    return templates


_SECTIONS = _read()
REVIEW_PROMPT = "Review of the {topic}:"
REVIEWS = of_family("opener", "body", "verdict")
CLAIM = "claim: "  # before the form of what the user says
CLAIM_PROMPTS: dict[str, tuple[str, ...]] = {
    heading.removeprefix(CLAIM): tuple(texts) for heading, texts in _SECTIONS.items() if heading.startswith(CLAIM)
}
ANSWERS = of_family("answer")
STORY_PROMPT = "Story:"
STORIES = of_family("intro", "middle", "ending")
REQUEST_PROMPTS = tuple(_SECTIONS["request"])
REPLIES = of_family("reply")
ALL_TEMPLATES: tuple[Template, ...] = (*REVIEWS, *ANSWERS, *STORIES, *REPLIES)

_SLOT = re.compile(r"\{(\w+)\}")
LONGEST_SENTENCE = 240  # characters; anything longer is no sentence of this world and is not tried (nor cached)


def _distinct(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for group in groups for word in group))


SUBJECTS = tuple(facts.BY_SUBJECT)
SLOTS: dict[str, tuple[str, ...]] = {
    "topic": tuple(words.ASPECTS),
    "aspect": _distinct(words.ASPECTS.values()),
    "adj": _distinct(words.ADJECTIVES.values()),
    "verb": _distinct(words.VERBS.values()),
    "verdict": _distinct(words.VERDICT_NOUNS.values()),
    "very": words.INTENSIFIERS + words.DOUBLED_INTENSIFIERS,
    "do": _distinct([words.TOPIC_VERBS.values()]),
    "did": _distinct([words.TOPIC_PAST_VERBS.values()]),
    "person": words.PERSONS,
    "time": words.TIMES,
    "when": words.MOMENTS,
    "subject": SUBJECTS,
    "Subject": tuple(facts.capitalised(subject) for subject in SUBJECTS),
    "value": facts.ALL_VALUES,
    "name": words.NAMES,
    "he": ("he", "she"),
    "He": ("He", "She"),
    "his": ("his", "her"),
    "him": ("him", "her"),
    "colour": words.COLOURS,
    "thing": words.THINGS,
    "place": words.PLACES,
    "animal": words.ANIMALS,
    "manner": words.MANNERS,
    "Manner": tuple(facts.capitalised(word) for word in words.MANNERS),
    "moved": words.MOVES,
    "acted": words.ACTIONS,
    "kind": words.KINDS,
    "trait": words.TRAITS,
    "which": words.WHICH,
    "daytime": words.DAYTIMES,
    "happy": words.MOODS[1],
    "sad": words.MOODS[-1],
    "item": words.ITEMS,
    "surface": words.SURFACES,
}


def with_article(word: str) -> str:
    """ "a dull", "an awful"; "useless" is said with a y sound, and so takes "a"."""
    if word[0] in "aeiou" and word != "useless":
        return f"an {word}"
    return f"a {word}"


def slot_words(slot: str) -> tuple[str, ...]:
    """All texts that may fill a slot: "adj2" takes a word of SLOTS["adj"], "a_adj" the same with its article."""
    kind = slot.rstrip("0123456789")
    if kind[:2].lower() == "a_":
        bare = tuple(with_article(word) for word in SLOTS[kind[2:]])
        if kind[0] == "a":
            return bare
        return tuple(facts.capitalised(text) for text in bare)
    return SLOTS[kind]


@cache
def slots_of(text: str) -> tuple[str, ...]:
    return _split(text)[1::2]


def bare_slot(slot: str) -> str:
    """The slot's name without its article: "a_adj2" -> "adj2"; bindings use this name."""
    if slot[:2].lower() == "a_":
        return slot[2:]
    return slot


def render(text: str, bindings: dict[str, str]) -> str:
    """The template's text with every slot replaced by its bound word (and its article, where the slot asks for one)."""

    parts = list(_split(text))
    for index in range(1, len(parts), 2):
        slot, word = parts[index], bindings[bare_slot(parts[index])]
        if slot[:2].lower() == "a_":
            word = with_article(word) if slot[0] == "a" else facts.capitalised(with_article(word))
        parts[index] = word
    return "".join(parts)


@cache
def _split(text: str) -> tuple[str, ...]:
    """Text and slots by turns, text first and last."""
    return tuple(_SLOT.split(text))


@cache
def pattern(text: str) -> re.Pattern[str]:
    """The regex that matches exactly what `render` can write for this template, one group per slot."""
    parts = [re.escape(part) for part in _split(text)]
    for index, slot in enumerate(slots_of(text)):
        choices = "|".join(re.escape(word) for word in sorted(slot_words(slot), key=len, reverse=True))
        parts[2 * index + 1] = f"(?P<{slot}>{choices})"
    return re.compile("".join(parts))


class Sentence(NamedTuple):
    template: Template
    words: dict[str, str]  # bare slot -> word, articles removed

    @property
    def family(self) -> str:
        return self.template.family

    def of(self, kind: str) -> list[str]:
        """The words in all slots of one kind, in order: of("adj") gives those of adj and adj2."""
        return [word for slot, word in self.words.items() if slot.rstrip("0123456789") == kind]


@cache
def _templates_by_first_word() -> dict[str, list[Template]]:
    """First word of a sentence -> the templates that may begin with it, so that few regexes are made and tried."""
    index: dict[str, list[Template]] = {}
    for template in ALL_TEMPLATES:
        head = template.text.split(" ")[0]
        slots = slots_of(head)
        starts = [head.replace(f"{{{slots[0]}}}", word) for word in slot_words(slots[0])] if slots else [head]
        for first in dict.fromkeys(start.split(" ")[0] for start in starts):
            index.setdefault(first, []).append(template)
    return index


def parse_sentence(sentence: str) -> Sentence | None:
    """The one sentence of this world that `sentence` is, word for word, or None."""
    if len(sentence) <= LONGEST_SENTENCE:
        return _parse(sentence)
    return None


@lru_cache(maxsize=1 << 16)
def _parse(sentence: str) -> Sentence | None:
    for template in _templates_by_first_word().get(sentence.split(" ")[0], ()):
        if match := pattern(template.text).fullmatch(sentence):
            texts = match.groupdict()
            bound = {bare_slot(slot): _without_article(slot, text) for slot, text in texts.items()}
            return Sentence(template, bound)
    return None


def _without_article(slot: str, text: str) -> str:
    if slot == bare_slot(slot):
        return text
    return text.split(" ", 1)[1]
