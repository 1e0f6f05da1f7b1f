"""Text, figures and tables for a terminal, safe to print: what `printing` and the commands share. Decides nothing.

Text of models, prompts and presets is data: control characters are taken out before it reaches a terminal, and it is
never read as markup.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from playground.runs.folder.records import finite_or_null

# control characters, and marks that turn the direction of writing, with which a text can show something else
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
PIPE_WIDTH = 120


def plain(text: str) -> str:
    """Text that a terminal cannot take for commands: control characters become spaces, line breaks stay."""
    return CONTROL.sub(" ", text)


def say(*texts: str) -> None:
    """Lines on stdout; none for an empty text."""
    for text in filter(None, texts):
        print(plain(text))


def complain(text: str) -> None:
    """One message for the person, on stderr."""
    print(plain(text), file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """One line of strict JSON on stdout, at once; of letters that not every program reads, only in UTF-8."""
    ensure_ascii = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    print(json.dumps(finite_or_null(value), ensure_ascii=ensure_ascii, allow_nan=False), flush=True)


def without_phases(answers: Iterable[dict[str, Any]], indent: str = "") -> Iterator[dict[str, Any]]:
    """The answers but for those that say how far it is: of these each phase goes to stderr, once."""
    phase = ""
    for answer in answers:
        if "phase" not in answer:
            yield answer
        elif answer["phase"] != phase:
            phase = answer["phase"]
            complain(f"{indent}{phase} ...")


def number(value: float | None, *, sign: bool = False) -> str:
    """A figure with two decimals, or a hyphen where there is none."""
    if value is None or not math.isfinite(value):
        return "-"
    if sign:
        return f"{value:+z.2f}"
    return f"{value:z.2f}"


def console() -> Console:
    """As wide as the terminal (or COLUMNS); files and pipes get lines of a fixed width."""
    terminal = Console(highlight=False, markup=False)
    if not terminal.is_terminal and "COLUMNS" not in os.environ:
        terminal.width = PIPE_WIDTH
    return terminal


def print_table(
    rows: Iterable[Sequence[str]], *headings: str, figures_from: int | None = None, framed: bool = False
) -> None:
    """A table; the first column is never cut, for people copy it.

    Args:
        headings: none for a list of names and values. figures_from: the first column that stands to the right. framed:
            for texts of several lines.
    """
    look: dict[str, Any] = {"box": None, "pad_edge": False}
    whole_columns = 1
    if framed:
        look, whole_columns = {"show_lines": True}, len(headings)
    if figures_from is None:
        figures_from = len(headings)
    table = Table(*headings, show_header=bool(headings), **look)
    for column in table.columns[:whole_columns]:
        column.overflow = "fold"
    for column in table.columns[figures_from:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    console().print(table)


UNITS = ((100, 1, "s"), (5400, 60, "min"), (172_800, 3600, "h"), (math.inf, 86_400, "days"))  # below what, of how long


def time_range(low: float, high: float) -> str:
    """An estimate, as the page tells it: about 20 to 35 s, about 1 to 2 min. Two digits are more than it knows."""
    if high < 1:
        return "less than a second"
    seconds, unit = next((length, name) for most, length, name in UNITS if high < most)
    least, most = (max(int(value / seconds + 0.5), 1) for value in (low, high))
    if least == most:
        return f"about {most} {unit}"
    return f"about {least} to {most} {unit}"


@contextlib.contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """Where something is, on one line of a terminal; elsewhere a line where the words before its figures change."""
    last = ""

    def say(text: str) -> None:
        nonlocal last
        words = text.rpartition(":")[0] or text
        if sys.stderr.isatty():
            print(f"\r{plain(text):<78}", end="", file=sys.stderr, flush=True)
        elif words != last:
            complain(words)
        last = words

    try:
        yield say
    finally:
        if last and sys.stderr.isatty():
            print(file=sys.stderr)
