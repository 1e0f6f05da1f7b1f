"""Rewards as people have them, before a run: a callable, a file or a kind becomes an entry of `rewards`, and a function
in Python is tried on the first prompts. The command line and `playground.train` make entries; the checks before a
start try them.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import os
import re
import symtable
import sys
import textwrap
from collections.abc import Mapping, Sequence
from importlib.machinery import all_suffixes
from itertools import cycle, islice
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from playground.config import REWARD_CLASSES, Part, PromptsConfig, PythonReward
from playground.data import claim_files, dialogues, row_files
from playground.errors import InvalidConfig, PlaygroundError, Problem
from playground.pocket.prompt_sets import PROMPT_SETS
from playground.rewards import expressions, mixture
from playground.rewards.limited_process import ProcessEnded
from playground.rewards.python_function import PythonFunction
from playground.rewards.rules import PromptFacts

EXAMPLES = 4  # prompts with which a function is tried
FIELD = "reward"
INSTEAD = 'Write it into a file and name that: reward="my_reward.py:name".'


def entries_of(reward: Any, weights: Sequence[float] | None = None) -> list[dict[str, Any]]:
    """Entries of `rewards`, as plain data, of a reward or a list of rewards, each a callable, a text (a file, a function
    of a package, a kind) or an entry. `weights`: one for each. Raises: InvalidConfig."""
    rewards = list(reward) if isinstance(reward, (list, tuple)) else [reward]
    entries = [_entry_of(one) for one in rewards]
    if weights is None:
        return entries
    if len(weights) != len(entries):
        words = f"has {len(weights)} for {len(entries)} rewards. Give one number for each."
        raise InvalidConfig([Problem("reward_weights", words)])
    return [{**entry, "weight": weight} for entry, weight in zip(entries, weights, strict=True)]


def _entry_of(reward: Any) -> dict[str, Any]:
    if isinstance(reward, Part):
        return reward.model_dump(mode="json")
    if isinstance(reward, Mapping):
        return dict(reward)
    if callable(reward):
        return of_callable(reward)
    if reward in REWARD_CLASSES:
        return {"kind": reward}
    if isinstance(reward, str) and (".py" in reward or ":" in reward):
        return {"kind": "python", "file": reward}
    ways = "a Python file (my_reward.py or my_reward.py:name), a function of a package (package.module:name) or one of"
    raise InvalidConfig([Problem(FIELD, f"`{str(reward)[:80]}` is not {ways} {', '.join(REWARD_CLASSES)}.")])


def of_callable(reward: Any) -> dict[str, Any]:
    """The entry of a function: where it stands in a module, that one's file; else, in a notebook, a script or another
    function, its source with all that it uses. Raises: InvalidConfig, for what cannot be written down so."""
    module = sys.modules.get(getattr(reward, "__module__", None) or "")
    file, name = getattr(module, "__file__", None) or "", getattr(reward, "__qualname__", "")
    if module and module.__name__ != "__main__" and file.endswith(".py") and getattr(module, name, None) is reward:
        return {"kind": "python", "file": file, "function": f"{module.__name__}:{name}"}
    carried = _Carried()
    plain = getattr(reward, "__name__", "")
    name = plain if plain.isidentifier() else "reward"
    try:
        carried.add(name, reward)
    except _Stays as error:
        raise InvalidConfig([Problem(FIELD, f"The function `{name}` {error}. {INSTEAD}")]) from None
    return {"kind": "python", "code": "\n".join(carried.lines), "function": name}


class _Stays(Exception):
    """Why something cannot be written down, as the end of a sentence."""


class _Carried:
    """A function as text, with the modules, functions and plain values that it uses above it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._known: dict[str, Any] = {}

    def add(self, name: str, value: Any) -> None:
        """What a name stands for. Raises: _Stays."""
        if name in self._known:
            if self._known[name] is not value:
                raise _Stays(f"uses two different things that are called `{name}`")
            return
        self._known[name] = value
        self.lines.append(self._line(name, value))

    def _line(self, name: str, value: Any) -> str:
        module = sys.modules.get(getattr(value, "__module__", None) or "")
        if isinstance(value, ModuleType):
            return (
                f"{_path_line(value)}import {value.__name__} as {name}"
                if "." not in value.__name__
                else (f"{_path_line(value)}{name} = __import__('importlib').import_module({value.__name__!r})")
            )
        if isinstance(value, functools.partial):
            self.add(f"_of_{name}", value.func)
            for number, one in enumerate((value.args, value.keywords)):
                self.add(f"_of_{name}_{number}", one)
            return f"{name} = __import__('functools').partial(_of_{name}, *_of_{name}_0, **_of_{name}_1)"
        if isinstance(value, re.Pattern):
            return f"{name} = __import__('re').compile({value.pattern!r}, {value.flags})"
        if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
            if module and module.__name__ != "__main__" and getattr(module, value.__name__, None) is value:
                return f"{_path_line(module)}from {module.__name__} import {value.__name__} as {name}"
            return self._source(name, value)
        try:
            if ast.literal_eval(repr(value)) == value:
                return f"{name} = {value!r}"
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            pass
        raise _Stays(f"uses `{name}`, a {type(value).__name__}, which stays in this process")

    def _source(self, name: str, value: Any) -> str:
        """The text of a function or class of this process, and first what it uses."""
        try:
            text = _lambda(value) if getattr(value, "__name__", "") == "<lambda>" else inspect.getsource(value)
            text = textwrap.dedent(text)
            tables = [symtable.symtable(text, "it", "exec")]
        except (OSError, TypeError, SyntaxError):
            raise _Stays("has no source that could be read here") from None
        own = "" if text.startswith("(") else value.__name__
        inside: dict[str, Any] = dict(getattr(value, "__globals__", vars(sys.modules[value.__module__])))
        if closure := getattr(value, "__closure__", None):
            inside |= {free: _held(cell) for free, cell in zip(value.__code__.co_freevars, closure, strict=True)}
        for table in tables:
            tables += table.get_children()
            for symbol in table.get_symbols():
                used, outside = symbol.get_name(), symbol.is_global() or table is tables[0]
                if (
                    outside
                    and symbol.is_referenced()
                    and used != own
                    and used in inside
                    and not hasattr(builtins, used)
                ):
                    self.add(used, inside[used])
        if own in ("", name):
            return text if own else f"{name} = {text}"
        return f"{text}\n{name} = {own}"


