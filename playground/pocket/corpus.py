"""The pocket corpus: seeded, endless documents (a prompt and its completion), made from the grammar's sentences. Each
keeps one latent meaning; a few percent carry a bad habit, which a policy under pressure can fall into."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from playground.pocket import facts, grammar, judges, words
from playground.pocket.grammar import Template, render, slots_of
from playground.pocket.wording import words as words_of

MIX = {"review": 0.40, "claim": 0.34, "story": 0.15, "request": 0.11}
HABITS = {"typo": 0.006, "repeat": 0.007, "run_on": 0.006}
LATENTS = {2: 0.15, 1: 0.35, -1: 0.35, -2: 0.15}
MIXED_SHARE = 0.12  # reviews with one "but"
DOUBLED_SHARE = 0.02  # of intensifiers: "very very"
RIGHT_CLAIMS = 0.5
AGREEMENT_WITH_WRONG_CLAIMS = 0.5
# Completions stay within 32 tokens: at most so many words and marks (stories have longer words), and characters.
LONGEST_COMPLETION = {"review": 23, "claim": 23, "story": 19, "request": 18}
MOST_LETTERS = 118


class Document(NamedTuple):
    kind: str  # review, claim, story, request
    prompt: str
    completion: str
    habit: str | None = None  # typo, repeat or run_on: does not parse

    @property
    def text(self) -> str:
        return self.prompt + self.completion


def _choice(rng: random.Random, weights: dict):
    return rng.choices(list(weights), list(weights.values()))[0]


_OPENERS = grammar.of_family("opener")
_BODIES = grammar.of_family("body")
_PLAIN_BODIES = [t for t in _BODIES if not t.contrast]
_CONTRASTS = [t for t in _BODIES if t.contrast]
_VERDICTS = grammar.of_family("verdict")
_GRADED = {"adj": words.ADJECTIVES, "verb": words.VERBS, "verdict": words.VERDICT_NOUNS}
_VERBS = {"do": words.TOPIC_VERBS, "did": words.TOPIC_PAST_VERBS}


class _Reviewer:
    """Fills the slots of one review: one topic, one latent sentiment, no aspect and no opinion word twice."""

    def __init__(self, rng: random.Random, topic: str, latent: int) -> None:
        self.rng, self.topic, self.latent = rng, topic, latent
        self.aspects = rng.sample(words.ASPECTS[topic], len(words.ASPECTS[topic]))
        self.used: set[str] = set()

    def _fresh(self, kind: str, grade: int) -> list[str]:
        return [word for word in _GRADED[kind][grade] if word not in self.used]

    def opinion(self, kind: str, sign: int, neutral: bool) -> str:
        """A fresh word of the latent's strength most of the time, sometimes neutral or of the other strength."""
        strength, draw = abs(self.latent), self.rng.random()
        if neutral and kind == "adj" and draw < 0.10:
            strength = 0
        elif draw > 0.88:
            strength = 3 - strength
        fresh = self._fresh(kind, sign * strength)
        if not fresh:
            fresh = self._fresh(kind, sign) + self._fresh(kind, 2 * sign)
        word = self.rng.choice(fresh)
        self.used.add(word)
        return word

    def sentence(self, template: Template, first: bool = False) -> tuple[str, int]:
        """The sentence, and where in it the first opinion begins (looked up in a `first` sentence only, else 0)."""
        sign = 1 if self.latent > 0 else -1
        bound: dict[str, str] = {}
        for slot in map(grammar.bare_slot, slots_of(template.text)):
            kind = slot.rstrip("0123456789")
            if kind in _GRADED:
                counts = slot.endswith("2") if template.contrast else not template.negated
                single = first or template.negated or template.contrast
                bound[slot] = self.opinion(kind, sign if counts else -sign, neutral=not single)
            elif kind == "aspect":
                bound[slot] = self.aspects.pop()
            elif kind == "very":
                doubled = self.rng.random() < DOUBLED_SHARE
                bound[slot] = self.rng.choice(words.DOUBLED_INTENSIFIERS if doubled else words.INTENSIFIERS)
            elif kind in _VERBS:
                bound[slot] = _VERBS[kind][self.topic]
            else:
                bound[slot] = self.rng.choice(grammar.SLOTS[kind])
        return render(template.text, bound), _before_opinion(template, bound) if first else 0


def _before_opinion(template: Template, bound: dict[str, str]) -> int:
    graded = (slot for slot in slots_of(template.text) if grammar.bare_slot(slot).rstrip("0123456789") in _GRADED)
    slot = next(graded, None)
    return len(render(template.text.partition(f"{{{slot}}}")[0], bound))


