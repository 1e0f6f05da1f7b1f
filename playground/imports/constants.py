"""Values of expressions in a syntax tree that are constants, without running anything: literals, simple arithmetic,
names to which the file gives one value, the defaults of options, dataclass fields and parameters."""

from __future__ import annotations

import ast
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from playground.imports.found import Unknown

MOST_NUMBER = 1e30  # on the way
MOST_EXPONENT = 64
MOST_STEPS = 200_000  # of all values of a file together
CHARACTERS_A_STEP = 10
ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}
LIBRARIES = ("torch", "np", "jnp")
MAPPINGS = ("dict", "BitsAndBytesConfig")  # calls that only keep what they are given
COMPUTED = "it is computed when the script runs"
FAILURES = (ArithmeticError, ValueError, TypeError, LookupError, RecursionError)


class NotConstant(Exception):
    """Why a value cannot be known without running the file, in words that follow a colon."""


class Constants:
    """The constants of one file. `_given`: what each name is given; an option or a field has a dot in front of its
    name, for `args.NAME` asks for it; None is what no expression of the file says."""

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        self._given: dict[str, list[ast.expr | None]] = defaultdict(list)
        self._items: dict[str, dict[str, ast.expr]] = defaultdict(dict)  # of dictionaries, set afterwards
        self._steps = 0
        self._asked: set[str] = set()  # names whose values are being looked up
        plain: set[int] = set()  # ids of the names that statements assign
        nodes = [*nodes]
        classes = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
        made = [node for node in nodes if isinstance(node, ast.Call) and name_of(node.func) in classes]
        anew = {f".{name}" for call in made for name, _ in keywords_of(call)}  # what the class says of them is void
        for call in made:
            for name, value in keywords_of(call):
                self._given[f".{name}"].append(value)
        for node in nodes:
            for name, value in given(node):
                if name not in anew or not isinstance(node, ast.ClassDef):
                    self._given[name].append(value)
            for target, value in assignments(node):
                plain.add(id(target))
                if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                    self._items[name_of(target.value)][str(target.slice.value)] = value
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in plain:
                self._given[node.id].append(None)

    def value(self, node: ast.expr) -> Any:
        """The value; `Unknown` if it is no constant."""
        try:
            return self._value(node)
        except NotConstant as reason:
            why = str(reason)
        except FAILURES:
            why = "it cannot be computed"
        return Unknown(ast.unparse(node)[:200], why)

    def _value(self, node: ast.expr | None) -> Any:
        self._count(1)
        match node:
            case ast.Constant(value=literal):  # a text that is named a thousand times would fill the memory
                if isinstance(literal, str | bytes):
                    self._count(len(literal) // CHARACTERS_A_STEP)
                return literal
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self._value(item) for item in items]
            case ast.Dict() | ast.Call(func=ast.Name(id="dict"), args=[]):
                return {name: self._value(value) for name, value in self.mapping(node).items()}
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._value(operand)
            case ast.BinOp(left=left, op=how, right=right):
                return _computed(type(how), self._value(left), self._value(right))
            case ast.JoinedStr(values=parts):
                return "".join(str(self._value(part)) for part in parts)
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                return self._value(value)
            case ast.Call(func=ast.Name(id="int" | "float" as kind), args=[number], keywords=[]):
                return {"int": int, "float": float}[kind](self._value(number))
            case ast.Name(id=name):
                return self._of_name(name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in LIBRARIES:
                return attribute  # torch.bfloat16
            case ast.Attribute(attr=attribute):  # `args.learning_rate`
                return self._of_name(f".{attribute}")
            case ast.Subscript(value=whole, slice=ast.Constant(value=key)):  # `config["lr"]`
                return self._value(self.mapping(whole).get(str(key)))
            case ast.Call(func=ast.Name(id="field")):  # of a dataclass
                return self._value(dict(keywords_of(node)).get("default"))
        raise NotConstant(COMPUTED)

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MOST_STEPS:
            raise NotConstant("the values of this file are too long")

    def _of_name(self, name: str) -> Any:
        """The one value that a name is given everywhere. Of an option those that are known count."""
        is_option, values = name.startswith("."), []
        for node in self._given[name] if name not in self._asked else ():
            self._asked.add(name)
            try:
                values.append(self._value(node))
            except NotConstant:
                if not is_option:
                    raise
            finally:
                self._asked.discard(name)
        if not values or any(value != values[0] for value in values):
            raise NotConstant(f"`{name.lstrip('.')[:60]}` has no one value in this file")
        return values[0]

    def mapping(self, node: ast.expr) -> dict[str, ast.expr]:
        """The items of a dictionary, written as one or as a call that makes one, or of a name that is given it."""
        later: dict[str, ast.expr] = {}
        items: dict[str, ast.expr] = {}
        if isinstance(node, ast.Name) and len(self._given[node.id]) == 1:
            later = self._items[node.id]
            node = self._given[node.id][0] or node
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant):
                    items[str(key.value)] = value
                elif key is None:  # {**others}
                    items |= self.mapping(value) or {"**": value}
        elif isinstance(node, ast.Call) and last_name(node) in MAPPINGS:
            items = dict(keywords_of(node))
        return items | later