def _held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a function that is still being made
        return None


def _lambda(function: Any) -> str:
    """The text of a lambda, which Python keeps only as the lines around it. Raises: _Stays; OSError."""
    text = "".join(inspect.findsource(function)[0])
    line, names = function.__code__.co_firstlineno, function.__code__.co_varnames
    found = [
        part
        for part in ast.walk(ast.parse(text))
        if isinstance(part, ast.Lambda) and part.lineno == line and all(one.arg in names for one in part.args.args)
    ]
    if len(found) != 1:
        raise _Stays("stands in one line with another lambda")
    return f"({ast.get_source_segment(text, found[0])})"


def _path_line(module: ModuleType) -> str:
    """What lets a process import a module that is not installed; empty for one that is."""
    file = getattr(module, "__file__", None) or ""
    folder = os.path.dirname(os.path.abspath(file))
    for _ in range(module.__name__.count(".") + (os.path.basename(file).startswith("__init__."))):
        folder = os.path.dirname(folder)
    installed = (
        not file.endswith(tuple(all_suffixes())) or "site-packages" in file or folder.startswith(sys.base_prefix)
    )
    return "" if installed else f"__import__('sys').path.insert(0, {folder!r})\n"


def problem(spec: PythonReward, prompts: PromptsConfig, in_chat: bool | None) -> str:
    """Why a function in Python cannot be trained on, as a sentence that names its file and line; empty if it can. It is
    loaded, and asked about the first prompts with their columns and completions as a model writes them. `in_chat`:
    whether prompts go through a chat template; None where that is not known."""
    path = Path(prompts.source).expanduser()
    written = path.stat().st_mtime if row_files.is_file(prompts.source) and path.is_file() else 0.0
    return _problem(spec, prompts, in_chat, written)


@functools.lru_cache(maxsize=64)  # the runs of a sweep have the same
def _problem(spec: PythonReward, prompts: PromptsConfig, in_chat: bool | None, written: float) -> str:
    examples = _examples(prompts)
    facts = PromptFacts(examples or {}, bool(in_chat), prompts.system, lambda text: [*range(len(text.split()))])
    function = PythonFunction(spec.code, spec.time_limit, spec.file, spec.function, facts)
    completions = [*reversed(expressions.PROBES)]
    asked = [*islice(cycle(examples or {expressions.PROBE_PROMPT: {}}), len(completions))]
    try:
        function.load()
        if examples is None and function.lacking():
            return ""  # the columns of a dataset of the hub are known once it is read
        try:
            mixture.values_of(f"reward `{spec.name}`", function, asked, completions)
        except PlaygroundError:
            if in_chat is not None or not function.signature.like_trl:
                raise
            facts.in_chat = True
            mixture.values_of(f"reward `{spec.name}`", function, asked, completions)
    except ProcessEnded as error:
        return f"{function.what} {error}"
    except PlaygroundError as error:
        line = f" It begins in line {function.signature.line}." if "in line" not in str(error) else ""
        return f"{error}{line}"
    finally:
        function.close()
    return ""


def _examples(prompts: PromptsConfig) -> dict[str, dict[str, Any]] | None:
    """The first prompts, each with its row; None where they are not known yet."""
    source = prompts.source
    if source in PROMPT_SETS:
        return {}
    if prompts.typed and source == "typed":
        return {text: {} for text in prompts.typed[:EXAMPLES]}
    try:
        if claim_files.is_source(source, prompts.column):
            rows = claim_files.read(claim_files.path_of(source))[:EXAMPLES]
            return {
                one.question: {"question": one.question, "right": one.right[0], "wrong": one.wrong[0], "claimed": None}
                for one in rows
            }
        if not row_files.is_file(source):
            return None
        path = Path(source).expanduser()
        shape = row_files.shape(path)
        read = dialogues.read_of(shape.columns, prompts.column, path.name)
        found: dict[str, dict[str, Any]] = {}
        for row in row_files.rows(path):
            with_all = dict.fromkeys(shape.columns) | row
            try:
                text = dialogues.prompt_of(read.value(row), read.column)
            except dialogues.NoDialogue:
                continue
            if text:
                found.setdefault(text, with_all)
            if len(found) == EXAMPLES:
                break
        return found
    except PlaygroundError:
        return None  # said of the prompts themselves
