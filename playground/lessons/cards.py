r"""The answer card of a lesson: an argument in steps, each a line of words and a formula, and that once more with the
numbers of a run.

A formula is TeX, which becomes a tree of MathML, never text with markup. In it `\fact{kl}` is a figure of the run, and
`\fact{score / beta}` is computed of figures. An element or attribute that is not on the list is refused here, and once
more where the page makes elements of the tree (ui/static/lessons/formula.js). Knows no lesson: `checking` and `reveal`
call it.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from xml.etree import ElementTree

from playground.lessons.facts import shortly

FACT = re.compile(r"\\fact\{([^{}]*)\}")
_NAME = re.compile(r"(?<![\w.])[a-z_][a-z0-9_.]*(?:-[a-z][a-z0-9_.]*)*")
_FUNCTIONS: dict[str, Callable[[float], float]] = {"sqrt": math.sqrt, "log": math.log, "exp": math.exp}
_OPERATORS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
}
_SPACE = "{http://www.w3.org/1998/Math/MathML}"
ELEMENTS = {
    *"math mrow mi mn mo mtext mspace mfrac mroot msqrt msup msub msubsup munder mover munderover".split(),
    *"mtable mtr mtd mstyle mpadded mphantom".split(),
}
ATTRIBUTES = {
    *"display displaystyle scriptlevel mathvariant width height depth stretchy fence form separator".split(),
    *"minsize maxsize lspace rspace movablelimits accent accentunder columnalign columnspacing rowspacing".split(),
    *"linethickness symmetric".split(),
}
_PARTS = {"mfrac": 2, "mroot": 2, "msup": 2, "msub": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}


class FormulaError(ValueError):
    """What is wrong with a formula, and what to do."""


@dataclass(frozen=True)
class Formula:
    """An element of MathML: its name without the namespace, attributes, and what is in it."""

    name: str
    attributes: Mapping[str, str]
    parts: tuple[Formula | str, ...]


@dataclass(frozen=True)
class WorkedStep:
    """A step with a run's figures, and its formulas, if there are any."""

    say: str
    math: Formula | None
    numbers: Formula | None


@dataclass(frozen=True)
class WorkedCard:
    """A card with a run's figures."""

    title: str
    steps: tuple[WorkedStep, ...]


def names(tex: str) -> list[str]:
    """The facts that a formula names. Raises: FormulaError, if something in it cannot be computed."""
    return [name for text in FACT.findall(tex) for name in _parsed(text)[0]]


@functools.lru_cache(maxsize=1024)
def formula(tex: str) -> Formula:
    """A formula without facts. Raises: FormulaError."""
    from latex2mathml import converter  # reads its tables of symbols: only where a card is shown

    plain = re.sub(r"\\[{}\\]", "", tex)
    if plain.count("{") != plain.count("}"):
        raise FormulaError("has a brace without its other one.")
    try:
        root = ElementTree.fromstring(converter.convert(tex, display="block"))
    except Exception as error:  # not ours: it has no common class of errors, and may fail in any way
        raise FormulaError(
            f"cannot be read as TeX ({type(error).__name__}). Try a part of it after the other."
        ) from None
    return _tree(root)


def with_facts(tex: str, values: Mapping[str, float | None]) -> Formula | None:
    """A formula with figures in the place of its facts; None where one is not known, or cannot be computed. Raises:
    FormulaError."""
    try:
        filled = FACT.sub(lambda match: "{" + digits(_value(match[1], values)) + "}", tex)
    except (KeyError, ArithmeticError, ValueError):
        return None
    if filled:
        return formula(filled)
    return None


def digits(value: float) -> str:
    """A number for a formula: digits, a point and a minus, and nothing else. Raises: ArithmeticError (it is none)."""
    if not math.isfinite(value):
        raise ArithmeticError(value)
    if value == int(value):
        return str(int(value))
    return format(Decimal(shortly(value).replace(",", "")), "f")


def _tree(element: ElementTree.Element) -> Formula:
    name = element.tag.removeprefix(_SPACE)
    parts: list[Formula | str] = [element.text or ""]
    for child in element:
        parts += [_tree(child), child.tail or ""]
    for text in parts:
        if isinstance(text, str) and (unknown := re.search(r"\\[a-zA-Z]+", text)):
            raise FormulaError(f"has `{unknown[0]}`, which is not known here. Write it in another way.")
    if name not in ELEMENTS:
        raise FormulaError(f"becomes <{name[:40]}>, which is not shown. Write it in another way.")
    if unknown_ones := sorted({*element.attrib} - ATTRIBUTES):
        raise FormulaError(f"asks for `{unknown_ones[0][:40]}`, which is not shown. Leave it out.")
    if name in _PARTS and len(element) != _PARTS[name]:
        raise FormulaError("has a fraction or a power of which a part is missing.")
    return Formula(name, dict(element.attrib), tuple(part for part in parts if part))


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> tuple[tuple[str, ...], ast.expr]:
    """The facts that are named, and the calculation, in which the nth is `xn`. Raises: FormulaError."""
    known = tuple(dict.fromkeys(name for name in _NAME.findall(text) if name not in _FUNCTIONS))
    source = _NAME.sub(lambda match: match[0] if match[0] in _FUNCTIONS else f"x{known.index(match[0])}", text)
    try:
        tree = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None or not _may_be_computed(tree):
        raise FormulaError(f"cannot compute `{text[:60]}`: use facts, numbers, + - * / ( ), sqrt, log and exp.")
    return known, tree


def _may_be_computed(tree: ast.AST) -> bool:
    if isinstance(tree, ast.BinOp):
        return type(tree.op) in _OPERATORS and _may_be_computed(tree.left) and _may_be_computed(tree.right)
    if isinstance(tree, ast.UnaryOp):
        return isinstance(tree.op, ast.USub) and _may_be_computed(tree.operand)
    if isinstance(tree, ast.Call):
        is_known = isinstance(tree.func, ast.Name) and tree.func.id in _FUNCTIONS
        return is_known and len(tree.args) == 1 and not tree.keywords and _may_be_computed(tree.args[0])
    if isinstance(tree, ast.Name):
        return tree.id not in _FUNCTIONS
    return isinstance(tree, ast.Constant) and type(tree.value) in (int, float)


def _value(text: str, values: Mapping[str, float | None]) -> float:
    """Raises: KeyError (a fact is not known), ArithmeticError, ValueError (it cannot be computed)."""
    known, tree = _parsed(text)
    numbers: dict[str, float] = {}
    for index, name in enumerate(known):
        value = values[name]
        if value is None:
            raise KeyError(name)
        numbers[f"x{index}"] = value
    return _computed(tree, numbers)


def _computed(tree: ast.AST, numbers: Mapping[str, float]) -> float:
    if isinstance(tree, ast.BinOp):
        return _OPERATORS[type(tree.op)](_computed(tree.left, numbers), _computed(tree.right, numbers))
    if isinstance(tree, ast.UnaryOp):
        return -_computed(tree.operand, numbers)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        return _FUNCTIONS[tree.func.id](_computed(tree.args[0], numbers))
    if isinstance(tree, ast.Name):
        return numbers[tree.id]
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int | float):
        return float(tree.value)
    raise ValueError(ast.dump(tree))
