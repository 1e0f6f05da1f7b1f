"""What CONTRIBUTING.md says of the code's form, as far as a program can tell: sizes, and one name for one thing."""

from __future__ import annotations

import ast
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.support import PROJECT

MOST_LINES, MOST_PARAMETERS = 60, 7
NOT_NAMES = (  # a check or alert, the KL penalty, describe or message, heartbeat, supervisor, ...
    "lamp leash told telling vitals reconciler onlooker wire gate somebody whoever standing errand charge seat "
    "watchdog road knee lent place"
).split()
NOT_WORDS = {
    "somebody",
    "whoever",
    "lent",
    "reconciler",
    "onlooker",
    "errand",
    "standing",
}  # nor in docstrings
MOST_UNFORMATTED = 15  # statements that the formatter is to leave as they are, tests included


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted((PROJECT / "playground").rglob("*.py")):
        yield path.relative_to(PROJECT), ast.parse(path.read_text(encoding="utf-8"))


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    """Name with file, the function, and whether it may be a command: its parameters are its options."""
    for path, tree in trees():
        is_command = "cli" in path.parts
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield f"{path}: {node.name}", node, is_command


def test_no_function_is_longer_than_a_screen() -> None:
    found = {name: node.end_lineno - node.lineno + 1 for name, node, _ in functions() if node.end_lineno}
    assert {name: lines for name, lines in found.items() if lines > MOST_LINES} == {}


def test_no_function_takes_more_than_can_be_kept_in_mind() -> None:
    found = {}
    for name, node, is_command in functions():
        every = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        count = len([one for one in every if one not in ("self", "cls")])
        annotated = any("Annotated" in ast.dump(one.annotation) for one in node.args.args if one.annotation)
        if count > MOST_PARAMETERS and not (is_command and annotated):
            found[name] = count
    assert found == {}


def test_no_two_classes_have_the_same_name() -> None:
    names = Counter(node.name for _, tree in trees() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


def test_no_type_of_the_scripts_is_one_that_takes_everything() -> None:
    """A payload has its type in wire.d.ts; what is not known is `unknown`, which the compiler lets nobody use."""
    folder = PROJECT / "playground" / "ui" / "static"
    tag = re.compile(r"@(?:type|param|returns|typedef|extends) *(\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})")
    written = {path: tag.findall(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.js"))}
    assert sum(map(len, written.values())) > 1000, "are the comments read?"
    loose = re.compile(r"\bany\b|(?<!Wire\.)\bFunction\b|\{\*\}")
    found = {path.name: types for path, types in written.items() if any(map(loose.search, types))}
    for path in folder.glob("*.d.ts"):
        if types := re.findall(r"[:<|&=] *any\b.*", path.read_text(encoding="utf-8")):
            found[path.name] = types
    assert found == {}


def test_names_are_the_words_of_the_field() -> None:
    """Words of a house language in names: what each stood for has a usual word."""
    found = set()
    for path, tree in trees():
        named = [node.name for node in ast.walk(tree) if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
        for name in (path.stem, path.parent.name, *named):
            words = set(re.findall(r"[a-z]+", re.sub(r"([A-Z])", r"_\1", name).lower()))
            found |= {f"{path}: {name}" for word in NOT_NAMES if {word, f"{word}s"} & words}
    assert found == set()


def test_comments_and_docstrings_are_in_plain_words() -> None:
    found = {}
    for path in sorted((PROJECT / "playground").rglob("*.py")):
        with open(path, "rb") as file:
            texts = [
                token.string.lower()
                for token in tokenize.tokenize(file.readline)
                if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and '"""' in token.string[:4])
            ]
        if words := {word for text in texts for word in re.findall("[a-z]+", text)} & NOT_WORDS:
            found[path.name] = words
    assert found == {}


def test_the_formatter_decides_the_form() -> None:
    marked = [
        path.name
        for folder in ("playground", "tests", "bench")
        for path in (PROJECT / folder).rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.endswith("# fmt: skip")
    ]
    assert len(marked) <= MOST_UNFORMATTED
