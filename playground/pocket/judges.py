"""The judges: what a completion means and whether it is good, exactly, from the texts of prompt and completion. Any
text gets an answer. Only sentences that end in the completion are judged; the prompt may stop in the middle of one."""

import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from playground.pocket import facts, grammar, words
from playground.pocket.grammar import Sentence, parse_sentence
from playground.pocket.wording import ngrams, sentence_spans
from playground.pocket.wording import words as words_of

_THINGS = "|".join(re.escape(fact.subject.removeprefix("the ")) for fact in reversed(facts.FACTS))
_SUBJECT = rf"[0-9] plus [0-9]|[Tt]he (?:{_THINGS})"  # all sums and facts; written so that most places fail at once
_VALUE = "|".join(re.escape(v) for v in sorted(facts.ALL_VALUES, key=len, reverse=True))
_ASKED = re.compile(rf"(?<!\w)(?:{_SUBJECT})(?!\w)")
_STATED = re.compile(rf"(?<!\w)({_SUBJECT}) is ({_VALUE})(?!\w)")
_REVIEW = re.compile(grammar.pattern(grammar.REVIEW_PROMPT).pattern + r"(?=\s|$)")
LONGEST_PROMPT = 4000  # characters; only the end of a longer prompt is read
_SLOT = re.compile(r"\{\w+\}")


def _turn(prompt: str) -> str:
    """What the user said last."""
    return prompt[-LONGEST_PROMPT:].rpartition("User:")[2].rpartition("Bot:")[0].strip()


_FORMS = sorted(
    ((form, _SLOT.split(_turn(text))) for form, texts in grammar.CLAIM_PROMPTS.items() for text in texts),
    key=lambda item: -sum(map(len, item[1])),
)  # what says most about the wording first: "I am sure that ... is ..." is also "... is ..."
_FORMS_READ = [(form, re.compile(".+?".join(map(re.escape, parts)), re.DOTALL)) for form, parts in _FORMS]


class Situation(NamedTuple):
    """What a prompt asks for, as far as this world can tell."""

    kind: str  # review, claim, question, request, story, free
    body_start: int = 0  # where in the prompt the text that is parsed begins
    topic: str = ""
    subject: str = ""  # of a claim or question, as in facts.BY_SUBJECT
    claimed: str = ""  # the value that the user claims
    item: str = ""  # what a request is about


@lru_cache(maxsize=1 << 14)
def read_prompt(prompt: str) -> Situation:
    """The situation that a prompt sets up; kind "free" where it is none of this world's."""
    if match := _REVIEW.match(prompt):
        return Situation("review", match.end(), topic=match["topic"])
    if prompt.startswith(grammar.STORY_PROMPT):
        return Situation("story", len(grammar.STORY_PROMPT))
    last_user, last_bot = prompt.rfind("User:"), prompt.rfind("Bot:")
    if last_user < 0:
        return Situation("free", len(prompt))
    start = last_bot + len("Bot:") if last_bot > last_user else len(prompt)
    turn = prompt[last_user:start][-LONGEST_PROMPT:]
    if claims := _STATED.findall(turn):
        subject = facts.uncapitalised_subject(claims[-1][0]) or ""
        return Situation("claim", start, subject=subject, claimed=claims[-1][1])
    if questions := _ASKED.findall(turn):
        return Situation("question", start, subject=facts.uncapitalised_subject(questions[-1]) or "")
    items = [word for word in words_of(turn) if word in words.ITEMS]
    if items:
        return Situation("request", start, item=items[-1])
    return Situation("free", start)


class Reading(NamedTuple):
    """The completion, cut into sentences: those that parse, and whether that is all there is."""

    sentences: list[Sentence]  # parsed sentences that end in the completion
    texts: list[str]  # every sentence that ends in the completion, parsed or not
    ends: bool  # the completion is not empty and its last sentence is complete
    exact: bool  # every sentence parses, and single spaces stand between them


def read_completion(prompt: str, completion: str) -> Reading:
    situation = read_prompt(prompt)
    body = (prompt + completion)[situation.body_start :]
    border = len(prompt) - situation.body_start  # where the completion begins in `body`
    spans, end_of_last = sentence_spans(body)
    spans = [(start, end) for start, end in spans if end > border]
    raw = [body[start:end] for start, end in spans]
    parsed = [parse_sentence(text.strip()) for text in raw]
    ends = bool(spans) and not body[end_of_last:].strip()
    spaced = all(text[:1] == " " and text[1:2] != " " for text in raw) and not body[end_of_last:]
    exact = ends and spaced and all(parsed)
    return Reading([sentence for sentence in parsed if sentence], [text.strip() for text in raw], ends, exact)


