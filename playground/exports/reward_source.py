"""Rewards as Python that needs no playground: of a rule its function with all that it uses, of an expression a lambda,
of a function in Python its own text. `scripts` writes it into the script for TRL.
"""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Any

from playground.config import ExpressionReward, ModelReward, PythonReward, RewardConfig, expression_language
from playground.rewards import expressions, python_runner, rules
from playground.rewards.functions import Carried, Stays

PACKAGE = "playground"
OPINIONS = {*expressions.JUDGES} - {"vader"}
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
        carried.add("signature_of", python_runner._signature)
        carried.add("values", python_runner._values)
        return "\n".join(carried.lines)
    if isinstance(spec, ExpressionReward):
        return "\n".join([*_of_expression(spec.expression, carried), ""])
    carried.add("score", rules.score_of(spec))
    return "\n".join(carried.lines)


def maker(number: int, spec: RewardConfig) -> str:
    """The same within a function that gives it, so that no two rewards share names."""
    names = "signature_of, values" if isinstance(spec, PythonReward) else "score"
    return f"def reward_{number}():\n{textwrap.indent(source_of(spec), '    ')}\n    return {names}\n"


class _Plain(ast.NodeTransformer):
    """An expression as Python computes it: its conditions are numbers."""

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self.generic_visit(node)
        parts = [ast.Call(ast.Name("bool", ast.Load()), [part], []) for part in node.values]
        return ast.Call(ast.Name("float", ast.Load()), [ast.BoolOp(node.op, list[ast.expr](parts))], [])

    def visit_Constant(self, node: ast.Constant) -> Any:
        return ast.Constant(node.value if isinstance(node.value, str) else float(node.value))  # type: ignore[arg-type]


def _of_expression(source: str, carried: Carried) -> list[str]:
    tree = expression_language.Expression(source).tree
    calls = [part.func for part in ast.walk(tree) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)]
    names = {part.id for part in calls}
    nothing = {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)} & {expression_language.NOTHING}
    if nothing or names & {"otherwise", *OPINIONS}:
        raise Stays("may have no opinion, which only the playground computes with")
    for name in sorted(names):
        carried.add(f"of_{name}", MATCHES.get(name) or expressions.FUNCTIONS[name])
    for part in calls:
        part.id = f"of_{part.id}"
    body = ast.unparse(ast.fix_missing_locations(_Plain().visit(tree)))
    return [*carried.lines, f"score = lambda prompt, completion: float({body})"]
