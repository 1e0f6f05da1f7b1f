"""Values of expressions in a syntax tree that are constants, without running anything: literals, simple arithmetic,
names that are assigned once, the defaults of options, dataclass fields and parameters."""

from __future__ import annotations

import ast
import contextlib
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from playground.imports.found import NotConstant

MOST_NUMBER = 1e30  # on the way
MOST_EXPONENT = 64
MOST_STEPS = 200_000  # of all values of a file together
CHARACTERS_A_STEP = 10
ARITHMETIC = {
    "Add": "add",
    "Sub": "sub",
    "Mult": "mul",
    "Div": "truediv",
    "FloorDiv": "floordiv",
    "Mod": "mod",
    "Pow": "pow",
}
CASTS: dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "str": str, "bool": bool}
LIBRARIES = ("torch", "np", "jnp")
COMPUTED = "it is computed when the script runs"
TOO_LARGE = "it is too large a number"


class Constants:
    """The constants of one file: what names are assigned, and the defaults of options, which `args.NAME` asks for."""

    def __init__(self, tree: ast.Module) -> None:
        self._assigned: dict[str, ast.expr] = {}
        self._times: Counter[str] = Counter()
        self._options: dict[str, list[ast.expr]] = defaultdict(list)
        self._parameters: dict[str, list[ast.expr]] = defaultdict(list)
        self._steps = 0
        self._asked: set[str] = set()  # names whose defaults are being looked up
        for node in ast.walk(tree):
            self._look(node)

    def _look(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            self._times[node.id] += 1
        for name, value in assigned(node):
            self._assigned[name] = value
        if isinstance(node, ast.ClassDef):
            for item in node.body:
                for name, value in assigned(item):
                    self._options[name].append(value)
        elif isinstance(node, ast.Call):
            for name, value in _defaults_of_options(node):
                self._options[name].append(value)
        elif isinstance(node, ast.arguments):
            for name, value in defaults_of(node):
                self._parameters[name].append(value)

    def value(self, node: ast.expr) -> Any:
        """Raises: NotConstant."""
        try:
            return self._value(node)
        except RecursionError:
            raise NotConstant("it leads from name to name too often") from None
        except (ArithmeticError, ValueError, TypeError, LookupError):
            raise NotConstant("it cannot be computed") from None

    def _value(self, node: ast.expr) -> Any:
        self._count(1)
        match node:
            case ast.Constant(value=literal):
                return self._counted(literal)
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return [self._value(item) for item in items]
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                return {self._value(key): self._value(value) for key, value in pairs if key is not None}
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self._value(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._value(operand)
            case ast.BinOp(left=left, op=how, right=right):
                return _computed(how, self._value(left), self._value(right))
            case ast.Name(id=name):
                return self._of_name(name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in LIBRARIES:
                return attribute  # torch.bfloat16
            case ast.Attribute(attr=attribute):  # `args.learning_rate`
                return self._agreed(self._options.get(attribute, []), ast.unparse(node))
            case ast.Subscript(value=whole, slice=key):
                return self._value(whole)[self._value(key)]
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
                return {item.arg: self._value(item.value) for item in keywords if item.arg}
            case ast.Call(func=ast.Name(id="field"), keywords=keywords):  # of a dataclass
                for item in keywords:
                    if item.arg == "default":
                        return self._value(item.value)
            case ast.Call(func=ast.Name(id=name), args=[argument]) if name in CASTS:
                return self._counted(CASTS[name](self._value(argument)))
        raise NotConstant(COMPUTED)

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MOST_STEPS:
            raise NotConstant("the values of this file are too long")

    def _counted(self, value: Any) -> Any:
        """A text that is named a thousand times would fill the memory where it is shown."""
        if isinstance(value, (str, bytes)):
            self._count(len(value) // CHARACTERS_A_STEP)
        return value

    def _of_name(self, name: str) -> Any:
        if self._times[name] > 1:
            raise NotConstant(f"`{name}` is assigned more than once")
        if name in self._assigned:
            return self._value(self._assigned[name])
        if self._times[name] or name not in self._parameters:
            raise NotConstant(f"`{name}` is not a constant of this file")
        return self._agreed(self._parameters[name], name)

    def _agreed(self, found: list[ast.expr], name: str) -> Any:
        """What all defaults of a name say that are known."""
        asked, values = name.rpartition(".")[2], []
        for option in found if asked not in self._asked else ():
            self._asked.add(asked)
            with contextlib.suppress(NotConstant):
                values.append(self._value(option))
            self._asked.discard(asked)
        if not values or any(value != values[0] for value in values):
            raise NotConstant(f"`{name[:60]}` is not known from this file")
        return values[0]

    def mapping(self, node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
        """The items of a dictionary, written as one or as `dict(...)`, or of a name that is assigned one once."""
        if isinstance(node, ast.Name) and self._times[node.id] == 1:
            node = self._assigned.get(node.id, node)
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value
        elif isinstance(node, ast.Call) and name_of(node.func) == "dict":
            yield from ((item.arg, item.value) for item in node.keywords if item.arg)


def _computed(how: ast.operator, left: Any, right: Any) -> Any:
    name = type(how).__name__
    if name not in ARITHMETIC or not all(isinstance(side, int | float) for side in (left, right)):
        raise NotConstant(COMPUTED)
    if abs(left) > MOST_NUMBER or abs(right) > (MOST_EXPONENT if name == "Pow" else MOST_NUMBER):
        raise NotConstant(TOO_LARGE)
    value = getattr(operator, ARITHMETIC[name])(left, right)
    if isinstance(value, complex) or not abs(value) <= MOST_NUMBER:
        raise NotConstant(TOO_LARGE)
    return value


def _defaults_of_options(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Defaults of argparse, and the keywords of a call, which `config.model_name` may ask for."""
    keywords = {item.arg: item.value for item in node.keywords if item.arg}
    if name_of(node.func).endswith("Config"):
        yield from keywords.items()
    elif name_of(node.func).endswith("add_argument") and "default" in keywords:
        for option in [item for item in node.args if isinstance(item, ast.Constant)][-1:]:
            yield str(option.value).lstrip("-").replace("-", "_"), keywords["default"]


def name_of(node: ast.expr) -> str:
    """`trl.PPOConfig` as it is written; "" for what has no name."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{name_of(node.value)}.{node.attr}".lstrip(".") if isinstance(node, ast.Attribute) else ""


def assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The name that a statement gives a value, and the value."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id, node.value
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        yield node.targets[0].id, node.value


def defaults_of(node: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """The parameters of a function that have a default."""
    positional = [*node.posonlyargs, *node.args]
    with_default = positional[len(positional) - len(node.defaults) :]
    for parameter, default in [
        *zip(with_default, node.defaults, strict=True),
        *zip(node.kwonlyargs, node.kw_defaults, strict=True),
    ]:
        if default is not None:
            yield parameter.arg, default
