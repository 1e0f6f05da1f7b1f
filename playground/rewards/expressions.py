"""Computing an expression: the checked tree of `config.expression_language` becomes functions, called for each
completion.

No part of Python's own evaluation is involved: each node is one of the functions below. All numbers are floats, every
text is bounded, nothing repeats, and a clock runs for each batch, so what an expression can cost is bounded too.
`kinds` builds rewards from it; torch is not needed.
"""

from __future__ import annotations

import itertools
import math
import operator
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from playground import config
from playground.config import expression_language as language
from playground.config import patterns
from playground.config.expression_language import Node
from playground.errors import RewardFailed
from playground.rewards import rules

MAX_TEXT = 20_000  # characters that are read of a prompt (its end) or a completion (its beginning)
MAX_JOINED = 60_000
MAX_MATCHES = 1000
MAX_VADER = 4000  # characters; its time grows with the square of the text
SECONDS_PER_BATCH = 0.5
SECONDS_PER_COMPLETION = 0.02  # on top, for each
SECONDS_PER_SEARCH = 0.1  # for all matches of a pattern in one text
_SENTENCE = re.compile(r"[.!?]+")
PROBE_PROMPT = "Review of the film: The plot was"
PROBES = {
    "an empty completion": "",
    "a completion of one word": " good",
    "an ordinary completion": " wonderful, and the ending was lovely. I liked it.",
    "a long completion": " very" * 200 + "!",
}

Value = float | str | None


class Clock:
    """Tells when so many seconds of this thread's own computing are over: a busy machine is nobody's fault."""

    def __init__(self, seconds: float) -> None:
        self._latest = time.thread_time() + seconds
        self._earliest = time.monotonic() + seconds  # no earlier can it be; and this clock is quick to read

    def is_over(self) -> bool:
        """True when the time is up."""
        return time.monotonic() > self._earliest and time.thread_time() > self._latest


class Situation(NamedTuple):
    """What an expression reads, and how long it may take."""

    prompt: str
    completion: str
    clock: Clock


Step = Callable[[Situation], Value]