def _computed(how: type[ast.operator], left: Any, right: Any) -> Any:
    if how is ast.Add and isinstance(left, str) and isinstance(right, str):
        return left + right
    if how not in ARITHMETIC or not isinstance(left, int | float) or not isinstance(right, int | float):
        raise NotConstant(COMPUTED)
    value, most = None, MOST_NUMBER
    if how is ast.Pow:
        most = MOST_EXPONENT
    if abs(left) <= MOST_NUMBER and abs(right) <= most:
        value = ARITHMETIC[how](left, right)
    if not isinstance(value, int | float) or not abs(value) <= MOST_NUMBER:
        raise NotConstant("it is too large a number")
    return value


def name_of(node: ast.expr) -> str:
    """`trl.PPOConfig` as it is written; "" for what has no name."""
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}".lstrip(".")
    return node.id if isinstance(node, ast.Name) else ""


def last_name(call: ast.Call) -> str:
    """What is called, without what stands before its last dot."""
    return name_of(call.func).rpartition(".")[2]


def keywords_of(call: ast.Call) -> list[tuple[str, ast.expr]]:
    return [(item.arg, item.value) for item in call.keywords if item.arg]


def assignments(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """What a statement gives a value, and the value."""
    if isinstance(node, ast.Assign):
        pairs = [(target, node.value) for target in node.targets]
        for target, value in list(pairs):
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                pairs += zip(target.elts, value.elts, strict=True)
        return pairs
    if isinstance(node, ast.AnnAssign) and node.value:
        return [(node.target, node.value)]
    return []


def assigned(node: ast.AST) -> list[tuple[str, ast.expr]]:
    """The names that a statement gives a value, and the value."""
    return [(target.id, value) for target, value in assignments(node) if isinstance(target, ast.Name)]


def given(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement, a class, a call or the parameters of a function give values. An option or a field has
    a dot in front of its name."""
    yield from assigned(node)
    if isinstance(node, ast.ClassDef):
        yield from ((f".{name}", value) for item in node.body for name, value in assigned(item))
    elif isinstance(node, ast.arguments):
        positional = [*node.posonlyargs, *node.args]
        parameters = [*positional[len(positional) - len(node.defaults) :], *node.kwonlyargs]
        for parameter, default in zip(parameters, [*node.defaults, *node.kw_defaults], strict=True):
            if default is not None:
                yield parameter.arg, default
    elif isinstance(node, ast.Call) and last_name(node).endswith("Config"):
        yield from ((f".{name}", value) for name, value in keywords_of(node))
    elif isinstance(node, ast.Call) and last_name(node) == "add_argument":
        options = [str(item.value) for item in node.args if isinstance(item, ast.Constant)]
        names = [option for option in options if option.startswith("--")] or options
        for name, value in keywords_of(node):
            if name == "dest" and isinstance(value, ast.Constant):
                names = [str(value.value)]
        for name, value in keywords_of(node):
            if names and name == "default":
                yield "." + names[0].lstrip("-").replace("-", "_"), value
