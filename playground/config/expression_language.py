"""The language of the reward kind `expression`: text in, a checked tree out. Nothing is computed here.

An expression is written like Python and is not Python: it is bounded in length and nesting before anything parses it,
parsed to a syntax tree that is never compiled, and only what stands in a short list gets over into a tree of our own,
with numbers and texts told apart. There are no attributes, indices, loops, names or calls but those of
`expression_functions`.

`config.reward_settings` checks an expression by it, `rewards/expressions.py` computes what the tree says.
"""

from __future__ import annotations

import ast
import difflib
import re
import string
import threading
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from playground.config import patterns
from playground.config.expression_functions import FUNCTIONS, PATTERN, TEXTS, WRITTEN_OUT, Type

MAX_CHARACTERS = 2000
MAX_BRACKETS = 32  # inside each other
MAX_NODES = 300
MAX_DEPTH = 60
MAX_UNICODE_CLASSES = 8  # in all patterns together
MAX_WORD_CHARACTERS = 100  # as in the reward of keywords
NUMBER_LIMIT = 1e15  # no number, written or computed, may be beyond it
VARIABLES = ("prompt", "completion")
NOTHING = "nothing"
_OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
}  # fmt: skip
_COMPARISONS: dict[type, str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_OTHER_WORDS = {"None": "nothing", "len": "characters", "true": "True", "false": "False", "text": "completion",
                "response": "completion", "re": "matches", "length": "words", "output": "completion"}  # fmt: skip
_SYNTAX = {
    "was never closed": "This bracket is never closed. Close it.",
    "unmatched": "This bracket closes none. Take it away, or open one before it.",
    "does not match": "This bracket is not the one that closes the open one.",
    "unterminated string": "These quotes are never closed. Close them.",
    "expected 'else'": "A choice needs both ways: `a if condition else b`.",
    "forgot a comma": "A comma or an operator is missing here.",
}
_QUOTES = ("'", '"')
_OPEN, _CLOSE = "([{", ")]}"
_PLAIN = frozenset(string.printable) - {"\x0b", "\x0c"}  # what may stand outside quotes
_parsing = threading.Lock()  # `warnings.catch_warnings` is not for several threads at once


class Node(NamedTuple):
    """One part of a checked expression.

    Attributes:
        op: number, text, nothing, variable, call, not, negative, and, or, if, compare, join, or an operator of
            arithmetic. value: of a literal, its value; the name of a variable or function; the signs of a comparison.
        parts: what it is computed from; of `if`: condition, then, else. start, end: where it stands in the text.
    """

    op: str
    type: Type
    value: Any
    parts: tuple[Node, ...]
    start: int
    end: int


class ExpressionError(ValueError):
    """What is wrong with an expression: where, and what to do. Its text is one or two sentences."""

    def __init__(self, message: str, source: str = "", start: int | None = None, end: int | None = None) -> None:
        self.position = start
        where = "" if start is None else f"{place(source, start, end)}: "
        super().__init__(where + message)


def place(source: str, start: int, end: int | None = None) -> str:
    """Where something stands, for example "Character 9, `foo(x)`"; characters count from 1."""
    line = source.count("\n", 0, start)
    column = start - (source.rfind("\n", 0, start) + 1) + 1
    told = f"line {line + 1}, character {column}" if "\n" in source else f"character {column}"
    fragment = " ".join(source[start:end].split()) if end is not None else ""
    fragment = fragment if len(fragment) <= 40 else fragment[:37] + "..."
    return f"{told[0].upper()}{told[1:]}{f', `{fragment}`' if fragment else ''}"


def parse(source: str) -> Node:
    """The checked tree of an expression that gives a number.

    Raises:
        ExpressionError: it is too long or too deep, is no expression, or has something that does not belong in one.
    """
    _check_text(source)
    flat = re.sub(r"[\n\r\t]", " ", source)  # one for one, so that positions stay; a line break may stand anywhere
    shift = len(flat) - len(flat.lstrip(" "))
    tree = _syntax_tree(source, flat, shift)
    _check_size(source, tree)
    node = _Walk(source, flat, shift).node(tree)
    if node.type != "number":
        message = "This gives a text; a reward is a number. Measure it, for example with words(...)."
        raise ExpressionError(message, source, node.start, node.end)
    return node


def _check_text(source: str) -> None:
    """Length, characters, brackets and quotes, before anything parses the text."""
    if len(source) > MAX_CHARACTERS:
        message = f"The expression has {len(source):,} characters; at most {MAX_CHARACTERS:,} are possible. Shorten it."
        raise ExpressionError(message)
    if not source.strip():
        raise ExpressionError("The expression is empty. Write one, for example words(completion).")
    depth, quote, raw, position = 0, "", False, 0
    while position < len(source):
        character = source[position]
        if quote:
            if character == "\\":
                _check_escape(source, position, raw)
                position += 1
            elif character == quote:
                quote = ""
            elif character in "\n\r\0":
                raise ExpressionError("A text in quotes must end on its line. Close the quotes.", source, position)
        elif character in _QUOTES:
            if source.startswith(character * 3, position):
                raise ExpressionError("Use one quotation mark at each end, not three.", source, position)
            quote, raw = character, position > 0 and source[position - 1] in "rR"
        elif character not in _PLAIN:
            what = f"`{character}`" if character.isprintable() else f"The character U+{ord(character):04X}"
            raise ExpressionError(f"{what} can only stand in quotes.", source, position)
        elif character in "#\\":
            raise ExpressionError(f"`{character}` can only stand in quotes.", source, position)
        else:
            depth += (character in _OPEN) - (character in _CLOSE)
            if depth > MAX_BRACKETS:
                message = f"More than {MAX_BRACKETS} brackets inside each other. Make it simpler."
                raise ExpressionError(message, source, position)
        position += 1


def _check_escape(source: str, position: int, raw: bool) -> None:
    """A backslash in quotes: a pattern's, after r, or one of the few that mean a character."""
    following = source[position + 1 : position + 2]
    if not raw and following not in ("n", "t", "\\", "'", '"'):
        message = 'Put an r in front of the quotes of a pattern, for example r"\\bgood\\b".'
        raise ExpressionError(message, source, position, position + 2)


def _syntax_tree(source: str, flat: str, shift: int) -> ast.expr:
    try:
        with _parsing, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "is" with a literal, for example; refused further on
            return ast.parse(flat[shift:], mode="eval").body
    except SyntaxError as error:
        position = min((error.offset or len(source)) - 1 + shift, max(len(source) - 1, 0))
        raise ExpressionError(_syntax_in_words(str(error.msg), flat), source, position) from None
    except (ValueError, RecursionError, MemoryError):
        raise ExpressionError("The expression is nested too deeply, or a number is too long.") from None


def _syntax_in_words(told: str, flat: str) -> str:
    """What Python's parser says of a text, in the words of this language."""
    if re.search(r"[^=!<>]=(?!=)", re.sub(r"""(["']).*?\1""", "", flat)):
        return "Write == to compare; nothing is set here."
    for words, sentence in _SYNTAX.items():
        if words in told:
            return sentence
    return "This is not a complete expression. Check operators, brackets, commas and quotes around here."


def _check_size(source: str, tree: ast.expr) -> None:
    """Few enough parts, and not too deep; without recursion, because the depth is not known to be small yet."""
    nodes, depth = 0, 0
    level: list[ast.AST] = [tree]
    while level:
        nodes, depth = nodes + len(level), depth + 1
        if nodes > MAX_NODES:
            raise ExpressionError(f"The expression has more than {MAX_NODES} parts. Make it shorter.")
        if depth > MAX_DEPTH:
            raise ExpressionError(f"The expression is nested more than {MAX_DEPTH} deep. Make it simpler.")
        level = [
            child
            for node in level
            for child in ast.iter_child_nodes(node)
            if isinstance(child, (ast.expr, ast.comprehension, ast.keyword, ast.arguments))
        ]


class _Walk:
    """From Python's syntax tree to ours: whatever has no method here is refused."""

    def __init__(self, source: str, flat: str, shift: int) -> None:
        self._source, self._shift = source, shift
        self._bytes = flat[shift:].encode("utf-8")  # Python counts bytes
        self._unicode_classes = 0

    def node(self, tree: ast.expr) -> Node:
        """The checked part. Raises: see `parse`."""
        walk: Callable[[Any], Node] | None = getattr(self, f"_{type(tree).__name__.lower()}", None)
        if walk is None:
            name = _NAMES_OF_REFUSED.get(type(tree), "This")
            known = "numbers, texts in quotes, prompt, completion, operators, `a if b else c`, and functions"
            raise self._error(tree, f"{name} cannot be used here; there are only {known}.")
        return walk(tree)

    def _error(self, tree: ast.expr, message: str) -> ExpressionError:
        return ExpressionError(message, self._source, *self._span(tree))

    def _span(self, tree: ast.expr) -> tuple[int, int]:
        def characters(offset: int) -> int:
            return len(self._bytes[:offset].decode("utf-8", "ignore")) + self._shift

        return characters(tree.col_offset), characters(tree.end_col_offset or tree.col_offset)

    def _made(self, tree: ast.expr, op: str, type_: Type, value: Any = None, *parts: Node) -> Node:
        return Node(op, type_, value, parts, *self._span(tree))

    def _number(self, tree: ast.expr, why: str) -> Node:
        """A part that must be a number."""
        node = self.node(tree)
        if node.type != "number":
            raise self._error(tree, f"{why} a number, and this is a text. Measure it, for example with words(...).")
        return node

    def _constant(self, tree: ast.Constant) -> Node:
        value = tree.value
        if isinstance(value, str):
            return self._made(tree, "text", "text", value)
        if value is None:
            raise self._error(tree, "Write `nothing` for no opinion.")
        if not isinstance(value, (bool, int, float)):
            raise self._error(tree, "This is neither a number nor a text in quotes.")
        if not abs(value) <= NUMBER_LIMIT:
            raise self._error(tree, f"Numbers go up to {NUMBER_LIMIT:g}.")
        return self._made(tree, "number", "number", float(value))

    def _name(self, tree: ast.Name) -> Node:
        if tree.id == NOTHING:
            return self._made(tree, "nothing", "number")
        if tree.id in VARIABLES:
            return self._made(tree, "variable", "text", tree.id)
        if tree.id in FUNCTIONS:
            raise self._error(tree, f"This is a function: write {FUNCTIONS[tree.id].written(tree.id)}.")
        raise self._error(tree, f"There is no such name. {_nearest(tree.id, (*VARIABLES, NOTHING, *FUNCTIONS))}")

    def _binop(self, tree: ast.BinOp) -> Node:
        sign = _OPERATORS.get(type(tree.op))
        if sign is None:
            raise self._error(tree, "There are + - * / // % and **; for a condition write `and`, `or`, `not`.")
        left, right = self.node(tree.left), self.node(tree.right)
        if sign == "+" and (left.type, right.type) == ("text", "text"):
            return self._made(tree, "join", "text", None, left, right)
        for part, node in ((tree.left, left), (tree.right, right)):
            if node.type != "number":
                message = f"`{sign}` needs numbers, and this is a text. Measure it, for example with words(...)."
                raise self._error(part, message)
        return self._made(tree, sign, "number", None, left, right)

    def _unaryop(self, tree: ast.UnaryOp) -> Node:
        if isinstance(tree.op, ast.Invert):
            raise self._error(tree, "There is no `~`. Write `not`.")
        inner = self._number(tree.operand, "This needs")
        if isinstance(tree.op, ast.UAdd):
            return inner
        return self._made(tree, "not" if isinstance(tree.op, ast.Not) else "negative", "number", None, inner)

    def _boolop(self, tree: ast.BoolOp) -> Node:
        op = "and" if isinstance(tree.op, ast.And) else "or"
        parts = [self._number(value, f"`{op}` needs a condition or") for value in tree.values]
        return self._made(tree, op, "number", None, *parts)

    def _ifexp(self, tree: ast.IfExp) -> Node:
        condition = self._number(tree.test, "After `if` stands a condition or")
        then, other = self.node(tree.body), self.node(tree.orelse)
        if then.type != other.type:
            raise self._error(tree, "One way gives a number and the other a text. Both must be of the same sort.")
        return self._made(tree, "if", then.type, None, condition, then, other)

    def _compare(self, tree: ast.Compare) -> Node:
        signs = [_COMPARISONS.get(type(op)) for op in tree.ops]
        if None in signs:
            raise self._error(tree, "There is no `is`. Write == or !=.")
        trees = [tree.left, *tree.comparators]
        parts = [self.node(part) for part in trees]
        for position, sign in enumerate(signs):
            pair = (parts[position].type, parts[position + 1].type)
            if sign in ("in", "not in"):
                if pair != ("text", "text"):
                    raise self._error(tree, f'`{sign}` looks for a text in a text, for example "thank" in completion.')
            elif pair[0] != pair[1]:
                raise self._error(tree, "A number and a text cannot be compared. Measure the text first.")
            elif pair == ("text", "text") and sign not in ("==", "!="):
                raise self._error(tree, f"Texts have no order here, so `{sign}` needs numbers. Use == or !=.")
        return self._made(tree, "compare", "number", tuple(signs), *parts)

    def _call(self, tree: ast.Call) -> Node:
        if not isinstance(tree.func, ast.Name):
            raise self._error(tree, "Only the functions of the list can be called, by their names.")
        name = tree.func.id
        signature = FUNCTIONS.get(name)
        if signature is None:
            raise self._error(tree.func, f"There is no such function. {_nearest(name, FUNCTIONS)}")
        written = signature.written(name)
        if tree.keywords or any(isinstance(argument, ast.Starred) for argument in tree.args):
            raise self._error(tree, f"Give the values in their order, without names or stars: {written}.")
        given = len(tree.args)
        if given < signature.fewest or (given > len(signature.parameters) and not signature.many):
            raise self._error(tree, f"This has {given} values. Write {written}.")
        parts = [self._argument(name, signature.parameter(i), argument) for i, argument in enumerate(tree.args)]
        return self._made(tree, "call", signature.gives, name, *parts)

    def _argument(self, function: str, parameter: str, tree: ast.expr) -> Node:
        node = self.node(tree)
        wanted: Type = "text" if parameter in (*TEXTS, PATTERN) else "number"
        if node.type != wanted:
            got = "text" if wanted == "number" else "number"
            raise self._error(tree, f"`{parameter}` of {function} is a {wanted}, and this is a {got}.")
        if parameter in ("part", "start", "end", "word") and node.op == "text" and not node.value:
            raise self._error(tree, f"`{parameter}` of {function} must not be empty.")
        if parameter in WRITTEN_OUT and node.op != "text":
            raise self._error(tree, f"`{parameter}` of {function} is written out in quotes, so that it can be checked.")
        if parameter == "word" and len(node.value) > MAX_WORD_CHARACTERS:
            raise self._error(tree, f"A word has at most {MAX_WORD_CHARACTERS} characters.")
        if parameter == PATTERN:
            self._unicode_classes += patterns.unicode_classes(node.value)
            if self._unicode_classes > MAX_UNICODE_CLASSES:
                message = f"All patterns together name at most {MAX_UNICODE_CLASSES} classes of Unicode, such as \\pL."
                raise self._error(tree, f"{message} Leave some away.")
            try:
                patterns.linear(node.value)
            except patterns.PatternError as error:
                raise self._error(tree, str(error)) from None
        return node


_NAMES_OF_REFUSED: dict[type, str] = {
    ast.Attribute: "A dot with a name behind it", ast.Subscript: "An index in brackets", ast.Lambda: "A lambda",
    ast.ListComp: "A loop", ast.SetComp: "A loop", ast.DictComp: "A loop", ast.GeneratorExp: "A loop",
    ast.JoinedStr: "A text with holes (f in front of the quotes)", ast.NamedExpr: "`:=`", ast.Starred: "A star",
    ast.List: "A list", ast.Tuple: "A list of values", ast.Set: "A set", ast.Dict: "A table in braces",
    ast.Await: "`await`", ast.Yield: "`yield`", ast.YieldFrom: "`yield`",
}  # fmt: skip


def _nearest(name: str, known: Any) -> str:
    close = [_OTHER_WORDS[name]] if name in _OTHER_WORDS else difflib.get_close_matches(name[:40], list(known), n=1)
    return f"Did you mean `{close[0]}`?" if close else "The list of functions says what there is."
