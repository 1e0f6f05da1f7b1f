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
import sys
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, NotRequired, Union, get_args, get_origin

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from playground.runs.folder.records import UpdateMetrics  # noqa: E402
from playground.ui import payloads  # noqa: E402
from playground.ui.classroom import records  # noqa: E402
from playground.ui.payloads import Of  # noqa: E402

FILE = PROJECT / "playground" / "ui" / "static" / "wire.d.ts"
HEAD = """// What Python and the page send each other. Written by `make payloads` from playground/ui/payloads/.

declare namespace Wire {
"""
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", Any: "unknown"}
SUFFIX = "Data"


def typescript() -> str:
    """All of the file."""
    named: dict[Any, str] = {}
    for module in _modules():
        for name, found in vars(module).items():
            own = dataclasses.is_dataclass(found) and found.__module__ == module.__name__
            if own or typing.is_typeddict(found) or (get_origin(found) is Annotated and name.endswith(SUFFIX)):
                named.setdefault(found, name.removesuffix(SUFFIX))
    writer = Writer(named)
    declared = [writer.alias(found) if get_origin(found) else writer.interface(found) for found in named]
    return HEAD + "\n".join([*filter(None, declared), *writer.of_records(), writer.columns()]) + "}\n"


def _modules() -> Iterator[Any]:
    """Those that declare payloads, always in the same order."""
    for one in pkgutil.iter_modules(payloads.__path__, f"{payloads.__name__}."):
        yield importlib.import_module(one.name)
    yield records


class Writer:
    """Python's types in TypeScript. `named`: what has a name there; records that it meets get one too."""

    def __init__(self, named: dict[Any, str]) -> None:
        self.named = named
        self.records: dict[Any, str] = {}

    def interface(self, kind: Any) -> str:
        """A class with its fields."""
        fields = typing.get_type_hints(kind, include_extras=True)
        lines = [
            f"    {self.field(kind, name, found)};"
            for name, found in fields.items()
            if get_origin(found) is not ClassVar
        ]
        return "\n".join([f"{_doc(kind)}  interface {self.name_of(kind)} {{", *lines, "  }", ""])

    def field(self, kind: Any, name: str, found: Any) -> str:
        """One of its fields."""
        left_out = get_origin(found) is NotRequired  # of which a class with names for annotations knows nothing
        found = get_args(found)[0] if left_out else found
        return f"{name}{'?' if left_out or name in getattr(kind, '__optional_keys__', ()) else ''}: {self.of(found)}"

    def alias(self, found: Any) -> str:
        """Plain data that is known by a name; of a record as it is that is the record's own."""
        name, whole = self.named[found], self.of_plain(found)
        return "" if name == whole else f"  type {name} = {whole};\n"

    def of(self, kind: Any) -> str:
        """Any type."""
        if kind in self.named:
            return self.named[kind]
        if kind == payloads.Columns:
            return "Columns"
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self.of_plain(kind)
        if kind in PLAIN:
            return PLAIN[kind]
        if origin in (Union, types.UnionType):
            return " | ".join(dict.fromkeys(map(self.of, arguments)))
        if origin is typing.Literal:
            return " | ".join(f'"{value}"' if isinstance(value, str) else str(value).lower() for value in arguments)
        if origin is tuple and arguments[-1] is not Ellipsis:
            return f"[{', '.join(map(self.of, arguments))}]"
        if origin in (list, tuple, Sequence):
            item = self.of(arguments[0])
            return f"({item})[]" if " | " in item or " & " in item else f"{item}[]"
        if origin in (dict, Mapping):
            return f"Record<{', '.join(map(self.of, arguments))}>"
        return self.name_of(kind)

    def of_plain(self, kind: Any) -> str:
        """An annotated type: plain data of a record, or a number within bounds."""
        plain, *notes = get_args(kind)
        of = next((note for note in notes if isinstance(note, Of)), None)
        if of is None:
            return self.of(plain)
        whole = self.of(of.kind)
        if of.without:
            whole = f"Omit<{whole}, {' | '.join(f'{chr(34)}{name}{chr(34)}' for name in of.without)}>"
        rest = f"Record<string, {self.of(of.rest)}>" if of.rest else None
        return " & ".join(filter(None, [whole, of.plus and self.of(of.plus), rest]))

    def name_of(self, kind: Any) -> str:
        """A class, which is then declared too."""
        if kind not in self.named:
            if not hasattr(kind, "__annotations__"):
                raise TypeError(f"{kind} has no equal in TypeScript")
            self.records.setdefault(kind, kind.__name__)
        return self.named.get(kind) or self.records[kind]

    def of_records(self) -> Iterator[str]:
        """The records that were met, and those within them."""
        done: set[Any] = set()
        while left := [kind for kind in self.records if kind not in done]:
            for kind in left:
                done.add(kind)
                yield self.interface(kind)

    def columns(self) -> str:
        """The figures of updates that are drawn live, column by column."""
        lines = [
            f"    /** {doc.unit or '-'}: {doc.words} */\n    {name}{'' if name == 'update' else '?'}: {figures};"
            for name, doc in UpdateMetrics.about().items()
            if doc.live
            for figures in ["number[]" if name == "update" else "(number | null)[]"]
        ]
        return "\n".join(["  interface Columns {", *lines, "    [other: string]: (number | null)[];", "  }", ""])


def _doc(kind: Any) -> str:
    words = " ".join((kind.__doc__ or "").split())
    return f"  /** {words} */\n" if words and not words.startswith(f"{kind.__name__}(") else ""


if __name__ == "__main__":
    FILE.write_text(typescript(), encoding="utf-8")
