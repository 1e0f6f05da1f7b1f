"""What `python -m playground prompts` prints: how many prompts, how long, what is left out, what the model reads."""

from __future__ import annotations

import json
from typing import Any

from rich.text import Text

from playground.cli.terminal import console, plain, print_table, say

MAX_TEXT = 200
BARS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"


def print_preview(preview: dict[str, Any]) -> None:
    """The preview for a person."""
    say(*summary(preview))
    rows = (
        ("fixed" if row["held_out"] else "train", str(row["tokens"]), _short(row["text"])) for row in preview["rows"]
    )
    print()
    print_table(rows, "Use", "Tokens", "Prompt")
    print(f"\nWhat the model reads ({preview['form']} prompts):")
    for pieces in preview["seen"]:
        shown = Text("  ")
        for piece in pieces:
            shown.append(plain(_visible(piece["text"])), style="reverse" if piece["special"] else "")
        console().print(shown)


def summary(preview: dict[str, Any]) -> list[str]:
    """The figures as sentences."""
    lengths, fixed, training = preview["lengths"], preview["num_evaluation"], preview["num_training"]
    source, column, rows = preview["source"], preview["column"], f"{preview['num_rows']:,}"
    if preview["num_claims"]:
        read = f"{source}: {rows} prompts made of {preview['num_claims']:,} questions and their claims."
    else:
        more = ", the first ones of more" if preview["goes_on"] else ""
        separated = f", columns separated by {preview['separator']}" if preview["separator"] else ""
        read = f"{source}: {rows} rows{more}{separated}{f', column `{column}`' if column else ''}."
    kept = f"{training:,} prompts to train on, {fixed:,} fixed ones held out."
    if not preview["held_out"]:
        kept = (
            f"{training:,} prompts to train on; too few to hold some out, so {fixed:,} of them are the fixed prompts "
            f"too. Add prompts, or set evaluation.num_prompts to {training // 2:,} or fewer."
        )
    unneeded = f"{preview['num_unneeded']:,} more rows are not needed (prompts.limit)." * bool(preview["num_unneeded"])
    least, most, counts = lengths["min"], lengths["max"], lengths["counts"]
    bars = "".join(BARS[-(-count * (len(BARS) - 1) // max(counts))] for count in counts)
    tokens = (
        f"Tokens: {least} to {most}, median {lengths['median']}, 90 % at most {lengths['p90']}; the model has room for "
        f"{preview['room']:,}.  {least} {bars} {most}"
    )
    return list(filter(None, [read, kept, preview["sentence"], unneeded, tokens]))


def _short(text: str) -> str:
    line = _visible(text)
    return line if len(line) <= MAX_TEXT else f"{line[:MAX_TEXT]}..."


def _visible(text: str) -> str:
    """Line breaks as they are written in JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"') if "\n" in text else text
