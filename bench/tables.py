"""Markdown: tables, figures over seeds, and the pages of docs/ from their templates in bench/pages/."""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bench.experiments import PROJECT

PAGES = PROJECT / "bench" / "pages"
DOCS = PROJECT / "docs"
WIDTH = 120
COMPACT, WIDE, TO_THE_RIGHT = "---", " --- ", " ---: "


def table(head: Sequence[str], rows: Iterable[Sequence[str]], rule: str = COMPACT) -> str:
    """A table. `rule`: what stands under each title."""
    return "\n".join([line(head), f"|{f'{rule}|' * len(head)}", lines(rows)])


def lines(rows: Iterable[Sequence[str]]) -> str:
    """Only its lines, where its head stands in the template."""
    return "\n".join(map(line, rows))


def line(cells: Sequence[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def by_columns(columns: Mapping[str, Callable[[Any], str]], rows: Iterable[Any], rule: str = COMPACT) -> str:
    """A table whose columns are functions of what is told in a line."""
    cells = [[column(row) for column in columns.values()] for row in rows]
    return table([title.strip() for title in columns], cells, rule)


def plain(text: str) -> str:
    """Text that stays within its cell."""
    return text.replace("|", "/").replace("<", "&lt;").replace("\n", " ")


def filled(text: str, indent: str = "") -> str:
    """A paragraph as wide as a page; its further lines behind `indent`."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_on_hyphens=False, subsequent_indent=indent)


def over_seeds(values: Sequence[float], digits: int) -> str:
    """The mean, and where they differ the lowest and the highest; empty without any."""
    if not values:
        return ""
    low, mean, high = (f"{value:.{digits}f}" for value in (min(values), statistics.fmean(values), max(values)))
    return mean if low == high else f"{mean} ({low} to {high})"


def page(name: str, **values: Any) -> str:
    """A page, or a part of one: its template with these values in it."""
    return (PAGES / f"{name}.md").read_text(encoding="utf-8").format(**values)


def write(name: str, text: str) -> None:
    """Into docs/, and say so."""
    path = DOCS / f"{name}.md"
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path.relative_to(PROJECT)}")
