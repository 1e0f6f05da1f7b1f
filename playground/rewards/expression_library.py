"""What the functions of an expression compute; `config.expression_functions` says what they take and give.

All of them are bounded in time by the length of what they read. `expressions` calls them; torch is not needed.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import time
from collections.abc import Callable
from typing import Any

from playground import config
from playground.config import patterns
from playground.rewards import rules

MAX_MATCHES = 1000
MAX_VADER = 4000  # characters; its time grows with the square of the text
SECONDS_PER_SEARCH = 0.1  # for all matches of a pattern in one text
_SENTENCE = re.compile(r"[.!?]+")


class Clock:
    """Tells when so many seconds of this thread's own computing are over: a busy machine is nobody's fault."""

    def __init__(self, seconds: float) -> None:
        self._latest = time.thread_time() + seconds
        self._earliest = time.monotonic() + seconds  # no earlier can it be; and this clock is quick to read

    def is_over(self) -> bool:
        """True when the time is up."""
        return time.monotonic() > self._earliest and time.thread_time() > self._latest


@functools.lru_cache(maxsize=256)
def _pattern(pattern: str) -> Any:
    return patterns.linear(pattern)


def _matches(text: str, pattern: str) -> bool:
    return _pattern(pattern).search(text.encode("utf-8", "replace")) is not None


def _matches_count(text: str, pattern: str) -> int:
    found, clock = 0, Clock(SECONDS_PER_SEARCH)
    for _ in itertools.islice(_pattern(pattern).finditer(text.encode("utf-8", "replace")), MAX_MATCHES):
        found += 1
        if clock.is_over():  # each search is linear, but a thousand of them may look at all of the text
            raise TimeoutError
    return found


def _count(text: str, part: str) -> float:
    return float(text.count(part)) if part else 0.0


@functools.lru_cache(maxsize=256)
def _keyword_reward(words: tuple[str, ...]) -> rules.Reward:
    return rules.rule(config.KeywordReward(words=words))


def _keywords(text: str, *words: str) -> float:
    return float(_alone(_keyword_reward(words), "", text))


def _distinct(text: str) -> float:
    spoken = rules.words(text)
    return len(set(spoken)) / len(spoken) if spoken else 0.0


def _overlap(text: str, other: str) -> float:
    spoken = set(rules.words(text))
    return len(spoken & set(rules.words(other))) / len(spoken) if spoken else 0.0


def _clip(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


def _round(x: float, digits: float = 0.0) -> float:
    return round(x, int(min(max(digits, 0), 15)))


def _alone(reward: rules.Reward, prompt: str, completion: str) -> Any:
    return reward(prompts=[prompt], completions=[completion])[0]


def _of_kind(spec: config.RewardConfig) -> Callable[[str, str], Any]:
    """A function of prompt and completion from the reward of another kind."""
    reward = rules.rule(spec)
    return lambda prompt, completion: _alone(reward, prompt, completion)


_lexicon = _of_kind(config.SentimentReward())
_vader = _of_kind(config.SentimentReward(judge="vader"))
JUDGES: dict[str, Callable[..., Any]] = {
    "pocket_sentiment": _of_kind(config.SentimentReward(judge="pocket-world")),
    "grammar": _of_kind(config.GrammarReward()),
    "quality": _of_kind(config.GrammarReward(measure="quality")),
    "agreement": _of_kind(config.AgreementReward()),
    "truth": _of_kind(config.TruthReward()),
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "words": lambda text: len(rules.words(text)),
    "characters": len,
    "sentences": lambda text: len(_SENTENCE.findall(text)),
    "count": _count,
    "distinct": _distinct,
    "repeated": rules.repeated_share,
    "overlap": _overlap,
    "contains": lambda text, part: part in text,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "sentiment": lambda text: _lexicon("", text),
    "vader": lambda text: _vader("", text[:MAX_VADER]),
    **JUDGES,
    "keywords": _keywords,
    "matches": _matches,
    "matches_count": _matches_count,
    "lower": str.lower,
    "upper": str.upper,
    "strip": str.strip,
    "min": min,
    "max": max,
    "abs": abs,
    "clip": _clip,
    "round": _round,
    "floor": math.floor,
    "ceil": math.ceil,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "tanh": math.tanh,
}
