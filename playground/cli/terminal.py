"""Text and figures for a terminal, safe to print: what `printing` and the commands share. Decides nothing."""

from __future__ import annotations

import math
import os
import re

from rich.console import Console
from rich.table import Table
from rich.text import Text

# control characters, and marks that turn the direction of writing, with which a text can show something else
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
PIPE_WIDTH = 120


def plain(text: str) -> str:
    """Text that a terminal cannot take for commands: control characters become spaces, line breaks stay."""
    return CONTROL.sub(" ", text)


def number(value: float | None, *, sign: bool = False) -> str:
    """A figure with two decimals, or a hyphen where there is none."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:+z.2f}" if sign else f"{value:.2f}"


def console() -> Console:
    """As wide as the terminal (or COLUMNS); files and pipes get lines of a fixed width."""
    made = Console(highlight=False, markup=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = PIPE_WIDTH
    return made


def add_row(table: Table, *cells: str) -> None:
    """A row of plain text."""
    table.add_row(*(Text(plain(cell)) for cell in cells))
