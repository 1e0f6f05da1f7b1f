"""Makes the exercise from examples/minimal_rlhf.py: the same file, and a notebook, in which five bodies are missing;
and for the page the lines that compute what a step of slow motion shows. `make exercise`."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from pathlib import Path

import nbformat

PROJECT = Path(__file__).resolve().parents[1]
MINIMAL = PROJECT / "examples" / "minimal_rlhf.py"
FUNCTIONS = ("generate_with_logprobs", "compute_kl", "compute_advantages", "ppo_step", "train")
SCRIPT = PROJECT / "playground" / "ui" / "static" / "inside" / "minimal_code.js"
LINES = {  # step of slow motion -> the function that computes it, and how its first and its last line begin
    "write": ("generate_with_logprobs", "hidden = features", "log_probs.append"),
    "score": ("compute_advantages", "rewards[", "rewards["),
    "leash": ("compute_kl", "mask, tokens", "return"),
    "value": ("compute_advantages", "delta =", "delta ="),
    "advantage": ("compute_advantages", "for t in", "return"),
    "clip": ("ppo_step", "mask, tokens", "policy_loss ="),
    "step": ("ppo_step", "values =", "optimizer.step"),
}
MISSING = "    raise NotImplementedError\n"
INTRODUCTION = '''"""Write RLHF with PPO yourself. Settings, reward and model are there; five functions are missing.

    python -m playground check examples/exercise.py     # says of each function what is right, or the case that is not
    python examples/exercise.py                         # trains, once all five are written

Each docstring says what to compute. Shapes: B episodes, P prompt tokens, C completion tokens, T = P + C, H features. An
episode is a prompt, padded on the left, and its completion, padded on the right. In a mask True is a real token, False
is padding. One way to write them is in minimal_rlhf.py.
"""
'''
FIRST_CELL = """\
# The exercise: RLHF with PPO in five functions

A small language model is to write kinder reviews. Settings, reward and model are there; **five functions are missing**.
Each docstring says what to compute. Shapes: B episodes, P prompt tokens, C completion tokens, T = P + C, H features. An
episode is a prompt, padded on the left, and its completion, padded on the right. In a mask True is a real token, False
is padding. The notebook runs in the Python that has the playground's requirements, from the folder in which it lies.

To check what you have written, **save the notebook** and run the last cell, as often as you like. One way to write them
is in `minimal_rlhf.py`."""
TITLES = {
    "generate_with_logprobs": "## 1. Write\n\nDraw completions, and keep the probability of every token drawn.",
    "compute_kl": "## 2. Compare with the reference\n\nHow much likelier is each token than it was before training?",
    "compute_advantages": "## 3. Give credit\n\nFrom one score for each text to what each token deserves.",
    "ppo_step": "## 4. Learn\n\nOne optimizer step on one minibatch.",
    "train": "## 5. All of it, again and again",
}
CHECK = "import sys  # noqa: F401\n\n!cd .. && {sys.executable} -m playground check examples/exercise.ipynb"


def pieces(source: str) -> tuple[str, dict[str, str], str]:
    """The file up to the first of the five, each of them with its decorator and docstring only, and what follows."""
    lines, found = source.splitlines(keepends=True), {}
    functions = [node for node in ast.parse(source).body if getattr(node, "name", None) in FUNCTIONS]
    for node in functions:
        assert isinstance(node, ast.FunctionDef)
        assert ast.get_docstring(node)
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        found[node.name] = "".join(lines[first - 1 : node.body[0].end_lineno]) + MISSING
    start = source.index("@torch.no_grad()\ndef generate_with_logprobs")
    return source[:start], found, "".join(lines[functions[-1].end_lineno or 0 :])


def exercise() -> str:
    """examples/exercise.py."""
    head, functions, tail = pieces(MINIMAL.read_text(encoding="utf-8"))
    head = re.sub(r'\A""".*?"""\n', lambda _: INTRODUCTION, head, flags=re.DOTALL)
    return head + "\n\n".join(functions.values()) + tail


def notebook() -> nbformat.NotebookNode:
    """examples/exercise.ipynb: the same, in cells."""
    head, functions, tail = pieces(MINIMAL.read_text(encoding="utf-8"))
    head = re.sub(r'\A""".*?"""\n', "", head, flags=re.DOTALL).replace("Path(__file__).resolve().parent", "Path.cwd()")
    code, text = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    cells = [text(FIRST_CELL), code(head.strip())]
    for name, function in functions.items():
        cells += [text(TITLES[name]), code(function.strip())]
    cells += [text("## Train\n\nTakes a minute or two."), code(tail.strip())]
    cells += [text("## Check\n\nSave the notebook first: what is checked is the file."), code(CHECK)]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number:02}"
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def script() -> str:
    """minimal_code.js: of each step the function and its lines, without the comments behind them."""
    source, found = MINIMAL.read_text(encoding="utf-8"), {}
    nodes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    for step, (function, first, last) in LINES.items():
        lines = source.splitlines()[nodes[function].body[0].end_lineno : nodes[function].end_lineno]
        begin = next(at for at, line in enumerate(lines) if line.strip().startswith(first))
        end = next(at for at, line in enumerate(lines) if at >= begin and line.strip().startswith(last))
        kept = [line.partition("  # ")[0].rstrip() for line in lines[begin : end + 1]]
        found[step] = {"function": function, "lines": textwrap.dedent("\n".join(kept)).splitlines()}
    head = "// What examples/minimal_rlhf.py has for each step of slow motion; made by `make exercise`.\n"
    head += "/* eslint max-len: off */\n\n"
    return f"{head}export const MINIMAL = {json.dumps(found, indent=2)};\n"


def main() -> None:
    SCRIPT.write_text(script(), encoding="utf-8")
    folder = MINIMAL.parent
    (folder / "exercise.py").write_text(exercise(), encoding="utf-8")
    nbformat.write(notebook(), folder / "exercise.ipynb")


if __name__ == "__main__":
    main()
