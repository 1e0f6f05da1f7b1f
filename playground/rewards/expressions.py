"""Computing an expression: the tree that `config.expression_language` has checked, walked for each completion.

Python's own evaluation has no part in it. All numbers are floats, every text is bounded, nothing repeats, and each
batch has a time limit, so the cost of an expression is bounded too. `kinds` builds rewards from it.
"""

from __future__ import annotations

import ast
import functools
import itertools
import math
import operator
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from playground import config
from playground.config import patterns
from playground.config.expression_language import NOTHING, NUMBER_LIMIT, Expression, ExpressionError
from playground.errors import RewardFailed
from playground.rewards import rules

MAX_TEXT = 20_000  # characters that are read of a prompt (its end) or a completion (its beginning)
MAX_JOINED = 60_000
MAX_MATCHES = 1000
MAX_VADER = 4000  # characters; its time grows with the square of the text
SECONDS_PER_SEARCH = 0.1  # for all matches of a pattern in one text
SECONDS_PER_BATCH, SECONDS_PER_COMPLETION = 0.5, 0.02  # of this thread's own computing: other processes do not count
PROBE_PROMPT = "Review of the film: The plot was"
PROBES = {"an empty completion": "", "a completion of one word": " good", "a long completion": " very" * 200 + "!"}
PROBES |= {"an ordinary completion": " wonderful, and the ending was lovely. I liked it."}

Value = float | str | None


