"""Values of expressions in a syntax tree that are constants, without running anything: literals, simple arithmetic,
names that are assigned once, the defaults of options, dataclass fields and parameters."""

from __future__ import annotations

import ast
import contextlib
import operator
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from playground.imports.found import NotConstant

MOST = 1e30  # of a number on the way
MOST_EXPONENT = 64
MOST_ITEMS = 1000
MOST_DEPTH = 30
MOST_STEPS = 200_000  # of all values of a file together
CHARACTERS = 10  # of a text, that count as one
ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
CASTS: dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "str": str, "bool": bool}


class Constants:
    """The constants of one file: what names are assigned, and the defaults of options, which `args.NAME` asks for."""

    def __init__(self, tree: ast.Module) -> None:
        self._assigned: dict[str, ast.expr] = {}
        self._times: Counter[str] = Counter()
        self._options: dict[str, list[ast.expr]] = {}
        self._parameters: dict[str, list[ast.expr]] = {}
        self._steps = 0
        for node in ast.walk(tree):
            self._look(node)

    def _look(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            self._times[node.id] += 1
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._assigned[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            self._assigned[node.target.id] = node.value
        elif isinstance(node, ast.ClassDef):
            for name, value in fields_of(node):
                self._options.setdefault(name, []).append(value)
        elif isinstance(node, ast.Call):
            self._look_at_call(node)
        elif isinstance(node, ast.arguments):
            for parameter, default in defaults_of(node):
                self._parameters.setdefault(parameter.arg, []).append(default)

    def _look_at_call(self, node: ast.Call) -> None:
        """Defaults of argparse, and the keywords of a call, which `config.model_name` may ask for."""
        keywords = {item.arg: item.value for item in node.keywords if item.arg}
        if name_of(node.func).endswith("add_argument") and node.args and isinstance(node.args[-1], ast.Constant):
            option = str(node.args[-1].value).lstrip("-").replace("-", "_")
            if "default" in keywords:
                self._options.setdefault(option, []).append(keywords["default"])
        elif name_of(node.func).endswith("Config"):
            for name, value in keywords.items():
                self._options.setdefault(name, []).append(value)

    def value(self, node: ast.expr, depth: int = 0) -> Any:
        """Raises: NotConstant."""
        self._steps += 1
        if depth > MOST_DEPTH or self._steps > MOST_STEPS:
            raise NotConstant("it leads from name to name too often")
        if isinstance(node, ast.Constant):
            return self._counted(node.value)
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)) and len(node.elts) <= MOST_ITEMS:
            return [self.value(item, depth + 1) for item in node.elts]
        if isinstance(node, ast.Dict) and len(node.keys) <= MOST_ITEMS:
            return self._of_dictionary(node, depth)
        if isinstance(node, ast.UnaryOp):
            return self._signed(node, depth)
        if isinstance(node, ast.BinOp):
            return self._computed(node, depth)
        if isinstance(node, ast.Name):
            return self._of_name(node.id, depth)
        if isinstance(node, ast.Attribute):
            return self._of_option(node, depth)
        if isinstance(node, ast.Subscript):
            return self._of_item(node, depth)
        if isinstance(node, ast.Call):
            return self._of_call(node, depth)
        raise NotConstant("it is computed when the script runs")

    def _counted(self, value: Any) -> Any:
        """A literal, or a text made of others. A long text that is named a thousand times would fill the memory where
        it is shown."""
        if isinstance(value, (str, bytes)):
            self._steps += len(value) // CHARACTERS
            if self._steps > MOST_STEPS:
                raise NotConstant("the texts of this file are too long")
        return value

    def _of_dictionary(self, node: ast.Dict, depth: int) -> dict[Any, Any]:
        pairs = zip(node.keys, node.values, strict=True)
        found = [(self.value(key, depth + 1), self.value(value, depth + 1)) for key, value in pairs if key is not None]
        try:
            return dict(found)
        except TypeError:  # a key such as [1]
            raise NotConstant("it cannot be computed") from None

    def mapping(self, node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
        """The items of a dictionary, written as one or as `dict(...)`, or of a name that is assigned one once."""
        if isinstance(node, ast.Name) and self._times[node.id] == 1 and node.id in self._assigned:
            node = self._assigned[node.id]
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value
        elif isinstance(node, ast.Call) and name_of(node.func) == "dict":
            yield from ((item.arg, item.value) for item in node.keywords if item.arg)

    def _signed(self, node: ast.UnaryOp, depth: int) -> Any:
        value = self.value(node.operand, depth + 1)
        if isinstance(node.op, ast.Not):
            return not value
        if isinstance(node.op, (ast.USub, ast.UAdd)) and isinstance(value, (int, float)):
            return -value if isinstance(node.op, ast.USub) else value
        raise NotConstant("it is computed when the script runs")

    def _computed(self, node: ast.BinOp, depth: int) -> Any:
        left, right = self.value(node.left, depth + 1), self.value(node.right, depth + 1)
        how = ARITHMETIC.get(type(node.op))
        if how is None or not all(isinstance(side, (int, float)) and abs(side) <= MOST for side in (left, right)):
            raise NotConstant("it is computed when the script runs")
        if isinstance(node.op, ast.Pow) and abs(right) > MOST_EXPONENT:
            raise NotConstant("its exponent is too large")
        try:
            value = how(left, right)
        except (ArithmeticError, ValueError):
            raise NotConstant("it cannot be computed") from None
        if isinstance(value, complex) or not abs(value) <= MOST:
            raise NotConstant("it is too large a number")
        return value

    def _of_name(self, name: str, depth: int) -> Any:
        if self._times[name] > 1:
            raise NotConstant(f"`{name}` is assigned more than once")
        if name in self._assigned:
            return self.value(self._assigned[name], depth + 1)
        if self._times[name] or name not in self._parameters:
            raise NotConstant(f"`{name}` is not a constant of this file")
        return self._agreed(self._parameters[name], name, depth)

    def _of_option(self, node: ast.Attribute, depth: int) -> Any:
        """`args.learning_rate`: the default of that option, where the file has one of that name."""
        found = self._options.get(node.attr, [])
        if isinstance(node.value, ast.Name) and node.value.id in ("torch", "np", "jnp"):
            return node.attr  # torch.bfloat16
        return self._agreed(found, ast.unparse(node), depth)

    def _agreed(self, found: list[ast.expr], name: str, depth: int) -> Any:
        """What all defaults of a name say that are known."""
        values = []
        for option in found:
            with contextlib.suppress(NotConstant):
                values.append(self.value(option, depth + 1))
        if not values or any(value != values[0] for value in values):
            raise NotConstant(f"`{name[:60]}` is not known from this file")
        return values[0]

    def _of_item(self, node: ast.Subscript, depth: int) -> Any:
        whole, key = self.value(node.value, depth + 1), self.value(node.slice, depth + 1)
        try:
            return whole[key]
        except (KeyError, IndexError, TypeError):
            raise NotConstant(f"`{ast.unparse(node)[:60]}` is not known from this file") from None

    def _of_call(self, node: ast.Call, depth: int) -> Any:
        name = name_of(node.func)
        if name == "dict" and not node.args:
            return {item.arg: self.value(item.value, depth + 1) for item in node.keywords if item.arg}
        if name == "field":  # of a dataclass
            default = next((item.value for item in node.keywords if item.arg == "default"), None)
            if default is not None:
                return self.value(default, depth + 1)
        if name in CASTS and len(node.args) == 1:
            try:
                return self._counted(CASTS[name](self.value(node.args[0], depth + 1)))
            except (ValueError, TypeError, OverflowError):
                raise NotConstant("it cannot be computed") from None
        raise NotConstant("it is computed when the script runs")


def name_of(node: ast.expr) -> str:
    """`trl.PPOConfig` as it is written; "" for what has no name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}".lstrip(".")
    return ""


def fields_of(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """What the body of a class gives names to."""
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.value is not None:
            yield item.target.id, item.value
        elif isinstance(item, ast.Assign) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name):
            yield item.targets[0].id, item.value


def defaults_of(node: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    """The parameters of a function that have a default."""
    positional = [*node.posonlyargs, *node.args]
    yield from zip(positional[len(positional) - len(node.defaults) :], node.defaults, strict=True)
    for parameter, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
        if default is not None:
            yield parameter, default
