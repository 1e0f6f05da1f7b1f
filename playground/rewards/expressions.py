"""Computing an expression: the tree that `config.expression_language` has checked, walked for each completion.

Python's own evaluation has no part in it. All numbers are floats, every text is bounded, nothing repeats, and each
batch has a time limit, so the cost of an expression is bounded too. `mixture.build` makes rewards from it.
"""

from __future__ import annotations

import ast
import functools
import itertools
import math
import operator
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from playground import config
from playground.config import expression_language as language
from playground.config import patterns
from playground.errors import RewardFailed
from playground.rewards import claims, rules

MAX_TEXT = 20_000  # characters that are read of a prompt (its end) or a completion (its beginning)
MAX_JOINED = 60_000
MAX_MATCHES = 1000
MAX_VADER = 4000  # characters; its time grows with the square of the text
SECONDS_PER_SEARCH = 0.1  # for all matches of a pattern in one text
SECONDS_PER_BATCH, SECONDS_PER_COMPLETION = 0.5, 0.02  # of this thread's own computing: other processes do not count
PROBE_PROMPT = "Review of the film: The plot was"
PROBES = ("", " good", " very" * 200 + "!", " wonderful, and the ending was lovely. I liked it.")
JUDGES = ("vader", "pocket_sentiment", "grammar", "quality", "agreement", "truth")
OF_CLAIMS = ("agreement", "truth")
_WRONG = {
    TypeError: "There is a text where a number is needed, or a number where a text is.",
    TimeoutError: "It takes too long. Make the expression simpler.",
    ZeroDivisionError: "It divides by 0. Guard against that, for example `/ max(1, words(completion))`.",
    ValueError: "It has no value here. Guard against that with max, min or clip.",
    OverflowError: f"It is beyond {language.NUMBER_LIMIT:g}. Keep it small, for example with clip.",
}

Value = float | str | None


