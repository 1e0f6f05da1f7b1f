"""The payloads between Python and the page's scripts, each typed once. `bench/payloads.py` writes static/wire.d.ts from
these modules, where a class keeps its name without "Data" at its end; nothing is computed here.

What a record or a named tuple has as its fields is taken from that type itself: `Annotated[Plain, Of(Headline)]`.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

Plain = dict[str, Any]  # a record as plain data; `Of` says of which type
Table = dict[str, list[float | None]]  # columns by name, equally long
Columns = Annotated[dict[str, list[Any]], "those of `UpdateMetrics` that are drawn live"]
Value = str | float | bool | None  # of a setting, as the form holds it


class Of(NamedTuple):
    """Plain data that has the fields of a type: but for some, with those of another one in addition, and, where `rest`
    is given, further ones whose values are of that type."""

    kind: Any
    without: tuple[str, ...] = ()
    plus: Any = None
    rest: Any = None
