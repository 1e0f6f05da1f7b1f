"""What CONTRIBUTING.md says of the code's form, as far as a program can tell: sizes, and one name for one thing."""

import ast
import functools
import io
import re
import tokenize
from collections import Counter

from tests.support import PROJECT

MOST_LINES, MOST_PARAMETERS = 60, 7
MOST_UNFORMATTED = 15  # statements that the formatter is to leave as they are, tests included
NOT_WORDS = {*"somebody whoever lent reconciler onlooker errand standing".split()}  # not in comments and docstrings
NOT_NAMES = NOT_WORDS | {  # a check or alert, the KL penalty, describe or message, heartbeat, ...
    *"lamp leash told telling vitals wire gate charge seat watchdog road knee place".split()
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def sources():
    """The text of each module of the project."""
    paths = sorted((PROJECT / "playground").rglob("*.py"))
    return {path.relative_to(PROJECT): path.read_text(encoding="utf-8") for path in paths}


@functools.cache
def definitions():
    """Every class and function, with its module."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        (path, node)
        for path, text in sources().items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, kinds)
    ]


def functions():
    return [(path, node) for path, node in definitions() if not isinstance(node, ast.ClassDef)]


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


def test_no_two_classes_have_the_same_name():
    names = Counter(node.name for _, node in definitions() if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


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


def test_names_are_the_words_of_the_field():
    """Words of a house language in names: what each stood for has a usual word."""
    names = {(path, name) for path in sources() for name in (path.stem, path.parent.name)}
    names |= {(path, node.name) for path, node in definitions()}
    unusual = NOT_NAMES | {f"{word}s" for word in NOT_NAMES}
    in_words = {name: re.findall(r"[a-z]+", re.sub(r"([A-Z])", r"_\1", name).lower()) for _, name in names}
    assert {f"{path}: {name}" for path, name in names if unusual & {*in_words[name]}} == set()


def test_comments_and_docstrings_are_in_plain_words():
    unusual = {}
    for path, text in sources().items():
        if NOT_WORDS & {*re.findall("[a-z]+", text.lower())}:  # reading tokens takes a second for all files
            tokens = tokenize.generate_tokens(io.StringIO(text).readline)
            texts = [token.string for token in tokens if token.type == tokenize.COMMENT or '"""' in token.string[:4]]
            if words := {*re.findall("[a-z]+", " ".join(texts).lower())} & NOT_WORDS:
                unusual[path.name] = words
    assert unusual == {}


def test_the_formatter_decides_the_form():
    paths = [path for folder in ("playground", "tests", "bench") for path in (PROJECT / folder).rglob("*.py")]
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    assert len([line for line in lines if line.endswith("# fmt: skip")]) <= MOST_UNFORMATTED
