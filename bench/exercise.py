"""Makes the exercise from examples/minimal_rlhf.py: the same file, and a notebook, in which five bodies are missing;
and for the page the lines that compute what a step of slow motion shows. `make exercise`."""

from __future__ import annotations

import ast
import json
import re
import textwrap

import nbformat
import yaml

from bench.experiments import PROJECT
from bench.tables import PAGES

EXAMPLES = PROJECT / "examples"
MINIMAL = EXAMPLES / "minimal_rlhf.py"
SHOWN = PROJECT / "playground" / "ui" / "runs" / "minimal.json"
TEXTS = yaml.safe_load((PAGES / "exercise.yaml").read_text(encoding="utf-8"))
FUNCTIONS = tuple(TEXTS["titles"])
MISSING = "    raise NotImplementedError\n"
MODULE_DOCSTRING = re.compile(r'\A""".*?"""\n', re.DOTALL)
PYTHON = {"display_name": "Python 3", "language": "python", "name": "python3"}


def functions_of(source: str) -> dict[str, ast.FunctionDef]:
    """Those of a file, by name."""
    return {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}


def pieces(source: str) -> tuple[str, dict[str, str], str]:
    """The file up to the first of the five, each of them with its decorator and docstring only, and what follows."""
    lines, nodes = source.splitlines(keepends=True), functions_of(source)
    stubs, starts = {}, []
    for name in FUNCTIONS:
        node = nodes[name]
        assert ast.get_docstring(node)
        starts.append(min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1)
        stubs[name] = "".join(lines[starts[-1] : node.body[0].end_lineno]) + MISSING
    last = nodes[FUNCTIONS[-1]].end_lineno
    return "".join(lines[: starts[0]]), stubs, "".join(lines[last:])


def exercise() -> str:
    """examples/exercise.py."""
    head, functions, tail = pieces(MINIMAL.read_text(encoding="utf-8"))
    introduction = f'"""{TEXTS["introduction"]}"""\n'
    return MODULE_DOCSTRING.sub(lambda _: introduction, head) + "\n\n".join(functions.values()) + tail


def notebook() -> nbformat.NotebookNode:
    """examples/exercise.ipynb: the same, in cells."""
    head, functions, tail = pieces(MINIMAL.read_text(encoding="utf-8"))
    head = MODULE_DOCSTRING.sub("", head).replace("Path(__file__).resolve().parent", "Path.cwd()")
    code, text = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    cells = [text(TEXTS["first_cell"].strip()), code(head.strip())]
    for name, function in functions.items():
        cells += [text(TEXTS["titles"][name].strip()), code(function.strip())]
    cells += [text(TEXTS["train"].strip()), code(tail.strip())]
    cells += [text(TEXTS["check"].strip()), code(TEXTS["check_code"].strip())]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number:02}"
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": PYTHON, "language_info": {"name": "python"}})


def shown() -> str:
    """minimal.json: of each step of slow motion the function and its lines, without the comments behind them."""
    source = MINIMAL.read_text(encoding="utf-8")
    lines, nodes = source.splitlines(), functions_of(source)
    steps = {}
    for step, (function, first, last) in TEXTS["lines"].items():
        body = lines[nodes[function].body[0].end_lineno : nodes[function].end_lineno]
        begin = line_that_begins(body, first, 0)
        end = line_that_begins(body, last, begin)
        code = "\n".join(line.partition("  # ")[0].rstrip() for line in body[begin : end + 1])
        steps[step] = {"function": function, "lines": textwrap.dedent(code).splitlines()}
    return f"{json.dumps(steps, indent=2)}\n"


def line_that_begins(lines: list[str], text: str, start: int) -> int:
    """The first from a place on."""
    return next(at for at in range(start, len(lines)) if lines[at].strip().startswith(text))


def main() -> None:
    """Write all three."""
    SHOWN.write_text(shown(), encoding="utf-8")
    (EXAMPLES / "exercise.py").write_text(exercise(), encoding="utf-8")
    nbformat.write(notebook(), EXAMPLES / "exercise.ipynb")


if __name__ == "__main__":
    main()
