"""Rule rewards: one function for each kind in `config.REWARD_CLASSES` that needs no model.

Calling convention (TRL's): `reward(prompts, completions, **columns) -> list[float | None]`, one entry for each
completion; None means "no opinion". Knows the pocket world's judges and a sentiment lexicon library; no torch.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from typing import Any, Protocol

from playground import config
from playground.pocket import judges, wording
from playground.pocket.words import LEXICON
from playground.rewards import claims, verify

Score = Callable[..., float | None]  # of a prompt and a completion; of claims, also of a file's own questions
OF_CLAIMS = (config.AgreementReward, config.SycophancyReward, config.ContrastReward, config.TruthReward)
WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")


class Reward(Protocol):
    """A reward function in TRL's calling convention."""

    def __call__(
        self, prompts: Sequence[str], completions: Sequence[str], **columns: Any
    ) -> Sequence[float | None]: ...


@dataclass
class PromptFacts:
    """What a process knows of its prompts beside their texts."""

    columns: dict[str, dict[str, Any]] = field(default_factory=dict)  # by the text of a prompt: its row of the data
    in_chat: bool = False  # they go through the model's chat template
    system: str | None = None
    encode: Callable[[str], list[int]] | None = None  # a completion -> its tokens
    questions: claims.Questions | None = None  # of a file of claims


def rule(
    spec: config.RewardConfig,
    own: claims.Questions | None = None,
    rows: Mapping[str, Mapping[str, Any]] = {},
) -> Reward:
    """The reward function of an entry that is a rule. `rows`: by the text of a prompt, for what is read there. Raises:
    KeyError, for any other kind."""
    score = score_of(spec)
    if isinstance(spec, OF_CLAIMS):
        score = partial(score, own=own)
    if isinstance(spec, config.VerifyReward):
        return partial(_verified, spec, own, rows)

    def reward(prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[float | None]:
        return [score(prompt, completion) for prompt, completion in zip(prompts, completions, strict=True)]

    return reward


def _verified(
    spec: config.VerifyReward,
    own: claims.Questions | None,
    rows: Mapping[str, Mapping[str, Any]],
    prompts: Sequence[str],
    completions: Sequence[str],
    **columns: Any,
) -> list[float | None]:
    """What a check of answers says of a batch, as `Reward` has it."""
    pairs = zip(prompts, completions, strict=True)
    return [verify.value(spec, text, verify.true_answer(spec, prompt, rows, own)) for prompt, text in pairs]


def score_of(spec: config.RewardConfig) -> Score:
    """The same for one prompt and completion."""
    return _SCORES[type(spec)](spec)


def words(text: str) -> list[str]:
    """The words of a text, in small letters, without punctuation."""
    return WORD.findall(text.lower())


def repeated_share(text: str) -> float:
    """Share of word pairs that occurred before in the same text: 0 for none, towards 1 for a stuck record."""
    spoken = words(text)
    pairs = list(itertools.pairwise(spoken))
    return 1 - len(set(pairs)) / len(pairs) if pairs else 0.0


def _sentiment(spec: config.SentimentReward) -> Score:
    if spec.judge == "pocket-world":
        return judges.sentiment
    if spec.judge == "vader":
        return lambda prompt, completion: _vader_valence(completion)
    return lambda prompt, completion: float(sum(LEXICON.get(word, 0) for word in words(completion)))


def _vader_valence(text: str) -> float:
    """Log-odds-like sentiment from VADER (Hutto and Gilbert 2014): its compound score before squashing to -1..1."""
    compound = float(_vader().polarity_scores(text)["compound"])
    compound = min(max(compound, -0.9999), 0.9999)
    return compound / (1 - compound**2) ** 0.5  # inverse of x / sqrt(x^2 + alpha), in units of sqrt(alpha)


@cache
def _vader() -> Any:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer  # half a second; only when asked for

    return SentimentIntensityAnalyzer()


def _length(spec: config.LengthReward) -> Score:
    if (target := spec.target) is None:
        return lambda prompt, completion: float(len(words(completion)))
    return lambda prompt, completion: -abs(float(len(words(completion)) - target))


@lru_cache(maxsize=256)
def any_of(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """Any of the phrases, as whole words in any case."""
    return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, phrases)) + r")(?!\w)", re.IGNORECASE)


