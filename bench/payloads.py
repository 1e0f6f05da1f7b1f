"""Write static/wire.d.ts, the types of what Python and the page send each other, from `playground/ui/payloads/` and the
records of the class (`make payloads`). tests/ui/test_payloads.py compares it, and asks the compiler what it says of
real payloads.

A typed dictionary or dataclass becomes an interface, without "Data" at the end of its name; so does each record or
named tuple that `Of` names.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NotRequired, Union, get_args, get_origin

from bench.experiments import PROJECT
from playground.runs.folder.records import UpdateMetrics
from playground.ui import payloads
from playground.ui.classroom import records
from playground.ui.payloads import Of

FILE = PROJECT / "playground" / "ui" / "static" / "wire.d.ts"
HEAD = """// What Python and the page send each other. Written by `make payloads` from playground/ui/payloads/.

declare namespace Wire {
"""
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", Any: "unknown"}
SUFFIX = "Data"
NUMBERS = "(number | null)[]"


def typescript() -> str:
    """All of the file."""
    named: dict[Any, str] = {}
    infos = pkgutil.iter_modules(payloads.__path__, f"{payloads.__name__}.")
    for module in [*(importlib.import_module(info.name) for info in infos), records]:
        for name, kind in vars(module).items():
            is_alias = get_origin(kind) is Annotated and name.endswith(SUFFIX)
            is_own = dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__
            if is_alias or is_own or typing.is_typeddict(kind):
                named.setdefault(kind, name.removesuffix(SUFFIX))
    writer = Writer(named)
    declared = [writer.alias(kind) if get_origin(kind) else writer.interface(kind) for kind in named]
    written = HEAD + "\n".join([*filter(None, declared), *writer.of_records(), columns()]) + "}\n"
    names = re.findall(r"^  interface (\w+)", written, re.MULTILINE)
    assert len(names) == len(set(names)), "two types have one name"
    return written


class Writer:
    """Python's types in TypeScript. `named`: what has a name there; records that it meets get one too."""

    def __init__(self, named: dict[Any, str]) -> None:
        self.named = named
        self.records: dict[Any, str] = {}

    def interface(self, kind: Any) -> str:
        """A class with its fields."""
        fields = typing.get_type_hints(kind, include_extras=True)
        optional = getattr(kind, "__optional_keys__", ())
        lines = []
        for name, annotation in fields.items():
            if get_origin(annotation) is not ClassVar:
                lines.append(f"    {self.field(name, annotation, name in optional)};")
        words = " ".join((kind.__doc__ or "").split())
        has_words = words and not words.startswith(f"{kind.__name__}(")
        head = [f"  /** {words} */"] if has_words else []
        return "\n".join([*head, f"  interface {self.name_of(kind)} {{", *lines, "  }", ""])

    def field(self, name: str, annotation: Any, optional: bool) -> str:
        """One of its fields."""
        if get_origin(annotation) is NotRequired:  # of which a class with names for annotations knows nothing
            (annotation,), optional = get_args(annotation), True
        return f"{name}{'?' if optional else ''}: {self.of(annotation)}"

    def alias(self, kind: Any) -> str:
        """Plain data that has a name; of a record as it is that is the record's own."""
        name, whole = self.named[kind], self.of_plain(kind)
        return "" if name == whole else f"  type {name} = {whole};\n"

    def of(self, kind: Any) -> str:
        """Any type."""
        if kind in self.named:
            return self.named[kind]
        if kind == payloads.Columns:
            return "Columns"
        if kind in PLAIN:
            return PLAIN[kind]
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self.of_plain(kind)
        if origin in (Union, types.UnionType):
            return " | ".join(dict.fromkeys(map(self.of, arguments)))
        if origin is typing.Literal:
            return " | ".join(map(literal, arguments))
        if origin is tuple and arguments[-1] is not Ellipsis:
            return f"[{', '.join(map(self.of, arguments))}]"
        if origin in (list, tuple, Sequence):
            item = self.of(arguments[0])
            is_plain = " | " not in item and " & " not in item
            return f"{item}[]" if is_plain else f"({item})[]"
        if origin in (dict, Mapping):
            return f"Record<{', '.join(map(self.of, arguments))}>"
        return self.name_of(kind)

    def of_plain(self, kind: Any) -> str:
        """An annotated type: plain data of a record, or a number within bounds."""
        plain, *notes = get_args(kind)
        of = next((note for note in notes if isinstance(note, Of)), None)
        if of is None:
            return self.of(plain)
        parts = [self.of(of.kind)]
        if of.without:
            parts = [f"Omit<{parts[0]}, {' | '.join(map(literal, of.without))}>"]
        if of.plus:
            parts.append(self.of(of.plus))
        if of.rest:
            parts.append(f"Record<string, {self.of(of.rest)}>")
        return " & ".join(parts)

    def name_of(self, kind: Any) -> str:
        """A class, which is then declared too."""
        if kind in self.named:
            return self.named[kind]
        if not hasattr(kind, "__annotations__"):
            raise TypeError(f"{kind} has no equal in TypeScript")
        return self.records.setdefault(kind, kind.__name__)

    def of_records(self) -> Iterator[str]:
        """The records that were met, and those within them."""
        done: set[Any] = set()
        while left := [kind for kind in self.records if kind not in done]:
            for kind in left:
                done.add(kind)
                yield self.interface(kind)


def literal(value: Any) -> str:
    """A value as a type."""
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def columns() -> str:
    """The figures of updates that are drawn live, column by column."""
    lines = []
    for name, doc in UpdateMetrics.about().items():
        if doc.live:
            field = "update: number[]" if name == "update" else f"{name}?: {NUMBERS}"
            lines.append(f"    /** {doc.unit or '-'}: {doc.words} */\n    {field};")
    return "\n".join(["  interface Columns {", *lines, f"    [other: string]: {NUMBERS};", "  }", ""])


if __name__ == "__main__":
    FILE.write_text(typescript(), encoding="utf-8")