def _review(rng: random.Random) -> Document:
    """Opener(s), one to four opinions, perhaps a verdict; the prompt ends before the first opinion word."""
    topic, latent = rng.choice(list(words.ASPECTS)), _choice(rng, LATENTS)
    reviewer = _Reviewer(rng, topic, latent)
    prompt = render(grammar.REVIEW_PROMPT, {"topic": topic})
    form = rng.choices(["bare", "opener", "middle"], [25, 35, 40])[0]
    if form == "opener" or (form == "middle" and rng.random() < 0.2):
        prompt += " " + reviewer.sentence(rng.choice(_OPENERS))[0]
    mixed = rng.random() < MIXED_SHARE
    first, opinion_start = reviewer.sentence(rng.choice(_CONTRASTS if mixed else _PLAIN_BODIES), first=True)
    completion = " " + first
    if form == "middle":
        cut = _cut(rng, first, opinion_start)
        prompt, completion = f"{prompt} {first[:cut]}".rstrip(), first[cut:]
    elif form == "bare" and rng.random() < 0.4:
        completion = f" {reviewer.sentence(rng.choice(_OPENERS))[0]}{completion}"
    for template in rng.sample(_PLAIN_BODIES, rng.choices([0, 1, 2, 3], [30, 43, 22, 5])[0]):
        completion = _longer(completion, reviewer.sentence(template)[0])
    if rng.random() < 0.5:
        completion = _longer(completion, _verdict(rng, reviewer))
    return Document("review", prompt, completion)


def _cut(rng: random.Random, sentence: str, opinion_start: int) -> int:
    """A space of the sentence at which its sentiment is still open: mostly the last one before the opinion."""
    spaces = [i for i, letter in enumerate(sentence[:opinion_start]) if letter == " "] or [0]
    if spaces == [0] or rng.random() < 0.6:
        return spaces[-1]
    return rng.choice(spaces)


def _verdict(rng: random.Random, reviewer: _Reviewer) -> str:
    draw, grade = rng.random(), reviewer.latent
    if draw < 0.08:
        grade = 0
    elif draw < 0.2:
        grade = (3 - abs(grade)) * (1 if grade > 0 else -1)
    return reviewer.sentence(rng.choice([t for t in _VERDICTS if t.grade == grade]))[0]


def _longer(completion: str, sentence: str, kind: str = "review") -> str:
    """The completion with one more sentence, if it stays short enough and does not repeat itself."""
    longer = f"{completion} {sentence}"
    if _fits(longer, kind):
        return longer
    return completion


def _fits(completion: str, kind: str) -> bool:
    length = len(words_of(completion)) + sum(completion.count(mark) for mark in ".,!?")
    return (
        length <= LONGEST_COMPLETION[kind]
        and len(completion) <= MOST_LETTERS
        and judges.no_repeats(completion, doubled=True)
    )


CLAIM_FORMS = {"neutral": 30, "plain": 24, "sure": 14, "expert": 13, "friend": 9, "two-turn": 10}


def claim(rng: random.Random, form: str | None = None, right: bool | None = None, about: str | None = None) -> Document:
    """A question or a claim, right or wrong, of a form of CLAIM_FORMS, about "sums" or "facts"; and an answer that is
    true, or agrees with what was claimed."""
    about = about or rng.choice(("sums", "facts"))
    fact = rng.choice(facts.SUMS if about == "sums" else facts.FACTS)
    form = form or _choice(rng, CLAIM_FORMS)
    if right is None:
        right = rng.random() < RIGHT_CLAIMS
    if form == "two-turn":
        form = "two-turn, assent" if right else "two-turn, doubt"
    claimed = fact.value
    if not right and form != "neutral":
        claimed = _wrong_value(rng, fact)
    bound = {"subject": fact.subject, "Subject": facts.capitalised(fact.subject), "value": claimed, "true": fact.value}
    prompt = render(rng.choice(grammar.CLAIM_PROMPTS[form]), {**bound, "person": rng.choice(words.PERSONS)})
    agreed = claimed == fact.value or rng.random() < AGREEMENT_WITH_WRONG_CLAIMS
    tone = "agree" if agreed else "correct"
    if form == "neutral" or rng.random() < 0.15:
        tone = "bare"
    answer = rng.choice([template for template in grammar.ANSWERS if template.tone == tone])
    stated = {"value": claimed if agreed else fact.value, "value2": claimed}
    return Document("claim", prompt, " " + render(answer.text, bound | stated))


def _wrong_value(rng: random.Random, fact: facts.Fact) -> str:
    """Another value of the same category; for sums one near the truth."""
    values = [value for value in facts.VALUES[fact.category] if value != fact.value]
    if fact.category == "sum":
        values = [value for value in values if abs(int(value) - int(fact.value)) <= 3]
    return rng.choice(values)


def slip(rng: random.Random, prompt: str, answer: str) -> str | None:
    """A true answer with another value of the same kind in its place; None where the answer is not true."""
    if not judges.answers_truly(prompt, answer):
        return None
    fact = facts.BY_SUBJECT[judges.read_prompt(prompt).subject]
    other = rng.choice([value for value in facts.VALUES[fact.category] if value != fact.value])
    return answer.replace(f" is {fact.value}", f" is {other}", 1)


_INTROS = grammar.of_family("intro")
_MIDDLES = grammar.of_family("middle")
_PRONOUNS = (("he", "He", "his", "him"), ("she", "She", "her", "her"))  # of a boy, of a girl
_ENDINGS = {sign: [t for t in grammar.of_family("ending") if t.grade == sign] for sign in (1, -1)}


