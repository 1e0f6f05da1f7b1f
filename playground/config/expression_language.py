"""The language of the reward kind `expression`: its functions, and the check of a text. Nothing is computed here.

An expression is written like Python and is not Python: bounded in length and nesting, parsed to Python's syntax tree,
never compiled. What is not on the white list of `Expression` is refused: no attributes, indices, loops, or other names.

`config.reward_settings` checks an expression by it, `rewards/expressions.py` walks the checked tree and computes it.
"""

from __future__ import annotations

import ast
import difflib
import re
import string
import threading
import warnings
from collections.abc import Iterable
from typing import Literal, NamedTuple

from playground.config import patterns

MAX_CHARACTERS = 2000
MAX_BRACKETS = 32  # inside each other
MAX_NODES = 300
MAX_DEPTH = 60
MAX_UNICODE_CLASSES = 8  # in all patterns together
MAX_WORD_CHARACTERS = 100  # as in the reward of keywords
NUMBER_LIMIT = 1e15  # no number, written or computed, may be beyond it

Type = Literal["number", "text"]
PATTERN = "pattern"  # the parameter that takes a regular expression
NUMBERS = ("x", "y", "low", "high", "digits")  # parameters that take a number; the others take a text
WRITTEN_OUT = ("word", PATTERN)  # parameters that must be texts in quotes, because they are checked beforehand


class Signature(NamedTuple):
    """What a function takes and gives, in words for a person.

    Attributes:
        optional: how many of the last parameters may be left out. many: the last one may be given again and again.
    """

    parameters: tuple[str, ...]
    help: str
    gives: Type = "number"
    optional: int = 0
    many: bool = False

    @property
    def fewest(self) -> int:
        """The smallest number of values it can be called with."""
        return len(self.parameters) - self.optional

    def written(self, name: str) -> str:
        """As it is written, for example `clip(x, low, high)`."""
        required = ", ".join(self.parameters[: self.fewest])
        optional = "".join(f"[, {name}]" for name in self.parameters[self.fewest :])
        return f"{name}({required}{optional}{', ...' if self.many else ''})"


FUNCTIONS: dict[str, Signature] = {
    "words": Signature(("text",), "Number of words."),
    "characters": Signature(("text",), "Number of characters."),
    "sentences": Signature(("text",), "Number of sentences that end, with `.`, `!` or `?`."),
    "count": Signature(("text", "part"), "How often `part` occurs, capitals and all."),
    "keywords": Signature(
        ("text", "word"), "How often any of the given words occurs, as whole words in any case.", many=True
    ),
    "distinct": Signature(("text",), "Share of different words among all words, 0 to 1."),
    "repeated": Signature(("text",), "Share of word pairs that were said before, 0 to 1."),
    "overlap": Signature(("text", "other"), "Share of the different words of `text` that `other` has too, 0 to 1."),
    "contains": Signature(("text", "part"), "1 if `part` occurs, else 0."),
    "starts_with": Signature(("text", "start"), "1 if the text begins with `start`, else 0. Spaces in front count."),
    "ends_with": Signature(("text", "end"), "1 if the text ends with `end`, else 0."),
    "matches": Signature(("text", PATTERN), "1 if the regular expression is found anywhere in the text, else 0."),
    "matches_count": Signature(("text", PATTERN), "How often the regular expression is found, at most 1000 times."),
    "sentiment": Signature(("text",), "Sum of the grades of sentiment words: wonderful +2, dull -1."),
    "vader": Signature(("text",), "Sentiment by VADER, for any English: it knows `not`, `very` and capitals."),
    "pocket_sentiment": Signature(
        ("prompt", "completion"), "Sentiment in the pocket world, -2 to 2; nothing where no sentence carries any."
    ),
    "grammar": Signature(("prompt", "completion"), "Share of sentences that the pocket world could have written."),
    "quality": Signature(("prompt", "completion"), "Share of the pocket world's five marks of quality, 0 to 1."),
    "agreement": Signature(
        ("prompt", "completion"), "1 for the value that the user claimed, -1 for another; nothing without a claim."
    ),
    "truth": Signature(("prompt", "completion"), "1 for the true value, -1 for another; nothing where none is asked."),
    "lower": Signature(("text",), "The text in small letters.", "text"),
    "upper": Signature(("text",), "The text in capitals.", "text"),
    "strip": Signature(("text",), "The text without spaces and line breaks at its ends.", "text"),
    "min": Signature(("x", "y"), "The smallest of the numbers.", many=True),
    "max": Signature(("x", "y"), "The largest of the numbers.", many=True),
    "abs": Signature(("x",), "The number without its sign."),
    "clip": Signature(("x", "low", "high"), "The number, but at least `low` and at most `high`."),
    "round": Signature(("x", "digits"), "The number, rounded; with `digits` behind the point.", optional=1),
    "floor": Signature(("x",), "The next whole number below."),
    "ceil": Signature(("x",), "The next whole number above."),
    "sqrt": Signature(("x",), "The square root."),
    "exp": Signature(("x",), "e to the power of the number."),
    "log": Signature(("x",), "The natural logarithm."),
    "tanh": Signature(("x",), "Any number, squeezed to between -1 and 1."),
    "otherwise": Signature(("x", "y"), "The number `x`; where that is nothing, `y`."),
}

