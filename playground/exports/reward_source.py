"""Rewards as Python that needs no playground: of a rule its function with all that it uses, of an expression a lambda,
of a function in Python its own text. `scripts` writes it into the script for TRL.
"""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Any

from playground.config import ExpressionReward, ModelReward, PythonReward, RewardConfig, expression_language
from playground.rewards import claims, expressions, python_runner, rules
from playground.rewards.functions import Carried, Stays

PACKAGE = "playground"
NOTHING = """
class Nothing(Exception):
    pass

def known(value):
    if value is None:
        raise Nothing
    return value

def otherwise(first, second):
    try:
        return first()
    except Nothing:
        return second()
"""
MATCHES = {  # by Python's own engine, as RE2 reads them
    "matches": lambda text, pattern: re.search(pattern, text, re.ASCII) is not None,
    "matches_count": lambda text, pattern: len(re.findall(pattern, text, re.ASCII)),
}


def source_of(spec: RewardConfig) -> str:
    """A function `score(prompt, completion)`, or of a function in Python `call(request)`, as text. Raises: Stays, where
    it needs the playground; its text ends a sentence."""
    carried = Carried(PACKAGE)
    if isinstance(spec, ModelReward):
        raise Stays("is a model, which the playground loads")
    if isinstance(spec, PythonReward):
        carried.add("loaded", python_runner._loaded)
        carried.add("signature_of", python_runner._signature)
        carried.add("values", python_runner._values)
        return "\n".join(carried.lines)
    carried.instead("_row", claims._row, "lambda prompt, own: None")  # prompts made of claims are the playground's
    if isinstance(spec, ExpressionReward):
        _of_expression(spec.expression, carried)
    else:
        carried.add("score", rules.score_of(spec))
    return "\n".join(carried.lines)


def maker(number: int, spec: RewardConfig) -> str:
    """The same within a function that gives it, so that no two rewards share names."""
    names = "loaded, signature_of, values" if isinstance(spec, PythonReward) else "score"
    return f"def reward_{number}():\n{textwrap.indent(source_of(spec), '    ')}\n    return {names}\n"


class _RewardLines(ast.NodeTransformer):
    """An expression as Python computes it: its conditions are numbers, and what has no opinion ends it."""

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self.generic_visit(node)
        return _call("float", ast.BoolOp(node.op, [_call("bool", part) for part in node.values]))

    def visit_Constant(self, node: ast.Constant) -> Any:
        return ast.Constant(node.value if isinstance(node.value, str) else float(node.value))  # type: ignore[arg-type]

    def visit_Name(self, node: ast.Name) -> Any:
        return _call("known", ast.Constant(None)) if node.id == expression_language.NOTHING else node

    def visit_Call(self, node: ast.Call) -> Any:
        parts = [self.visit(part) for part in node.args]
        name = ast.unparse(node.func)
        later = [ast.Lambda(ast.arguments([], [], None, [], [], None, []), part) for part in parts]
        return _call(name, *later) if name == "otherwise" else _call("known", _call(f"of_{name}", *parts))


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), [*arguments], [])


def _of_expression(source: str, carried: Carried) -> None:
    tree = expression_language.Expression(source).tree
    called = {ast.unparse(part.func) for part in ast.walk(tree) if isinstance(part, ast.Call)} - {"otherwise"}
    for name in sorted(called):
        carried.add(f"of_{name}", MATCHES.get(name) or expressions.FUNCTIONS[name])
    body = ast.unparse(ast.fix_missing_locations(_RewardLines().visit(tree)))
    carried.lines.append(
        NOTHING + f"\ndef score(prompt, completion):\n    return otherwise(lambda: float({body}), lambda: None)"
    )
