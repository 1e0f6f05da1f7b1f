"""Computing an expression: the checked tree of `config.expression_language`, walked for each completion.

No part of Python's own evaluation is involved: each kind of node is one of the methods below. All numbers are floats,
every text is bounded, nothing repeats, and a clock runs for each batch, so what an expression can cost is bounded too.
`kinds` builds rewards from it; torch is not needed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from playground.config import expression_language as language
from playground.config.expression_language import Node
from playground.errors import RewardFailed
from playground.rewards.expression_library import FUNCTIONS, JUDGES, Clock

MAX_TEXT = 20_000  # characters that are read of a prompt (its end) or a completion (its beginning)
MAX_JOINED = 60_000
SECONDS_PER_BATCH = 0.5
SECONDS_PER_COMPLETION = 0.02  # on top, for each
PROBE_PROMPT = "Review of the film: The plot was"
PROBES = {
    "an empty completion": "",
    "a completion of one word": " good",
    "an ordinary completion": " wonderful, and the ending was lovely. I liked it.",
    "a long completion": " very" * 200 + "!",
}

Value = float | str | None


class Situation(NamedTuple):
    """What an expression reads, and how long it may take."""

    prompt: str
    completion: str
    clock: Clock


class ExpressionReward:
    """An expression as a reward function, in TRL's calling convention. None where the expression gives nothing."""

    def __init__(self, source: str) -> None:
        """Raises `language.ExpressionError` if it is not a valid one."""
        self._tree, self._evaluator = language.parse(source), _Evaluator(source)

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
            value = self._evaluator.value(self._tree, situation)
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


class _Evaluator:
    """Node and situation -> value. Nothing in, nothing out: what is computed from a part that is None is None."""

    def __init__(self, source: str) -> None:
        self._source = source

    def value(self, node: Node, situation: Situation) -> Value:
        """What a node is in this situation. Raises: `language.ExpressionError` where it cannot be computed."""
        if node.op in _ARITHMETIC:
            first, second = (self.value(part, situation) for part in node.parts)
            if first is None or second is None:
                return None
            return self._checked(node, _ARITHMETIC[node.op], first, second)
        found: Value = getattr(self, f"_{node.op}")(node, situation)
        return found

    def _failed(self, node: Node, message: str) -> language.ExpressionError:
        return language.ExpressionError(message, self._source, node.start, node.end)

    def _number(self, node: Node, situation: Situation) -> Value:
        value: Value = node.value
        return value

    _text = _number

    def _nothing(self, node: Node, situation: Situation) -> Value:
        return None

    def _variable(self, node: Node, situation: Situation) -> Value:
        return situation.prompt if node.value == "prompt" else situation.completion

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

    def _join(self, node: Node, situation: Situation) -> Value:
        first, second = (str(self.value(part, situation)) for part in node.parts)
        if len(first) + len(second) > MAX_JOINED:
            raise self._failed(node, f"The joined text has more than {MAX_JOINED:,} characters. Join less.")
        return first + second

    def _negative(self, node: Node, situation: Situation) -> Value:
        value: Any = self.value(node.parts[0], situation)
        return None if value is None else -value

    def _not(self, node: Node, situation: Situation) -> Value:
        value = self.value(node.parts[0], situation)
        return None if value is None else float(not value)

    def _and(self, node: Node, situation: Situation, deciding: bool = False) -> Value:
        for part in node.parts:
            value = self.value(part, situation)
            if value is None:
                return None
            if bool(value) is deciding:
                return float(deciding)
        return float(not deciding)

    def _or(self, node: Node, situation: Situation) -> Value:
        return self._and(node, situation, deciding=True)

    def _if(self, node: Node, situation: Situation) -> Value:
        condition, then, other = node.parts
        value = self.value(condition, situation)
        return None if value is None else self.value(then if value else other, situation)

    def _compare(self, node: Node, situation: Situation) -> Value:
        left = self.value(node.parts[0], situation)
        for sign, part in zip(node.value, node.parts[1:], strict=True):
            right = self.value(part, situation)
            if left is None or right is None:
                return None
            if not _COMPARED[sign](left, right):
                return 0.0
            left = right
        return 1.0

    def _call(self, node: Node, situation: Situation) -> Value:
        if node.value == "otherwise":
            first, second = node.parts
            value = self.value(first, situation)
            return self.value(second, situation) if value is None else value
        if situation.clock.is_over():
            raise self._failed(node, "The batch takes too long. Make the expression simpler.")
        values: list[Any] = [self.value(part, situation) for part in node.parts]
        if None in values:
            return None
        compute = FUNCTIONS[node.value]
        if node.type == "text" or node.value in JUDGES:  # a judge has no opinion on some texts
            opinion: Value = compute(*values)
            return opinion
        return float(self._checked(node, compute, *values))


_ARITHMETIC: dict[str, Callable[[Any, Any], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": math.pow,
}  # fmt: skip
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "in": lambda part, text: part in text, "not in": lambda part, text: part not in text,
}  # fmt: skip