class ExpressionReward:
    """An expression as a reward function, in TRL's calling convention. None where the expression gives nothing."""

    def __init__(self, source: str) -> None:
        """Raises `language.ExpressionError` if it is not a valid one."""
        self._source = source
        self._compute = _Compiler(source).step(language.parse(source))

    def __call__(self, prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[float | None]:
        """One number or None for each completion.

        Raises:
            RewardFailed: it cannot be computed for one of them, or takes too long.
        """
        clock = Clock(SECONDS_PER_BATCH + SECONDS_PER_COMPLETION * len(completions))
        return [
            self._value(Situation(prompt[-MAX_TEXT:], completion[:MAX_TEXT], clock))
            for prompt, completion in zip(prompts, completions, strict=True)
        ]

    def _value(self, situation: Situation) -> float | None:
        try:
            value = self._compute(situation)
        except language.ExpressionError as error:
            shown = situation.completion if len(situation.completion) <= 60 else situation.completion[:57] + "..."
            raise RewardFailed(f"The reward `expression` failed for the completion {shown!r}. {error}") from None
        return value if value is None else float(value)


def problem(source: str) -> str | None:
    """Why an expression would fail sooner or later: it is computed for a few completions as a model writes them.

    Raises:
        ExpressionError: it is not a valid one.
    """
    reward = ExpressionReward(source)
    for words, completion in PROBES.items():
        try:
            reward([PROBE_PROMPT], [completion])
        except RewardFailed as error:
            told = str(error).partition(". ")[2]
            return f"It cannot be computed for {words}. {told}"
    return None


class _Compiler:
    """Node -> function of a situation. Nothing in, nothing out: what is computed from a part that is None is None."""

    def __init__(self, source: str) -> None:
        self._source = source

    def step(self, node: Node) -> Step:
        """The function that computes a node."""
        if node.op in _ARITHMETIC:
            return self._arithmetic(node, _ARITHMETIC[node.op])
        made: Step = getattr(self, f"_{node.op}")(node)
        return made

    def _failed(self, node: Node, message: str) -> language.ExpressionError:
        return language.ExpressionError(message, self._source, node.start, node.end)

    def _number(self, node: Node) -> Step:
        value: Value = node.value
        return lambda situation: value

    _text = _number

    def _nothing(self, node: Node) -> Step:
        return lambda situation: None

    def _variable(self, node: Node) -> Step:
        if node.value == "prompt":
            return lambda situation: situation.prompt
        return lambda situation: situation.completion

    def _arithmetic(self, node: Node, compute: Callable[[float, float], float]) -> Step:
        left, right = map(self.step, node.parts)

        def step(situation: Situation) -> Value:
            first, second = left(situation), right(situation)
            if first is None or second is None:
                return None
            return self._checked(node, compute, first, second)

        return step

    def _checked(self, node: Node, compute: Callable[..., float], *values: Any) -> float:
        """The result, if there is one that is finite and not beyond the limit."""
        try:
            result = compute(*values)
        except ZeroDivisionError:
            remedy = "Guard it, for example `/ max(1, words(completion))`."
            raise self._failed(node, f"It divides by 0. {remedy}") from None
        except TimeoutError:
            raise self._failed(node, "The pattern takes too long. Make it simpler.") from None
        except (ValueError, OverflowError):
            told = ", ".join(f"{value:g}" for value in values if isinstance(value, float))
            raise self._failed(node, f"It has no value for {told}. Guard it with max, min or clip.") from None
        if not -language.NUMBER_LIMIT <= result <= language.NUMBER_LIMIT:
            raise self._failed(node, f"It is beyond {language.NUMBER_LIMIT:g}. Keep it small with clip or tanh.")
        return result

    def _join(self, node: Node) -> Step:
        left, right = map(self.step, node.parts)

        def step(situation: Situation) -> Value:
            first, second = str(left(situation)), str(right(situation))
            if len(first) + len(second) > MAX_JOINED:
                raise self._failed(node, f"The joined text has more than {MAX_JOINED:,} characters. Join less.")
            return first + second

        return step

    def _negative(self, node: Node) -> Step:
        inner = self.step(node.parts[0])

        def step(situation: Situation) -> Value:
            value = inner(situation)
            return None if value is None else -value  # type: ignore[operator]

        return step

    def _not(self, node: Node) -> Step:
        inner = self.step(node.parts[0])

        def step(situation: Situation) -> Value:
            value = inner(situation)
            return None if value is None else float(not value)

        return step

    def _and(self, node: Node, deciding: bool = False) -> Step:
        parts = [self.step(part) for part in node.parts]

        def step(situation: Situation) -> Value:
            for part in parts:
                value = part(situation)
                if value is None:
                    return None
                if bool(value) is deciding:
                    return float(deciding)
            return float(not deciding)

        return step

    def _or(self, node: Node) -> Step:
        return self._and(node, deciding=True)

    def _if(self, node: Node) -> Step:
        condition, then, other = map(self.step, node.parts)

        def step(situation: Situation) -> Value:
            value = condition(situation)
            return None if value is None else then(situation) if value else other(situation)

        return step

    def _compare(self, node: Node) -> Step:
        first, *rest = [self.step(part) for part in node.parts]
        pairs = [(_COMPARED[sign], part) for sign, part in zip(node.value, rest, strict=True)]

        def step(situation: Situation) -> Value:
            left = first(situation)
            for compare, part in pairs:
                right = part(situation)
                if left is None or right is None:
                    return None
                if not compare(left, right):
                    return 0.0
                left = right
            return 1.0

        return step

    def _call(self, node: Node) -> Step:
        if node.value == "otherwise":
            return self._otherwise(node)
        literal = _WITH_LITERALS.get(node.value)
        compute = literal(node) if literal else FUNCTIONS[node.value]
        parts = [self.step(part) for part in (node.parts[:1] if literal else node.parts)]

        def step(situation: Situation) -> Value:
            if situation.clock.is_over():
                raise self._failed(node, "The batch takes too long. Make the expression simpler.")
            values: list[Any] = [part(situation) for part in parts]
            if None in values:
                return None
            if node.type == "text":
                return compute(*values)
            if node.value in JUDGES:  # they have no opinion on some texts
                return compute(*values)
            return float(self._checked(node, compute, *values))

        return step

    def _otherwise(self, node: Node) -> Step:
        first, second = map(self.step, node.parts)

        def step(situation: Situation) -> Value:
            value = first(situation)
            return second(situation) if value is None else value

        return step


_ARITHMETIC: dict[str, Callable[[Any, Any], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": math.pow,
}  # fmt: skip
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "in": lambda part, text: part in text, "not in": lambda part, text: part not in text,
}  # fmt: skip


def _matches(node: Node) -> Callable[[str], float]:
    pattern = patterns.linear(node.parts[1].value)
    return lambda text: float(pattern.search(text.encode("utf-8", "replace")) is not None)


def _matches_count(node: Node) -> Callable[[str], float]:
    pattern = patterns.linear(node.parts[1].value)

    def count(text: str) -> float:
        found, clock = 0, Clock(SECONDS_PER_SEARCH)
        for _ in itertools.islice(pattern.finditer(text.encode("utf-8", "replace")), MAX_MATCHES):
            found += 1
            if clock.is_over():  # each search is linear, but a thousand of them may look at all of the text
                raise TimeoutError
        return float(found)

    return count


def _count(text: str, part: str) -> float:
    return float(text.count(part)) if part else 0.0


def _keywords(node: Node) -> Callable[[str], float]:
    reward = rules.rule(config.KeywordReward(words=tuple(part.value for part in node.parts[1:])))
    return lambda text: _alone(reward, "", text)


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
_WITH_LITERALS: dict[str, Callable[[Node], Callable[[str], float]]] = {
    "keywords": _keywords,
    "matches": _matches,
    "matches_count": _matches_count,
}