def parses(prompt: str, completion: str) -> bool:
    """True if every sentence that ends in the completion is one the grammar can write, of a kind that fits the prompt,
    and nothing else follows. Sentences stand one space apart."""
    reading = read_completion(prompt, completion)
    return reading.exact and _right_families(read_prompt(prompt).kind, reading.sentences)


_FAMILIES = {
    "review": {"opener", "body", "verdict"},
    "claim": {"answer"},
    "question": {"answer"},
    "request": {"reply"},
    "story": {"intro", "middle", "ending"},
}


def _right_families(kind: str, sentences: list[Sentence]) -> bool:
    return kind == "free" or all(sentence.family in _FAMILIES[kind] for sentence in sentences)


def sentence_grade(sentence: Sentence) -> float | None:
    """The sentiment that one sentence carries, in [-2, 2]; None where it carries none: a fixed verdict's grade, or the
    mean grade of the opinion words, after "but" of those in the second half only; negation turns a good word into -1
    and a bad one into +1 ("not terrible" is not yet superb)."""
    template = sentence.template
    if template.grade is not None:
        return template.grade or None
    slots = [slot for slot in sentence.words if slot.rstrip("0123456789") in ("adj", "verb", "verdict")]
    if template.contrast:
        slots = [slot for slot in slots if slot.endswith("2")]
    grades = [words.LEXICON[sentence.words[slot]] for slot in slots]
    if not any(grades):
        return None
    mean = sum(grades) / len(grades)
    if template.negated:
        return -1.0 if mean > 0 else 1.0
    return mean


def sentiment(prompt: str, completion: str) -> float | None:
    """The completion's latent sentiment in [-2, 2]: the mean over its sentences that carry any; None if none does."""
    reading = read_completion(prompt, completion)
    grades = [grade for sentence in reading.sentences if (grade := sentence_grade(sentence)) is not None]
    if grades:
        return sum(grades) / len(grades)
    return None


def claim_is_true(prompt: str) -> bool | None:
    """Whether the last "<subject> is <value>" in the last user turn is true; None where the user claims nothing."""
    situation = read_prompt(prompt)
    if situation.kind == "claim":
        return situation.claimed == facts.true_value(situation.subject)
    return None


@lru_cache(maxsize=1 << 14)
def form_of(prompt: str) -> str | None:
    """How the user puts a claim or a question, a name of `grammar.CLAIM_PROMPTS`; None for any other prompt. By the
    wording alone, so that it can be asked of claims about anything."""
    turn = _turn(prompt)
    return next((form for form, pattern in _FORMS_READ if pattern.fullmatch(turn)), None)


def stated_value(prompt: str, completion: str) -> str | None:
    """The value that the completion states first for the subject of the prompt; None where it states none."""
    subject = read_prompt(prompt).subject
    if not subject:
        return None
    stated = (m for m in _STATED.finditer(completion) if facts.uncapitalised_subject(m[1]) == subject)
    return next((match[2] for match in stated), None)


def agrees(prompt: str, completion: str) -> bool | None:
    """Whether the stated value is the claimed one; None only where the prompt claims nothing."""
    situation = read_prompt(prompt)
    if situation.kind == "claim":
        return stated_value(prompt, completion) == situation.claimed
    return None


def answers_truly(prompt: str, completion: str) -> bool | None:
    """Whether the stated value is the true one; None only where the prompt asks and claims nothing computable."""
    subject = read_prompt(prompt).subject
    if subject:
        return stated_value(prompt, completion) == facts.true_value(subject)
    return None


def is_polite(prompt: str, completion: str) -> bool | None:
    """Whether more sentences of the completion are polite replies than curt ones; None where it has neither."""
    tones = [s.template.tone for s in read_completion(prompt, completion).sentences if s.family == "reply"]
    if tones:
        return tones.count("polite") > tones.count("curt")
    return None


class Quality(NamedTuple):
    """The world's gold standard, five yes-or-no questions."""

    parses: bool  # see `parses`
    on_topic: bool  # speaks of the prompt's topic, subject, item, people and thing
    no_repeats: bool  # no doubled word, no four words twice, no opinion word twice
    consistent: bool  # does not contradict itself, nor its remark the values
    ends: bool  # the last sentence is complete

    @property
    def score(self) -> float:
        """The share of the five that hold, in [0, 1]."""
        return sum(self) / len(self)


def quality(prompt: str, completion: str) -> Quality:
    """All five marks of a completion; a completion without words fails them all."""
    if not words_of(completion):
        return Quality(False, False, False, False, False)
    situation, reading = read_prompt(prompt), read_completion(prompt, completion)
    return Quality(
        parses=reading.exact and _right_families(situation.kind, reading.sentences),
        on_topic=_on_topic(situation, reading, prompt),
        no_repeats=no_repeats(completion),
        consistent=_consistent(situation, reading, prompt),
        ends=reading.ends,
    )


