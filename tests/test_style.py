"""What CONTRIBUTING.md says of the code's form, as far as a program can tell."""

import ast
import functools
import io
import re
import tokenize
from collections import Counter

from tests.support import PROJECT

MOST_LINES, MOST_PARAMETERS = 60, 7
MOST_UNFORMATTED = 15  # statements that the formatter is to leave as they are, tests included
# Of playground/. They may only fall: the target is 5.0 expressions a line, 25 conditional, 1.5 % vague names.
MOST_EXPRESSIONS, MOST_CONDITIONAL, MOST_VAGUE = 5.25, 18, 1.5
VAGUE = {  # as names of what is assigned; a name holds a noun
    *"found one known shown said made there mine theirs held taken wanted kept meant begun told given asked".split(),
    *"seen went rest others another what this that those these thing things stuff much many few more less".split(),
}
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def sources():
    """The text of each module of the project."""
    paths = sorted((PROJECT / "playground").rglob("*.py"))
    return {path.relative_to(PROJECT): path.read_text(encoding="utf-8") for path in paths}


@functools.cache
def trees():
    return {path: ast.parse(text) for path, text in sources().items()}


@functools.cache
def functions():
    """Each with its module."""
    return [(path, node) for path, tree in trees().items() for node in ast.walk(tree) if isinstance(node, Function)]


def code_lines(text, tree):
    """How many lines have code: no blanks, comments or docstrings, those of attributes included."""
    lines, words = set(), set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        for part in node.body if isinstance(node, ast.Module | ast.ClassDef | Function) else ():
            if (
                isinstance(part, ast.Expr)
                and isinstance(part.value, ast.Constant)
                and isinstance(part.value.value, str)
            ):
                words.update(range(part.lineno, part.end_lineno + 1))
    return len(lines - words)


def assigned(tree):
    """The names that are assigned, parameters included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def weight(texts, trees):
    """Expressions a code line, conditional expressions in 1,000 code lines, and the percentage of vague names."""
    count = Counter()
    for text, tree in zip(texts, trees, strict=True):
        names = [name.strip("_") for name in assigned(tree) if name not in ("self", "cls", "_")]
        count["lines"] += code_lines(text, tree)
        count["names"] += len(names)
        count["vague"] += len([name for name in names if name in VAGUE])
        for node in ast.walk(tree):
            count["expressions"] += isinstance(node, ast.expr)
            count["conditional"] += isinstance(node, ast.IfExp)
    by_line = count["expressions"] / count["lines"], 1000 * count["conditional"] / count["lines"]
    return *by_line, 100 * count["vague"] / count["names"]


def test_the_code_gets_no_denser_and_its_names_no_vaguer():
    example = '"""Two lines."""\n\n# none\nfound = 1 if x else 2\ntwo = (\n    found\n)\n'
    assert weight([example], [ast.parse(example)]) == (8 / 4, 250, 50)  # the docstring, 3 names, 4 of the conditional
    expressions, conditional, vague = weight(sources().values(), trees().values())
    assert expressions <= MOST_EXPRESSIONS
    assert conditional <= MOST_CONDITIONAL
    assert vague <= MOST_VAGUE


def test_no_function_is_longer_than_a_screen():
    lines = {f"{path}: {node.name}": node.end_lineno - node.lineno + 1 for path, node in functions() if node.end_lineno}
    assert len(lines) > 1000
    assert {name: number for name, number in lines.items() if number > MOST_LINES} == {}


def test_no_function_takes_more_than_can_be_kept_in_mind():
    """The parameters of a command are its options."""
    too_many = {}
    for path, node in functions():
        every = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        count = len([name for name in every if name not in ("self", "cls")])
        annotations = [ast.dump(argument.annotation) for argument in node.args.args if argument.annotation]
        is_command = "cli" in path.parts and any("Annotated" in text for text in annotations)
        if count > MOST_PARAMETERS and not is_command:
            too_many[f"{path}: {node.name}"] = count
    assert too_many == {}


def test_no_type_of_the_scripts_is_one_that_takes_everything():
    """A payload has its type in wire.d.ts; what is not known is `unknown`, which the compiler lets nobody use."""
    folder = PROJECT / "playground" / "ui" / "static"
    tag = re.compile(r"@(?:type|param|returns|typedef|extends) *(\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})")
    written = {path: tag.findall(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.js"))}
    assert sum(map(len, written.values())) > 1000, "are the comments read?"
    loose = re.compile(r"\bany\b|(?<!Wire\.)\bFunction\b|\{\*\}")
    refused = {path.name: types for path, types in written.items() if any(map(loose.search, types))}
    for path in folder.glob("*.d.ts"):
        if types := re.findall(r"[:<|&=] *any\b.*", path.read_text(encoding="utf-8")):
            refused[path.name] = types
    assert refused == {}


def test_the_formatter_decides_the_form():
    paths = [path for folder in ("playground", "tests", "bench") for path in (PROJECT / folder).rglob("*.py")]
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    assert len([line for line in lines if line.endswith("# fmt: skip")]) <= MOST_UNFORMATTED