def _story(rng: random.Random) -> Document:
    """A person and a thing; one to three turns; an ending that is happy or sad."""
    girl = rng.random() < 0.5
    name, other = rng.sample(words.GIRLS, 2) if girl else rng.sample(words.BOYS, 2)
    if rng.random() < 0.5:
        other = rng.choice(words.BOYS if girl else words.GIRLS)
    cast = dict(zip(("he", "He", "his", "him"), _PRONOUNS[girl], strict=True))
    cast |= {"name": name, "name2": other, "thing": rng.choice(words.THINGS), "colour": rng.choice(words.COLOURS)}

    def said(template: Template) -> str:
        drawn: dict[str, str] = {}
        for slot in map(grammar.bare_slot, slots_of(template.text)):
            if slot not in cast:
                drawn[slot] = rng.choice([word for word in grammar.slot_words(slot) if word not in drawn.values()])
        return render(template.text, cast | drawn)

    prompt = f"{grammar.STORY_PROMPT} {said(rng.choice(_INTROS))}"
    completion, two = "", False
    sign = rng.choice((1, -1))
    for template in rng.sample(_MIDDLES, rng.choices([1, 2], [55, 45])[0]):
        if template.needs != "two" or two:
            completion = _longer(completion, said(template), "story") if completion else f" {said(template)}"
            two = two or other in completion
    ending = said(rng.choice([t for t in _ENDINGS[sign] if t.needs != "two" or two]))
    return Document("story", prompt, f"{completion} {ending}" if completion else f" {ending}")


def _request(rng: random.Random) -> Document:
    """A polite request, and an answer that is polite or curt."""
    item = rng.choice(words.ITEMS)

    def say(text: str) -> str:
        drawn = {slot: rng.choice(grammar.slot_words(slot)) for slot in slots_of(text)}
        return render(text, drawn | {"item": item})

    tone = rng.choice(("polite", "curt"))
    replies = [template for template in grammar.REPLIES if template.tone == tone]
    completion = ""
    for template in rng.sample(replies, rng.choices([1, 2], [55, 45])[0]):
        completion = _longer(completion, say(template.text), "request") if completion else " " + say(template.text)
    return Document("request", say(rng.choice(grammar.REQUEST_PROMPTS)), completion)


def _with_habit(rng: random.Random, document: Document, habit: str) -> Document:
    """The document with one bad habit; unchanged where the habit would not show (it still parses)."""
    spoilt = {"typo": _typo, "repeat": _repeat, "run_on": _run_on}[habit](rng, document.completion)
    if judges.parses(document.prompt, spoilt):
        return document
    return document._replace(completion=spoilt, habit=habit)


def _typo(rng: random.Random, completion: str) -> str:
    """One long word with two neighbouring letters swapped, one lost, or one doubled."""
    parts = completion.split(" ")
    places = [i for i, part in enumerate(parts) if len(part) > 4]
    if places:
        index, at = rng.choice(places), rng.randrange(1, 3)
        word = parts[index]
        before, letter, after = word[:at], word[at], word[at + 1 :]
        swapped = before + after[0] + letter + after[1:]
        lost = before + after
        doubled = before + letter * 2 + after
        parts[index] = rng.choice((swapped, lost, doubled))
    return " ".join(parts)


def _repeat(rng: random.Random, completion: str) -> str:
    """One word said twice, or three times."""
    parts = completion.split(" ")
    places = [i for i, part in enumerate(parts) if part.isalnum()]
    if places:
        index = rng.choice(places)
        parts[index:index] = [parts[index]] * rng.choice((1, 1, 2))
    return " ".join(parts)


def _run_on(rng: random.Random, completion: str) -> str:
    """All sentences in one breath, with "and" between them and no full stop."""
    first, *following = (sentence.strip(" .!?") for sentence in completion.split(". "))
    joined = " and ".join([first, *map(_lowered, following)])
    if completion.startswith(" "):
        joined = f" {joined}"
    if rng.random() < 0.3:
        joined += " and"
    return joined


def _lowered(sentence: str) -> str:
    """As it goes on in the middle of another one."""
    if sentence.startswith("I ") or sentence[:1].isdigit():
        return sentence
    return sentence[:1].lower() + sentence[1:]


_MAKERS = {"review": _review, "claim": claim, "story": _story, "request": _request}


def document(rng: random.Random, kind: str | None = None, habits: bool = True) -> Document:
    """One document of the given kind, or of a kind drawn from MIX."""
    make = _MAKERS[kind or _choice(rng, MIX)]
    draft = make(rng)
    while not _fits(draft.completion, draft.kind):
        draft = make(rng)
    draw, threshold = rng.random(), 0.0
    for habit, share in HABITS.items() if habits else ():
        threshold += share
        if draw < threshold:
            return _with_habit(rng, draft, habit)
    return draft


def documents(seed: int | str, kind: str | None = None, habits: bool = True) -> Iterator[Document]:
    """The endless corpus of one seed, the same on every machine."""
    rng = random.Random(f"pocket corpus {seed}")
    while True:
        yield document(rng, kind, habits)
