"""What `python -m playground prompts` prints: how many prompts, how long, what is left out, what the model reads."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from playground.cli.terminal import PIPE_WIDTH, plain

MAX_TEXT = 200
BARS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"


def print_preview(preview: dict[str, Any]) -> None:
    """The preview for a person."""
    console = Console()
    console = console if console.is_terminal else Console(width=PIPE_WIDTH)
    for line in summary(preview):
        console.print(Text(plain(line)))
    table = Table("Use", "Tokens", "Prompt", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for row in preview["rows"]:
        use = "fixed" if row["held_out"] else "train"
        table.add_row(use, str(row["tokens"]), Text(_one_line(row["text"])))
    console.print()
    console.print(table)
    console.print(Text(f"\nWhat the model reads ({preview['form']} prompts):"))
    for pieces in preview["seen"]:
        shown = Text("  ")
        for piece in pieces:
            shown.append(plain(_visible(piece["text"])), style="reverse" if piece["special"] else "")
        console.print(shown)


def summary(preview: dict[str, Any]) -> list[str]:
    """The figures as sentences."""
    lengths = preview["lengths"]
    source, column = preview["source"], preview["column"]
    more = ", the first ones of more" if preview["goes_on"] else ""
    separated = f", columns separated by {preview['separator']}" if preview["separator"] else ""
    lines = [f"{source}: {preview['num_rows']:,} rows{more}{separated}{f', column `{column}`' if column else ''}."]
    if preview["num_claims"]:
        made_of = f"{preview['num_claims']:,} questions and their claims"
        lines = [f"{source}: {preview['num_rows']:,} prompts made of {made_of}."]
    fixed = preview["num_evaluation"]
    if preview["held_out"]:
        lines.append(f"{preview['num_training']:,} prompts to train on, {fixed:,} fixed ones held out.")
    else:
        lines.append(
            f"{preview['num_training']:,} prompts to train on; too few to hold some out, so {fixed:,} of them are the "
            "fixed prompts too. Add prompts, or set evaluation.num_prompts to "
            f"{preview['num_training'] // 2:,} or fewer."
        )
    if preview["sentence"]:
        lines.append(preview["sentence"])
    if preview["num_unneeded"]:
        lines.append(f"{preview['num_unneeded']:,} more rows are not needed (prompts.limit).")
    lines.append(
        f"Tokens: {lengths['min']} to {lengths['max']}, median {lengths['median']}, 90 % at most {lengths['p90']}; the "
        f"model has room for {preview['room']:,}.  {lengths['min']} {_bars(lengths['counts'])} {lengths['max']}"
    )
    return lines


def _bars(counts: list[int]) -> str:
    top = max(counts)
    return "".join(BARS[-(-count * (len(BARS) - 1) // top)] if count else " " for count in counts)


def _one_line(text: str) -> str:
    line = plain(_visible(text))
    return line if len(line) <= MAX_TEXT else f"{line[:MAX_TEXT]}..."


def _visible(text: str) -> str:
    """Line breaks as they are written in JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"') if "\n" in text else text