def reward_of(source: str, own: claims.Questions | None = None) -> rules.Reward:
    """An expression as a reward function, which gives None where the expression gives nothing. `own`: see `claims`.

    Raises: ExpressionError, if it is not a valid one. The function raises RewardFailed, if a completion has no value or
        the batch takes too long.
    """
    expression = language.Expression(source)
    functions = FUNCTIONS | {name: functools.partial(FUNCTIONS[name], own=own) for name in OF_CLAIMS}
    for name in {part.id for part in ast.walk(expression.tree) if isinstance(part, ast.Name)} & {*JUDGES}:
        _first_use(name)

    def reward(prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[float | None]:
        deadline = time.thread_time() + SECONDS_PER_BATCH + SECONDS_PER_COMPLETION * len(completions)
        scores: list[float | None] = []
        for prompt, completion in zip(prompts, completions, strict=True):
            texts = {"prompt": prompt[-MAX_TEXT:], "completion": completion[:MAX_TEXT], language.NOTHING: None}
            try:
                value = _Evaluation(expression, texts, deadline, functions).value(expression.tree)
                if isinstance(value, str):
                    raise expression.error(expression.tree, "This gives a text. Measure it, as words(...) does.")
            except language.ExpressionError as error:
                raise RewardFailed(f"It cannot be computed for the completion {completion[:60]!r}. {error}") from None
            scores.append(value)
        return scores

    return reward


def problem(source: str) -> str | None:
    """Why an expression would fail sooner or later: it is computed for a few completions as a model writes them."""
    try:
        reward_of(source)([PROBE_PROMPT] * len(PROBES), PROBES)
    except RewardFailed as error:
        return str(error)
    return None


@functools.cache
def _first_use(name: str) -> None:
    """What a judge loads and makes when it is asked for the first time: it is no part of an expression's time."""
    for text in PROBES:
        FUNCTIONS[name](text) if name == "vader" else FUNCTIONS[name](PROBE_PROMPT, text)


class _Evaluation:
    """An expression, computed for one completion. What is computed from a part that is None is None."""

    def __init__(
        self,
        expression: language.Expression,
        names: dict[str, str | None],
        deadline: float,
        functions: Mapping[str, Callable[..., Any]],
    ) -> None:
        self._error, self._names, self._deadline, self._functions = expression.error, names, deadline, functions

    def value(self, tree: ast.expr) -> Value:
        """What a part of the checked tree is. Raises: ExpressionError, where it cannot be computed."""
        match tree:
            case ast.Constant(value=value):
                return value if isinstance(value, str) else float(value)  # type: ignore[arg-type]
            case ast.Name(id=name):
                return self._names[name]
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen = self.value(test)
                return None if chosen is None else self.value(body if chosen else orelse)
            case ast.BoolOp(op=op, values=parts):
                for part in parts:  # those behind the one that decides are not computed
                    if (found := self.value(part)) is None or bool(found) is isinstance(op, ast.Or):
                        return None if found is None else float(bool(found))
                return float(isinstance(op, ast.And))
            case ast.Compare(left=left, ops=ops, comparators=others):
                values = [self.value(part) for part in (left, *others)]
                pairs = zip(ops, itertools.pairwise(values), strict=True)
                holds = [self._computed(tree, _OPERATORS[type(op)], pair) for op, pair in pairs]
                return None if None in holds else float(all(holds))
            case ast.Call(func=ast.Name(id="otherwise"), args=[first, second]):
                found = self.value(first)
                return self.value(second) if found is None else found
            case ast.Call(func=ast.Name(id=name), args=parts):
                parameters = language.FUNCTIONS[name].parameters(len(parts)) or []
                kinds = [float if parameter in language.NUMBERS else str for parameter in parameters]
                return self._computed(tree, self._functions[name], [self.value(part) for part in parts], kinds)
            case ast.UnaryOp(op=sign, operand=operand):
                return self._computed(tree, _OPERATORS[type(sign)], [self.value(operand)], [float])
            case ast.BinOp(left=left, op=sign, right=right):
                kinds = [] if isinstance(sign, ast.Add) else [float, float]  # two texts can be joined
                return self._computed(tree, _OPERATORS[type(sign)], [self.value(left), self.value(right)], kinds)
        raise TypeError(tree)

    def _computed(
        self, tree: ast.expr, compute: Callable[..., Any], values: Sequence[Value], kinds: Sequence[type] = ()
    ) -> Value:
        """The result, if there is one within the limits. A judge has no opinion, None, on some texts."""
        if None in values:
            return None
        try:
            if time.thread_time() > self._deadline:
                raise TimeoutError
            if any(not isinstance(value, kind) for value, kind in zip(values, kinds, strict=False)):
                raise TypeError
            result = compute(*values)
            if isinstance(result, str):
                return result[:MAX_JOINED]
            if result is not None and not abs(result) <= language.NUMBER_LIMIT:
                raise OverflowError
        except tuple(_WRONG) as error:
            raise self._error(tree, _WRONG[type(error)]) from None
        return None if result is None else float(result)


_pattern = functools.lru_cache(maxsize=256)(patterns.linear)


def _matches_count(text: str, pattern: str) -> int:
    count, deadline = 0, time.thread_time() + SECONDS_PER_SEARCH
    for _ in itertools.islice(_pattern(pattern).finditer(text.encode("utf-8", "replace")), MAX_MATCHES):
        count += 1
        if time.thread_time() > deadline:  # each search is linear, but a thousand of them may look at all of the text
            raise TimeoutError
    return count


_lexicon, _vader = rules.score_of(config.SentimentReward()), rules.score_of(config.SentimentReward(judge="vader"))
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "words": lambda text: len(rules.words(text)),
    "sentences": lambda text: len(re.findall(r"[.!?]+", text)),
    "count": lambda text, part: text.count(part) if part else 0.0,
    "keywords": lambda text, *words: len(rules.any_of(words).findall(text)),
    "distinct": lambda text: len({*rules.words(text)}) / max(1, len(rules.words(text))),
    "repeated": rules.repeated_share,
    "overlap": lambda text, other: len({*(own := rules.words(text))} & {*rules.words(other)}) / max(1, len({*own})),
    "matches": lambda text, pattern: _pattern(pattern).search(text.encode("utf-8", "replace")) is not None,
    "matches_count": _matches_count,
    "sentiment": lambda text: _lexicon("", text),
    "vader": lambda text: _vader("", text[:MAX_VADER]),
    "pocket_sentiment": rules.score_of(config.SentimentReward(judge="pocket-world")),
    "grammar": rules.score_of(config.GrammarReward()),
    "quality": rules.score_of(config.GrammarReward(measure="quality")),
    "agreement": rules.score_of(config.AgreementReward()),
    "truth": rules.score_of(config.TruthReward()),
    "clip": lambda x, low, high: min(max(x, low), high),
    "round": lambda x, digits=0.0: round(x, int(min(max(digits, 0), 15))),
}
FUNCTIONS |= {"characters": len, "lower": str.lower, "strip": str.strip, "min": min, "max": max, "abs": abs}
FUNCTIONS |= {name: getattr(math, name) for name in ("floor", "sqrt", "exp", "log", "tanh")}

_OPERATORS: dict[type, Callable[..., Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_}
_OPERATORS |= {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
_OPERATORS |= {ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: math.pow}
_OPERATORS |= {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le}
_OPERATORS |= {ast.Gt: operator.gt, ast.GtE: operator.ge}
_OPERATORS |= {ast.In: lambda part, text: part in text, ast.NotIn: lambda part, text: part not in text}