class ExpressionFunction:
    """An expression as a reward function, in TRL's calling convention. None where the expression gives nothing."""

    def __init__(self, source: str) -> None:
        """Raises `ExpressionError` if it is not a valid one."""
        self._expression = Expression(source)

    def __call__(self, prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[float | None]:
        """One number or None for each completion.

        Raises: RewardFailed, if it cannot be computed for one of them, or takes too long.
        """
        deadline = time.thread_time() + SECONDS_PER_BATCH + SECONDS_PER_COMPLETION * len(completions)
        scores: list[float | None] = []
        for prompt, completion in zip(prompts, completions, strict=True):
            texts = {"prompt": prompt[-MAX_TEXT:], "completion": completion[:MAX_TEXT], NOTHING: None}
            try:
                value = _Evaluation(self._expression, texts, deadline).value(self._expression.tree)
            except ExpressionError as error:
                shown = completion if len(completion) <= 60 else completion[:57] + "..."
                raise RewardFailed(f"The reward `expression` failed for the completion {shown!r}. {error}") from None
            scores.append(None if value is None else float(value))
        return scores


def problem(source: str) -> str | None:
    """Why an expression would fail sooner or later: it is computed for a few completions as a model writes them.

    Raises: ExpressionError, if it is not a valid one.
    """
    reward = ExpressionFunction(source)
    for words, completion in PROBES.items():
        try:
            reward([PROBE_PROMPT], [completion])
        except RewardFailed as error:
            return f"It cannot be computed for {words}. {str(error).partition('. ')[2]}"
    return None


class _Evaluation:
    """An expression, computed for one completion. What is computed from a part that is None is None."""

    def __init__(self, expression: Expression, names: dict[str, str | None], deadline: float) -> None:
        self._error, self._names, self._deadline = expression.error, names, deadline

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
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                first = self.value(left)
                for sign, part in zip(ops, comparators, strict=True):
                    second = self.value(part)
                    if first is None or second is None:
                        return None
                    if not _OPERATORS[type(sign)](first, second):
                        return 0.0
                    first = second
                return 1.0
            case ast.Call(func=ast.Name(id="otherwise"), args=[first_part, second_part]):
                found = self.value(first_part)
                return self.value(second_part) if found is None else found
            case ast.Call(func=ast.Name(id=name), args=parts):
                if time.thread_time() > self._deadline:
                    raise self._error(tree, "The batch takes too long. Make the expression simpler.")
                return self._computed(tree, FUNCTIONS[name], parts)
            case ast.UnaryOp(op=operation, operand=operand):
                return self._computed(tree, _OPERATORS[type(operation)], [operand])
            case ast.BinOp(left=left, op=operation, right=right):
                return self._computed(tree, _OPERATORS[type(operation)], [left, right])
        raise TypeError(tree)

    def _computed(self, tree: ast.expr, compute: Callable[..., Any], parts: list[ast.expr]) -> Value:
        """The result, if there is one within the limits. A judge has no opinion, None, on some texts."""
        values = [self.value(part) for part in parts]
        if None in values:
            return None
        try:
            result = compute(*values)
        except ZeroDivisionError:
            remedy = "Guard it, for example `/ max(1, words(completion))`."
            raise self._error(tree, f"It divides by 0. {remedy}") from None
        except TimeoutError:
            raise self._error(tree, "The pattern takes too long. Make it simpler.") from None
        except (ValueError, OverflowError):
            shown = ", ".join(f"{value:g}" for value in values if isinstance(value, float))
            raise self._error(tree, f"It has no value for {shown}. Guard it with max, min or clip.") from None
        if result is None or (isinstance(result, str) and len(result) <= MAX_JOINED):
            return result
        if isinstance(result, str):
            raise self._error(tree, f"The joined text has more than {MAX_JOINED:,} characters. Join less.")
        if not -NUMBER_LIMIT <= result <= NUMBER_LIMIT:
            raise self._error(tree, f"It is beyond {NUMBER_LIMIT:g}. Keep it small with clip or tanh.")
        return float(result)


_pattern = functools.lru_cache(maxsize=256)(patterns.linear)


def _matches_count(text: str, pattern: str) -> int:
    found, deadline = 0, time.thread_time() + SECONDS_PER_SEARCH
    for _ in itertools.islice(_pattern(pattern).finditer(text.encode("utf-8", "replace")), MAX_MATCHES):
        found += 1
        if time.thread_time() > deadline:  # each search is linear, but a thousand of them may look at all of the text
            raise TimeoutError
    return found


def _judge(spec: config.RewardConfig) -> Callable[[str, str], Any]:
    """A function of prompt and completion from the reward of another kind."""
    reward = rules.rule(spec)
    return lambda prompt, completion: reward(prompts=[prompt], completions=[completion])[0]


@functools.lru_cache(maxsize=256)
def _keywords(*words: str) -> Callable[[str, str], Any]:
    return _judge(config.KeywordReward(words=words))


def _share(part: set[str], whole: Sequence[str] | set[str]) -> float:
    return len(part) / len(whole) if whole else 0.0


_lexicon, _vader = _judge(config.SentimentReward()), _judge(config.SentimentReward(judge="vader"))
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "words": lambda text: len(rules.words(text)),
    "characters": len,
    "sentences": lambda text: len(re.findall(r"[.!?]+", text)),
    "count": lambda text, part: text.count(part) if part else 0.0,
    "keywords": lambda text, *words: _keywords(*words)("", text),
    "distinct": lambda text: _share(set(rules.words(text)), rules.words(text)),
    "repeated": rules.repeated_share,
    "overlap": lambda text, other: _share({*rules.words(text)} & {*rules.words(other)}, {*rules.words(text)}),
    "contains": lambda text, part: part in text,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "matches": lambda text, pattern: _pattern(pattern).search(text.encode("utf-8", "replace")) is not None,
    "matches_count": _matches_count,
    "sentiment": lambda text: _lexicon("", text),
    "vader": lambda text: _vader("", text[:MAX_VADER]),
    "pocket_sentiment": _judge(config.SentimentReward(judge="pocket-world")),
    "grammar": _judge(config.GrammarReward()),
    "quality": _judge(config.GrammarReward(measure="quality")),
    "agreement": _judge(config.AgreementReward()),
    "truth": _judge(config.TruthReward()),
    "min": min,
    "max": max,
    "abs": abs,
    "clip": lambda x, low, high: min(max(x, low), high),
    "round": lambda x, digits=0.0: round(x, int(min(max(digits, 0), 15))),
}
FUNCTIONS |= {name: getattr(str, name) for name in ("lower", "upper", "strip")}
FUNCTIONS |= {name: getattr(math, name) for name in ("floor", "ceil", "sqrt", "exp", "log", "tanh")}

_OPERATORS: dict[type, Callable[..., Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_}
_OPERATORS |= {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
_OPERATORS |= {ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: math.pow}
_OPERATORS |= {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le}
_OPERATORS |= {ast.Gt: operator.gt, ast.GtE: operator.ge}
_OPERATORS |= {ast.In: lambda part, text: part in text, ast.NotIn: lambda part, text: part not in text}
