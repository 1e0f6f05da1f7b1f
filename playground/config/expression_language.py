"""The language of the reward kind `expression`: its functions, and the check of an expression. Computes nothing.

An expression looks like Python and is not Python: bounded in length and nesting, parsed into Python's syntax tree,
never compiled. What is not on the allow-list of `Expression` is refused: no attributes, indices, loops, or other names.

`config.reward_settings` checks an expression by it, `rewards/expressions.py` walks the checked tree and computes it.
"""

from __future__ import annotations

import ast
import difflib
import itertools
import re
from typing import NamedTuple

from playground.config import patterns

MAX_CHARACTERS = 2000
MAX_BRACKETS = 32  # inside each other
MAX_PARTS = 300
NUMBER_LIMIT = 1e15  # no number, written or computed, may be beyond it
NOTHING = "nothing"
NAMES = ("prompt", "completion", NOTHING)
NUMBERS = ("x", "y", "low", "high", "digits")  # parameters that take a number; the others take a text
WRITTEN_OUT = ("word", "pattern")  # parameters that must be texts in quotes: what they cost is bounded beforehand


class Function(NamedTuple):
    """What can be called, as a person writes it."""

    written: str
    help: str

    def parameters(self, count: int) -> list[str] | None:
        """The parameters for so many values; None if it does not take so many."""
        names = re.findall(r"\w+", self.written)[1:]
        fewest, many = len(names) - ("[" in self.written), "..." in self.written
        if fewest <= count and (many or count <= len(names)):
            return (names + names[-1:] * count)[:count]
        return None