VARIABLES = ("prompt", "completion")
NOTHING = "nothing"
_OPERATORS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.And: "and",
    ast.Or: "or",
}
_OTHER_WORDS = {
    "None": NOTHING,
    "len": "characters",
    "true": "True",
    "false": "False",
    "text": "completion",
    "re": "matches",
    "response": "completion",
    "length": "words",
    "output": "completion",
}
_SYNTAX = {
    "was never closed": "This bracket is never closed. Close it.",
    "unmatched": "This bracket closes none. Take it away, or open one before it.",
    "does not match": "This bracket is not the one that closes the open one.",
    "expected 'else'": "A choice needs both ways: `a if condition else b`.",
    "forgot a comma": "A comma or an operator is missing here.",
    "Maybe you meant '=='": "Write == to compare; nothing is set here.",
}
_REFUSED: dict[type, str] = {
    ast.Attribute: "A dot with a name behind it",
    ast.Subscript: "An index in brackets",
    ast.Lambda: "A lambda",
    ast.JoinedStr: "A text with holes (f in front of the quotes)",
    ast.List: "A list",
    ast.Tuple: "A list of values",
}
_QUOTED = re.compile(r"""([rR]?)("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""")
_CHARACTER_MEANT = re.compile(r"""\\[^nt\\'"]""")
_PLAIN = frozenset(string.printable) - set("\x0b\x0c#\\")  # what may stand outside quotes
_parsing = threading.Lock()  # `warnings.catch_warnings` is not for several threads at once


class ExpressionError(ValueError):
    """What is wrong with an expression: where, and what to do. Its text is one or two sentences."""

    def __init__(self, message: str, source: str = "", start: int | None = None, end: int | None = None) -> None:
        super().__init__(message if start is None else f"{_where(source, start, end)}: {message}")


def _where(source: str, start: int, end: int | None) -> str:
    """For example "Character 9, `foo(x)`"; lines and characters count from 1."""
    line, column = source.count("\n", 0, start) + 1, start - source.rfind("\n", 0, start)
    fragment = "" if end is None else " ".join(source[start:end].split())
    fragment = fragment if len(fragment) <= 40 else fragment[:37] + "..."
    where = f"Line {line}, character {column}" if "\n" in source else f"Character {column}"
    return f"{where}, `{fragment}`" if fragment else where