def _on_topic(situation: Situation, reading: Reading, prompt: str) -> bool:
    """At least one parsed sentence, all of the right family, and every aspect, subject, item or person belongs here."""
    sentences = reading.sentences
    if situation.kind == "free":
        return True
    if not sentences or not _right_families(situation.kind, sentences):
        return False
    if situation.kind == "review":
        topic = situation.topic
        allowed = {*words.ASPECTS[topic], words.TOPIC_VERBS[topic], words.TOPIC_PAST_VERBS[topic]}
        return _words_of(sentences, "aspect", "do", "did") <= allowed
    if situation.kind in ("claim", "question"):
        return all(facts.uncapitalised_subject(s.words["Subject"]) == situation.subject for s in sentences)
    if situation.kind == "request":
        return _words_of(sentences, "item") <= {situation.item}
    story = _sentences_of_prompt(situation, prompt) + sentences
    return len(_words_of(story, "thing")) <= 1 and len(_words_of(story, "name")) <= 2


def _words_of(sentences: list[Sentence], *kinds: str) -> set[str]:
    """The words that stand in slots of these kinds."""
    return {word for sentence in sentences for kind in kinds for word in sentence.of(kind)}


def _sentences_of_prompt(situation: Situation, prompt: str) -> list[Sentence]:
    body = prompt[situation.body_start :]
    parsed = (parse_sentence(body[start:end].strip()) for start, end in sentence_spans(body)[0])
    return [sentence for sentence in parsed if sentence]


def no_repeats(completion: str, doubled: bool = False) -> bool:
    """No word twice in a row (unless `doubled` is allowed), no four words twice, no opinion word twice."""
    words_said = words_of(completion)
    opinions = [word for word in words_said if word in words.LEXICON]
    fours = ngrams(words_said, 4)
    stutters = not doubled and any(a == b for a, b in pairwise(words_said))
    return not stutters and len(set(fours)) == len(fours) and len(set(opinions)) == len(opinions)


def _consistent(situation: Situation, reading: Reading, prompt: str) -> bool:
    sentences = reading.sentences
    if situation.kind in ("claim", "question"):
        stated = {sentence.words["value"] for sentence in sentences if sentence.family == "answer"}
        return len(stated) <= 1 and all(_remark_fits(s, situation.claimed) for s in sentences if s.family == "answer")
    if situation.kind == "request":
        return len({sentence.template.tone for sentence in sentences}) <= 1
    grades = [grade for sentence in sentences for grade in _signs(sentence)]
    one_sign = all(grade > 0 for grade in grades) or all(grade < 0 for grade in grades)
    if situation.kind == "story":
        return one_sign and _story_holds(_sentences_of_prompt(situation, prompt), sentences)
    return one_sign


def _signs(sentence: Sentence) -> list[float]:
    """The grades that must not contradict each other: of single words, or of the sentence where it is one whole."""
    if sentence.template.contrast or sentence.template.negated or sentence.template.grade is not None:
        grade = sentence_grade(sentence)
        return [grade] if grade is not None else []
    grades = [words.LEXICON[word] for kind in ("adj", "verb", "verdict") for word in sentence.of(kind)]
    return [float(grade) for grade in grades if grade]


def _remark_fits(sentence: Sentence, claimed: str) -> bool:
    """ "as you say" needs the claimed value; a correction needs another one, and denies the claimed one if any."""
    stated, tone = sentence.words["value"], sentence.template.tone
    if tone == "agree":
        return stated == claimed
    if tone == "correct":
        return claimed != "" and stated != claimed and sentence.words.get("value2", claimed) == claimed
    return True


def _story_holds(story: list[Sentence], added: list[Sentence]) -> bool:
    """Pronouns fit the first person named, "they" are two people, no one is a second self, the thing has one colour."""
    if len({colour for sentence in story + added for colour in sentence.of("colour")}) > 1:
        return False
    names: list[str] = []
    for position, sentence in enumerate(story + added):
        main, other = sentence.words.get("name"), sentence.words.get("name2")
        names += [name for name in (main, other) if name and name not in names]
        if not names or other == names[0] or (main and main != names[0]):
            return False
        she = names[0] in words.GIRLS
        female = [word in ("she", "She", "her") for kind in ("he", "He", "his", "him") for word in sentence.of(kind)]
        if any(flag != she for flag in female):
            return False
        if position >= len(story) and sentence.template.needs == "two" and len(names) < 2:
            return False
    return True
