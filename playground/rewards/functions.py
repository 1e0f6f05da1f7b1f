"""Rewards as people have them, before a run: a callable, a file or a kind becomes an entry of `rewards`, and a function
in Python is tried on the first prompts. The command line and `playground.train` make entries; the checks before a
start try them.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import math
import os
import re
import symtable
import sys
import textwrap
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from types import ModuleType
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
    """Entries of `rewards`, as plain data, of one reward or a list of them, each a callable, a text (a file, a function
    of a package, a kind) or an entry. `weights`: one for each. Raises: InvalidConfig."""
    rewards = list(reward) if isinstance(reward, (list, tuple)) else [reward]
    entries = [_entry_of(reward) for reward in rewards]
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
    module: Any = sys.modules.get(getattr(reward, "__module__", None) or "")
    file, name = getattr(module, "__file__", None) or "", getattr(reward, "__qualname__", "")
    if module and module.__name__ != "__main__" and file.endswith(".py") and getattr(module, name, None) is reward:
        return {"kind": "python", "file": file, "function": f"{module.__name__}:{name}"}
    plain = getattr(reward, "__name__", "")
    name = plain if plain.isidentifier() else "reward"
    carried = Carried()
    try:
        carried.add(name, reward)
    except Stays as error:
        raise InvalidConfig([Problem(FIELD, f"The function `{name}` {error}. {INSTEAD}")]) from None
    places = [
        path for path in map(os.path.abspath, sys.path) if os.path.isdir(path) and not path.startswith(sys.prefix)
    ]
    here = [f"import sys\nsys.path[:0] = {places!r}"] if carried.imports else []  # modules beside a notebook
    return {"kind": "python", "code": "\n".join([*here, *carried.lines]), "function": name}


class Stays(Exception):
    """Why something cannot be written down, as the end of a sentence."""


class Carried:
    """A function as text, below the modules, functions and plain values that it uses. `inline`: a package whose source
    is written down too; others are imported."""

    def __init__(self, inline: str = "__main__") -> None:
        self.lines: list[str] = []
        self.imports = False
        self._inline, self._known = inline, dict[str, Any]()

    def instead(self, name: str, value: Any, text: str) -> None:
        """What is written for a name in the place of its source."""
        self._known[name] = value
        self.lines.append(f"{name} = {text}")

    def add(self, name: str, value: Any) -> None:
        """What a name stands for. Raises: Stays."""
        if name not in self._known:
            self._known[name] = value  # before what it uses, which may be itself
            self.lines.append(self._line(name, value))
        elif self._known[name] is not value:
            raise Stays(f"uses two different things that are called `{name}`")

    def _line(self, name: str, value: Any) -> str:
        if self._is_inline(value):
            return f"class {name}: pass"  # what is used of it is put there, see `_source`
        if isinstance(value, ModuleType):
            self.imports = True
            return f"{name} = __import__('importlib').import_module({value.__name__!r})"
        if isinstance(value, functools.partial):
            for part, of in (("func", value.func), ("args", value.args), ("named", value.keywords)):
                self.add(f"_{name}_{part}", of)
            return f"{name} = __import__('functools').partial(_{name}_func, *_{name}_args, **_{name}_named)"
        if isinstance(value, re.Pattern):
            return f"{name} = __import__('re').compile({value.pattern!r}, {value.flags})"
        if callable(value) and hasattr(value, "__name__"):
            if hasattr(value, "__objclass__"):
                return f"{name} = {value.__qualname__}"  # such as str.lower
            module, plain = str(value.__module__), value.__name__
            inline = f"{module}.".startswith((f"{self._inline}.", "__main__."))
            if not inline and getattr(sys.modules.get(module), plain, None) is value:
                self.imports = True
                return f"from {module} import {plain} as {name}"
            return self._source(name, inspect.unwrap(value))
        return f"{name} = {self._text(name, value)}"

    def _text(self, name: str, value: Any) -> str:
        """A plain value, or a record of plain values, as Python writes it; its classes go in front of it."""
        kind = type(value)
        if kind in (bool, int, str, bytes, type(None)) or (kind is float and math.isfinite(value)):
            return repr(value)
        if kind is dict:
            return "{" + ", ".join(f"{self._text(name, key)}: {self._text(name, value[key])}" for key in value) + "}"
        if kind in (list, tuple, set, frozenset):
            parts = [self._text(name, part) for part in value]
            return f"{kind.__name__}([{', '.join(parts if kind in (list, tuple) else sorted(parts))}])"
        fields = getattr(value, "_fields", None) or getattr(value, "__dataclass_fields__", None)
        if fields is None or isinstance(value, type):
            raise Stays(f"uses `{name}`, a {kind.__name__}, which stays in this process")
        self.add(kind.__name__, kind)
        return f"{kind.__name__}({', '.join(f'{one}={self._text(name, getattr(value, one))}' for one in fields)})"

    def _source(self, name: str, value: Any) -> str:
        """The text of a function or class, and first what it uses."""
        try:
            text = _lambda(value) if value.__name__ == "<lambda>" else textwrap.dedent(inspect.getsource(value))
            tables = [symtable.symtable(f"from __future__ import annotations\n{text}", "it", "exec")]
        except (OSError, TypeError, SyntaxError):
            raise Stays("has no source that could be read here") from None
        own = "" if text.startswith("(") else value.__name__
        around: dict[str, Any] = dict(getattr(value, "__globals__", vars(sys.modules[value.__module__])))
        if cells := getattr(value, "__closure__", None):
            around |= {free: cell.cell_contents for free, cell in zip(value.__code__.co_freevars, cells, strict=True)}
        used = {}
        for table in tables:
            tables += table.get_children()
            for symbol in table.get_symbols():
                outside = symbol.is_referenced() and (symbol.is_global() or table is tables[0])
                if outside and symbol.get_name() in around and symbol.get_name() != own:
                    used[symbol.get_name()] = around[symbol.get_name()]
        inside = self if all(self._known.get(one, it) is it for one, it in used.items()) else Carried(self._inline)
        for one, it in used.items():
            inside.add(one, it)
            for part in ast.walk(ast.parse(text)) if self._is_inline(it) else ():
                if isinstance(part, ast.Attribute) and ast.unparse(part.value) == one:
                    inside.add(f"{one}_{part.attr}", getattr(it, part.attr))
                    inside.lines.append(f"{one}.{part.attr} = {one}_{part.attr}")
        if inside is self and own in ("", name):
            return text if own else f"{name} = {text}"
        within = textwrap.indent("\n".join([*(() if inside is self else inside.lines), *[text] * bool(own)]), "    ")
        return f"def {name}():\n{within}\n    return {own or text}\n{name} = {name}()"

    def _is_inline(self, module: Any) -> bool:
        return isinstance(module, ModuleType) and f"{module.__name__}.".startswith(f"{self._inline}.")


def _lambda(function: Any) -> str:
    """The text of a lambda, which Python keeps only as the lines around it. Raises: Stays; OSError."""
    text = "".join(inspect.findsource(function)[0])
    code = function.__code__
    lambdas = [
        part
        for part in ast.walk(ast.parse(text))
        if isinstance(part, ast.Lambda)
        and part.lineno == code.co_firstlineno
        and [one.arg for one in part.args.args] == [*code.co_varnames[: code.co_argcount]]
    ]
    if len(lambdas) != 1:
        raise Stays("stands in one line with another lambda")
    return f"({ast.get_source_segment(text, lambdas[0])})"


def problem(spec: PythonReward, prompts: PromptsConfig, in_chat: bool | None) -> str:
    """Why a function in Python cannot be trained on, as a sentence that names its file and line; empty if it can. It is
    loaded, and asked about the first prompts with their columns and completions as a model writes them. `in_chat`:
    whether prompts go through a chat template; None where that is not known."""
    path = row_files.path_of(prompts.source)
    written = 0.0
    if row_files.is_file(prompts.source) and path.is_file():
        written = path.stat().st_mtime
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
        if examples is None and (function.lacking() or function.signature.takes_all):
            return ""  # of a dataset of the hub and of claims columns are known once they are read
        facts.in_chat = in_chat or (in_chat is None and _works_on_messages(function, asked, completions))
        mixture.values_of(f"reward `{spec.name}`", function, asked, completions)
    except ProcessEnded as error:
        return f"{function.what} {error}"
    except PlaygroundError as error:
        words, at = str(error), function.signature.line
        if at and "in line" not in words:
            words += f" It begins in line {at}."
        return words
    finally:
        function.close()
    return ""


def _works_on_messages(function: PythonFunction, prompts: Sequence[str], completions: Sequence[str]) -> bool:
    """Where it is not known whether prompts go through a chat template: does it take texts for no messages only?"""
    function.facts.in_chat = True
    with contextlib.suppress(PlaygroundError, ProcessEnded):
        function(prompts, completions)
        return True
    return False


def _examples(prompts: PromptsConfig) -> dict[str, dict[str, Any]] | None:
    """The first prompts, each with its row; None where they are not known yet."""
    path, examples = row_files.path_of(prompts.source), dict[str, dict[str, Any]]()
    if prompts.source in (*PROMPT_SETS, "typed"):
        return examples
    if claim_files.is_source(prompts.source, prompts.column) or not row_files.is_file(prompts.source):
        return None
    with contextlib.suppress(PlaygroundError):  # it is said of the prompts themselves
        shape = row_files.shape(path)
        read = dialogues.read_of(shape.columns, prompts.column, path.name)
        for row in row_files.rows(path):
            with contextlib.suppress(dialogues.NoDialogue):
                examples[dialogues.prompt_of(read.value(row), read.column)] = dict.fromkeys(shape.columns) | row
            if len(examples) == EXAMPLES:
                break
    return examples