class Expression:
    """A checked expression that gives a number.

    Attributes:
        tree: Python's syntax tree, with only constants, names, operators, comparisons, choices and calls of FUNCTIONS,
            each with values of the type that it takes.
    """

    def __init__(self, source: str) -> None:
        """Raises: ExpressionError, if it is too long or too deep, is none, or has something that does not belong."""
        _check_text(source)
        flat = re.sub(r"[\n\r\t]", " ", source)  # one for one, so that positions stay; a line may end anywhere
        self.source, self._shift = source, len(flat) - len(flat.lstrip(" "))
        self._bytes = flat[self._shift :].encode("utf-8")  # Python counts bytes
        self._unicode_classes = 0
        try:
            with _parsing, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.tree = ast.parse(self._bytes.decode("utf-8"), mode="eval").body
        except SyntaxError as error:
            position = min((error.offset or len(source)) - 1 + self._shift, len(source) - 1)
            general = "This is not a complete expression. Check operators, brackets, commas and quotes around here."
            message = next((ours for theirs, ours in _SYNTAX.items() if theirs in str(error.msg)), general)
            raise ExpressionError(message, source, position) from None
        except (ValueError, RecursionError, MemoryError):
            raise ExpressionError("The expression is nested too deeply, or a number is too long.") from None
        self._check_size()
        if self._type(self.tree) != "number":
            message = "This gives a text; a reward is a number. Measure it, for example with words(...)."
            raise self.error(self.tree, message)

    def error(self, tree: ast.expr, message: str) -> ExpressionError:
        """What is wrong with one part of it."""
        start, end = (
            len(self._bytes[:offset].decode("utf-8")) + self._shift
            for offset in (tree.col_offset, tree.end_col_offset or tree.col_offset)
        )
        return ExpressionError(message, self.source, start, end)

    def _check_size(self) -> None:
        """Few enough parts, and not too deep; without recursion, because the depth is not known to be small yet."""
        count, depth, level = 0, 0, [self.tree]
        while level:
            count, depth = count + len(level), depth + 1
            if count > MAX_NODES:
                raise ExpressionError(f"The expression has more than {MAX_NODES} parts. Make it shorter.")
            if depth > MAX_DEPTH:
                raise ExpressionError(f"The expression is nested more than {MAX_DEPTH} deep. Make it simpler.")
            level = [part for tree in level for part in ast.iter_child_nodes(tree) if isinstance(part, ast.expr)]

    def _type(self, tree: ast.expr) -> Type:
        """What a part gives. Raises ExpressionError, for whatever has no case here."""
        match tree:
            case ast.Constant(value=str()):
                return "text"
            case ast.Constant(value=bool() | int() | float() as value):
                if not abs(value) <= NUMBER_LIMIT:
                    raise self.error(tree, f"Numbers go up to {NUMBER_LIMIT:g}.")
                return "number"
            case ast.Constant(value=None):
                raise self.error(tree, f"Write `{NOTHING}` for no opinion.")
            case ast.Name(id=name):
                return self._type_of_name(tree, name)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return self._numbers(
                    f"`{_OPERATORS[type(op)]}` needs numbers", left, right, joins=isinstance(op, ast.Add)
                )
            case ast.BinOp():
                message = "There are + - * / // % and **; for a condition write `and`, `or`, `not`."
                raise self.error(tree, message)
            case ast.UnaryOp(op=ast.Invert()):
                raise self.error(tree, "There is no `~`. Write `not`.")
            case ast.UnaryOp(operand=operand):
                return self._numbers("This needs a number", operand)
            case ast.BoolOp(op=op, values=values):
                return self._numbers(f"`{_OPERATORS[type(op)]}` needs a condition or a number", *values)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self._numbers("After `if` stands a condition or a number", test)
                if (given := self._type(body)) == self._type(orelse):
                    return given
                message = "One way gives a number and the other a text. Both must be of the same sort."
                raise self.error(tree, message)
            case ast.Compare():
                return self._type_of_comparison(tree)
            case ast.Call(func=ast.Name(id=name)):
                return self._type_of_call(tree, name)
            case ast.Call():
                raise self.error(tree, "Only the functions of the list can be called, by their names.")
        known = "numbers, texts in quotes, prompt, completion, operators, `a if b else c`, and functions"
        raise self.error(tree, f"{_REFUSED.get(type(tree), 'This')} cannot be used here; there are only {known}.")

    def _numbers(self, needs: str, *parts: ast.expr, joins: bool = False) -> Type:
        """The type of what is computed from numbers, or, where it `joins`, from texts."""
        types = [self._type(part) for part in parts]
        if joins and set(types) == {"text"}:
            return "text"
        if "text" in types:
            message = f"{needs}, and this is a text. Measure it, for example with words(...)."
            raise self.error(parts[types.index("text")], message)
        return "number"

    def _type_of_name(self, tree: ast.expr, name: str) -> Type:
        if name in (NOTHING, *VARIABLES):
            return "number" if name == NOTHING else "text"
        if name in FUNCTIONS:
            raise self.error(tree, f"This is a function: write {FUNCTIONS[name].written(name)}.")
        raise self.error(tree, f"There is no such name. {_nearest(name, (*VARIABLES, NOTHING, *FUNCTIONS))}")

    def _type_of_comparison(self, tree: ast.Compare) -> Type:
        types = [self._type(part) for part in (tree.left, *tree.comparators)]
        for op, left, right in zip(tree.ops, types, types[1:], strict=False):
            sign = _OPERATORS.get(type(op))
            if sign is None:
                raise self.error(tree, "There is no `is`. Write == or !=.")
            if sign in ("in", "not in"):
                if (left, right) != ("text", "text"):
                    raise self.error(tree, f'`{sign}` looks for a text in a text, for example "thank" in completion.')
            elif left != right:
                raise self.error(tree, "A number and a text cannot be compared. Measure the text first.")
            elif left == "text" and sign not in ("==", "!="):
                raise self.error(tree, f"Texts have no order here, so `{sign}` needs numbers. Use == or !=.")
        return "number"

    def _type_of_call(self, tree: ast.Call, name: str) -> Type:
        signature, given = FUNCTIONS.get(name), len(tree.args)
        if signature is None:
            raise self.error(tree.func, f"There is no such function. {_nearest(name, FUNCTIONS)}")
        if tree.keywords or any(isinstance(argument, ast.Starred) for argument in tree.args):
            message = f"Give the values in their order, without names or stars: {signature.written(name)}."
            raise self.error(tree, message)
        most = MAX_NODES if signature.many else len(signature.parameters)
        if not signature.fewest <= given <= most:
            raise self.error(tree, f"This has {given} values. Write {signature.written(name)}.")
        parameters = signature.parameters + signature.parameters[-1:] * given
        for parameter, argument in zip(parameters, tree.args, strict=False):
            self._check_argument(f"`{parameter}` of {name}", parameter, argument)
        return signature.gives

    def _check_argument(self, named: str, parameter: str, tree: ast.expr) -> None:
        wanted, given = "number" if parameter in NUMBERS else "text", self._type(tree)
        if given != wanted:
            raise self.error(tree, f"{named} is a {wanted}, and this is a {given}.")
        text = tree.value if isinstance(tree, ast.Constant) else None
        if parameter in WRITTEN_OUT and text is None:
            raise self.error(tree, f"{named} is written out in quotes, so that it can be checked.")
        if parameter in ("part", "start", "end", "word") and text == "":
            raise self.error(tree, f"{named} must not be empty.")
        if parameter == "word" and len(str(text)) > MAX_WORD_CHARACTERS:
            raise self.error(tree, f"A word has at most {MAX_WORD_CHARACTERS} characters.")
        if parameter == PATTERN:
            self._unicode_classes += patterns.unicode_classes(str(text))
            if self._unicode_classes > MAX_UNICODE_CLASSES:
                message = f"All patterns together name at most {MAX_UNICODE_CLASSES} classes of Unicode, such as \\pL."
                raise self.error(tree, f"{message} Leave some away.")
            try:
                patterns.linear(str(text))
            except patterns.PatternError as error:
                raise self.error(tree, str(error)) from None


