"""The code of a reward in Python, read and never run: from a file or a module to its text, and which function in it is
meant. `config.PythonReward` calls it; what is wrong is a ValueError "field|sentence".
"""

from __future__ import annotations

import ast
import importlib.util
import os
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from playground import plain_files

MOST_CHARACTERS = 40_000
USUAL = "reward"  # what the function is called where no name is given
COMPLETIONS = frozenset(("completion", "completions", "completion_ids"))
FORMS = (
    "Write `def {0}(prompt, completion):` and return a number, or `def {0}(completions, **columns):` and return a list"
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def read(file: str | None, function: str | None) -> dict[str, str | None]:
    """`code`, `file` as a whole path and `function` of what is named: a file ("my_reward.py", "my_reward.py:name") or a
    function of a module ("package.module:name"), which is found and not imported. Raises: ValueError."""
    named = file or function or ""
    if file and ".py" in file:
        stem, _, name = file.partition(".py:")
        path = file
        if name:
            path, function = f"{stem}.py", name
    elif ":" in named:
        path, function = _path_of(named.partition(":")[0]), named
    else:
        ways = "a Python file (my_reward.py or my_reward.py:name) or a function of a package (package.module:name)"
        if named:
            raise ValueError(f"file|`{named[:80]}` is not {ways}")
        raise ValueError(f"code|Write it, or name {ways} as `file`")
    whole = os.path.abspath(os.path.expanduser(path))
    try:
        code = plain_files.read_bytes(whole, 4 * MOST_CHARACTERS, links=True).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ValueError(f"file|Cannot read {path}: {why}. Name a Python file that is there") from None
    if len(code) > MOST_CHARACTERS:
        most = f"at most {MOST_CHARACTERS:,} are kept with a run"
        raise ValueError(f"file|{path} has {len(code):,} characters; {most}. Put the rest beside it, and import that")
    return {"code": code, "file": whole, "function": function}


def chosen(code: str, file: str | None, function: str | None) -> str:
    """The name of the function that is meant: the one that is named, or `reward`, or the only one that takes
    completions. Raises: ValueError: there is none, or several and none is named, or it takes something else."""
    field, there = ("file", f" in {Path(file).name}") if file else ("code", "")
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        raise ValueError(f"{field}|Line {error.lineno or 1}{there} is not Python ({error.msg})") from None
    except (ValueError, RecursionError, MemoryError):
        raise ValueError(f"{field}|The code cannot be read: nested too deeply, or not all text") from None
    functions = {part.name: part for part in tree.body if isinstance(part, Function)}
    name = (function or "").rpartition(":")[2]
    names = {*_bound(tree)}
    if not name:
        fit = [name for name, part in functions.items() if _takes(part) & COMPLETIONS]
        if USUAL in names or len(fit) != 1:
            name = USUAL
        else:
            (name,) = fit
        if name not in names and len(fit) > 1:
            example = f"{Path(file).name}:{fit[0]}" if file else f"function: {fit[0]}"
            raise ValueError(f"{field}|There are several functions{there}: {', '.join(fit)}. Name one: {example}")
    if name not in names:
        others = ", ".join(functions)
        said = f"; there are {others}" if others and function else ""
        raise ValueError(f"{field}|There is no function `{name}`{there}{said}. {FORMS.format(name)}")
    if name in functions and not _takes(functions[name]) & COMPLETIONS and not functions[name].args.kwarg:
        line = f", line {functions[name].lineno}," if file else ""
        takes = "that takes `completion` or `completions`"
        raise ValueError(f"{field}|There is no function `{name}`{there}{line} {takes}. {FORMS.format(name)}")
    return name


def _takes(function: Function) -> set[str]:
    return {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}


def _bound(tree: ast.Module) -> Iterator[str]:
    """Names that are assigned, imported or defined anywhere."""
    for part in ast.walk(tree):
        if isinstance(part, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in part.names)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        elif isinstance(part, Function):
            yield part.name


def _path_of(module: str) -> str:
    """The file of a module, in this folder or among the installed packages. Raises: ValueError."""
    places: Sequence[str] | None = [os.getcwd()]
    spec: ModuleSpec | None = None
    try:
        for end in range(1, module.count(".") + 2):
            name = ".".join(module.split(".")[:end])
            spec = PathFinder.find_spec(name, places) or (importlib.util.find_spec(name) if end == 1 else None)
            places = spec.submodule_search_locations if spec else []
    except (ImportError, ValueError):
        spec = None
    if spec is None or not (spec.origin or "").endswith(".py"):
        where = "in this folder or among the installed packages. Name its file: my_reward.py:name"
        raise ValueError(f"function|There is no module `{module[:80]}` {where}")
    return str(spec.origin)