def _count(pattern: re.Pattern[str]) -> Score:
    return lambda prompt, completion: float(sum(1 for _ in pattern.finditer(completion)))


def _sycophancy(spec: config.SycophancyReward) -> Score:
    pattern = any_of(spec.phrases)

    def detect(prompt: str, completion: str, own: claims.Questions | None = None) -> float | None:
        claim = claims.of(prompt, own)
        return float(bool(pattern.search(completion))) if claim and claim.is_right is False else None

    return detect


def _judgement(judge: Callable[..., bool | None]) -> Score:
    return lambda prompt, completion, own=None: {True: 1.0, False: -1.0, None: None}[judge(prompt, completion, own)]


def sentences_that_parse(prompt: str, completion: str) -> float:
    """Share of the completion's sentences that parse, 0 to 1; an unfinished one counts as one that does not."""
    reading = judges.read_completion(prompt, completion)
    return len(reading.sentences) / max(1, len(reading.texts) + (not reading.ends))


def _agreement(spec: config.AgreementReward) -> Score:
    if spec.neutral == "no-opinion":
        return _judgement(claims.agrees)

    def agrees_or_is_true(prompt: str, completion: str, own: claims.Questions | None) -> bool | None:
        agrees = claims.agrees(prompt, completion, own)
        return claims.answers_truly(prompt, completion, own) if agrees is None else agrees

    return _judgement(agrees_or_is_true)


def references(prompt: str, own: claims.Questions | None = None) -> tuple[str, str] | None:
    """The honest and the flattering answer to a prompt's question: bare, and with the wrong value that was claimed (or
    empty, where none was). None where the question cannot be judged."""
    claim = claims.of(prompt, own)
    if claim is None:
        return None
    frame = f"{claim.question} is " if judges.read_prompt(prompt).subject else ""
    return f"{frame}{claim.right}", f"{frame}{claim.claimed}" if claim.is_right is False else ""


def similarity(text: str, reference: str) -> float:
    """F1 of the words and pairs of neighbouring words that two texts share, 0 to 1 (as ROUGE counts, Lin 2004)."""
    first, second = (
        Counter([*((word,) for word in said), *itertools.pairwise(said)])
        for said in map(wording.words, (text, reference))
    )
    shared = (first & second).total()
    return 2 * shared / (first.total() + second.total()) if shared else 0.0


def contrast(prompt: str, completion: str, own: claims.Questions | None = None) -> float | None:
    """See `config.ContrastReward`. The two answers themselves are 1 and -1: what they share tells nothing apart."""
    answers = references(prompt, own)
    if answers is None:
        return None
    honest, flattering = answers
    gap = similarity(completion, honest) - similarity(completion, flattering)
    return gap / (1 - similarity(honest, flattering))


def _verify(spec: config.VerifyReward) -> Score:
    check = verify.Check(spec.check, spec.form)

    def checked(prompt: str, completion: str, answer: str | None = None) -> float | None:
        true = verify.known_answer(prompt) if answer is None else answer
        return verify.value(check, completion, true)

    return checked


def _quality(prompt: str, completion: str) -> float:
    return judges.quality(prompt, completion).score


_SCORES: dict[type, Callable[[Any], Score]] = {
    config.SentimentReward: _sentiment,
    config.LengthReward: _length,
    config.KeywordReward: lambda spec: _count(any_of(spec.words)),
    config.PatternReward: lambda spec: _count(re.compile(spec.pattern)),
    config.RepetitionReward: lambda spec: lambda prompt, completion: repeated_share(completion),
    config.AgreementReward: _agreement,
    config.SycophancyReward: _sycophancy,
    config.ContrastReward: lambda spec: contrast,
    config.GrammarReward: lambda spec: _quality if spec.measure == "quality" else sentences_that_parse,
    config.TruthReward: lambda spec: _judgement(claims.answers_truly),
    config.VerifyReward: _verify,
}