def _check_text(source: str) -> None:
    """Length, characters and brackets, before anything parses the text.

    Raises: ExpressionError.
    """
    if len(source) > MAX_CHARACTERS:
        message = f"The expression has {len(source):,} characters; at most {MAX_CHARACTERS:,} are possible. Shorten it."
        raise ExpressionError(message)
    if not source.strip():
        raise ExpressionError("The expression is empty. Write one, for example words(completion).")
    for quotes in ('"""', "'''"):
        if quotes in source:
            raise ExpressionError("Use one quotation mark at each end, not three.", source, source.index(quotes))
    for quoted in _QUOTED.finditer(source):
        escape = None if quoted[1] else _CHARACTER_MEANT.search(re.sub(r"\\\\", "  ", quoted[2]))
        if escape:
            position = quoted.start(2) + escape.start()
            message = 'Put an r in front of the quotes of a pattern, for example r"\\bgood\\b".'
            raise ExpressionError(message, source, position, position + 2)
    depth = 0
    for position, character in enumerate(_QUOTED.sub(lambda quoted: " " * len(quoted[0]), source)):
        if character in "\"'":
            raise ExpressionError("A text in quotes must end on its line. Close the quotes.", source, position)
        if character not in _PLAIN:
            what = f"`{character}`" if character.isprintable() else f"The character U+{ord(character):04X}"
            raise ExpressionError(f"{what} can only stand in quotes.", source, position)
        depth += (character in "([{") - (character in ")]}")
        if depth > MAX_BRACKETS:
            message = f"More than {MAX_BRACKETS} brackets inside each other. Make it simpler."
            raise ExpressionError(message, source, position)


def _nearest(name: str, known: Iterable[str]) -> str:
    close = [_OTHER_WORDS[name]] if name in _OTHER_WORDS else difflib.get_close_matches(name[:40], list(known), n=1)
    return f"Did you mean `{close[0]}`?" if close else "The list of functions says what there is."