FUNCTIONS: dict[str, Function] = {
    written.partition("(")[0]: Function(written, help)
    for written, help in (
        ("words(text)", "Number of words."),
        ("characters(text)", "Number of characters."),
        ("sentences(text)", "Number of finished sentences: those that end with `.`, `!` or `?`."),
        ("count(text, part)", "How often `part` occurs; capitals matter."),
        ("keywords(text, word, ...)", "How often any of the given words occurs, as whole words in any case."),
        ("distinct(text)", "Share of different words among all words, 0 to 1."),
        ("repeated(text)", "Share of word pairs that repeat an earlier one, 0 to 1."),
        ("overlap(text, other)", "Share of the distinct words of `text` that `other` contains too, 0 to 1."),
        ("matches(text, pattern)", "1 if the regular expression matches anywhere in the text, else 0."),
        ("matches_count(text, pattern)", "How often the regular expression matches, at most 1000 times."),
        ("sentiment(text)", "Sum of the grades of sentiment words: wonderful +2, dull −1."),
        ("vader(text)", "Sentiment by VADER, for any English: it understands `not`, `very` and capitals."),
        (
            "pocket_sentiment(prompt, completion)",
            "Sentiment in the pocket world, -2 to 2; nothing where there is none.",
        ),
        ("grammar(prompt, completion)", "Share of sentences that the pocket world could have written."),
        ("quality(prompt, completion)", "Share of the pocket world's five marks of quality, 0 to 1."),
        (
            "agreement(prompt, completion)",
            "1 for the value that the user claimed, -1 for another; nothing without a claim.",
        ),
        ("truth(prompt, completion)", "1 for the true value, -1 for another; nothing where none is asked for."),
        ("lower(text)", "The text in lower case."),
        ("strip(text)", "The text without spaces and line breaks at its ends."),
        ("min(x, y, ...)", "The smallest of the numbers."),
        ("max(x, y, ...)", "The largest of the numbers."),
        ("abs(x)", "The number without its sign."),
        ("clip(x, low, high)", "The number, but at least `low` and at most `high`."),
        ("round(x[, digits])", "The number, rounded; with `digits` after the decimal point."),
        ("floor(x)", "The number, rounded down to a whole one."),
        ("sqrt(x)", "The square root."),
        ("exp(x)", "e to the power of the number."),
        ("log(x)", "The natural logarithm."),
        ("tanh(x)", "The number, squeezed between -1 and 1."),
        ("otherwise(x, y)", "The number `x`; where that is nothing, `y`."),
    )
}
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.USub, ast.UAdd, ast.Not)
COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)
MOST_NAMED = 5  # functions, where none is alike
BETWEEN = "Between two values stands +, -, *, / or a comparison, and between the values of a function a comma."
STRAIGHT = 'Write straight quotes around a text, for example "good".'
CURLED = "\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb"  # what phones and word processors type for them
ADVICE = {  # a part of what Python's parser says -> what is said here
    "was never closed": "A bracket is missing: every ( needs a ).",
    "unmatched": "There is a bracket too many, or its ( is missing.",
    "does not match": "The brackets do not match: every ( needs a ), in the right order.",
    "unterminated string": 'A quote is missing: a text stands between two, for example "good".',
    "EOL while scanning": 'A quote is missing: a text stands between two, for example "good".',
    "expected 'else'": "A choice needs both: `a if condition else b`.",
    "forgot a comma": "A comma is missing between two values, or a text is not in quotes.",
}
_QUOTED = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""")


class ExpressionError(ValueError):
    """What is wrong with an expression, in one or two sentences that begin with the place."""


class Expression:
    """A checked expression. Whether numbers and texts are where they belong shows only when it is computed.

    Attributes:
        tree: Python's syntax tree, with only constants, names, operators, comparisons, choices and calls of FUNCTIONS.
    """

    def __init__(self, source: str) -> None:
        """Of at most MAX_CHARACTERS. Raises: ExpressionError, if it is none, or has something that does not belong."""
        self._source = source.strip()
        unquoted = _QUOTED.sub("", self._source)
        depths = itertools.accumulate((one in "([{") - (one in ")]}") for one in unquoted)
        if "#" in unquoted or max(depths, default=0) > MAX_BRACKETS:  # the parser's time may double with each bracket
            raise ExpressionError(
                f"Brackets may be nested at most {MAX_BRACKETS} deep, and # may stand only in quotes."
            )
        self._line = re.sub(r"[\n\r\t]", " ", self._source)  # one for one; a line may end anywhere
        try:
            self.tree = ast.parse(self._line, mode="eval").body
        except SyntaxError as error:
            where = self._where(min(error.offset or len(self._source), len(self._source)) - 1)
            raise ExpressionError(f"{where}: {_advice(error, self._line)}") from None
        except (ValueError, RecursionError, MemoryError):
            raise ExpressionError("The expression is nested too deeply, or is not all text.") from None
        parts = [self.tree]
        for count, tree in enumerate(parts, 1):
            if count > MAX_PARTS:
                raise ExpressionError(f"The expression has more than {MAX_PARTS} parts. Make it shorter.")
            parts += self._checked(tree)

    def error(self, tree: ast.expr, message: str) -> ExpressionError:
        """What is wrong with one part of it."""
        start = len(self._line.encode()[: tree.col_offset].decode())  # Python counts bytes
        fragment = (ast.get_source_segment(self._line, tree) or "")[:40]
        return ExpressionError(f"{self._where(start)}, `{fragment}`: {message}")

    def _where(self, position: int) -> str:
        """For example "Character 9"; lines and characters count from 1."""
        column = position - self._source.rfind("\n", 0, position)
        if "\n" not in self._source:
            return f"Character {column}"
        line = self._source.count("\n", 0, position) + 1
        return f"Line {line}, character {column}"

    def _checked(self, tree: ast.expr) -> list[ast.expr]:
        """The parts of a part that is on the white list. Raises: ExpressionError, for any other."""
        match tree:
            case ast.Constant(value=str()) | ast.BoolOp() | ast.IfExp():
                pass
            case ast.Constant(value=bool() | int() | float() as value) if abs(value) <= NUMBER_LIMIT:
                pass
            case ast.BinOp(op=op) | ast.UnaryOp(op=op) if isinstance(op, OPERATORS):
                pass
            case ast.Compare(ops=ops) if all(isinstance(op, COMPARISONS) for op in ops):
                pass
            case ast.Name(id=name):
                if name not in NAMES:
                    raise self.error(tree, _no_name(name))
            case ast.Call(func=ast.Name(id=name), args=values, keywords=[]):
                self._check_call(tree, name, values)
                return values
            case _:
                known = (
                    f"numbers up to {NUMBER_LIMIT:g}, texts in quotes, {', '.join(NAMES)}, operators, `a if b else c`"
                )
                raise self.error(tree, f"This cannot be used here; you can use only {known} and functions.")
        return [part for part in ast.iter_child_nodes(tree) if isinstance(part, ast.expr)]

    def _check_call(self, tree: ast.Call, name: str, values: list[ast.expr]) -> None:
        if name not in FUNCTIONS:
            raise self.error(tree.func, f"There is no such function. {_nearest(name, *FUNCTIONS)}")
        parameters = FUNCTIONS[name].parameters(len(values))
        if parameters is None:
            raise self.error(tree, f"Write {FUNCTIONS[name].written}.")
        for parameter, value in zip(parameters, values, strict=True):
            text = value.value if isinstance(value, ast.Constant) else None
            if parameter in WRITTEN_OUT and not (isinstance(text, str) and text):
                raise self.error(value, f"`{parameter}` of {name} must be written out in quotes.")
            if parameter == "pattern":
                try:
                    patterns.linear(str(text))
                except patterns.PatternError as error:
                    raise self.error(value, str(error)) from None


def _advice(error: SyntaxError, line: str) -> str:
    """What Python's parser complains of, in plain words with what to do."""
    said, rest = error.msg, line[max((error.offset or 0) - 1, 0) :]
    for part, words in ADVICE.items():
        if part in said:
            return words
    if "invalid character" in said:
        return STRAIGHT if rest[:1] in CURLED else f"`{rest[:1]}` cannot be used in an expression."
    if not error.offset:  # the line ends too early
        return "Something is missing at the end."
    if re.match(r"=(?!=)", rest):
        return "One = does not compare. Write == for equal, or <, <=, >, >=."
    return f"`{rest.split(' ')[0][:20]}` cannot stand here. {BETWEEN}"


def _no_name(name: str) -> str:
    if name in FUNCTIONS:
        return f"This is a function. Write {FUNCTIONS[name].written}."
    return f'There is no such name. {_nearest(name, *NAMES)} A text stands in quotes, for example "good".'


def _nearest(name: str, *known: str) -> str:
    if close := difflib.get_close_matches(name[:40], known, n=1):
        return f"Did you mean `{close[0]}`?"
    more = " and others" if len(known) > MOST_NAMED else ""
    return f"There are {', '.join(known[:MOST_NAMED])}{more}."
