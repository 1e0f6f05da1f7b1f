"""docs/results.md, from the figures that bench/results.py writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
PRESETS = PROJECT / "bench" / "results" / "presets.json"
PAGE = PROJECT / "docs" / "results.md"

COLUMNS = (
    ("score", "score, sd"), ("kl", "KL, nats"), ("parses", "parses"), ("quality", "quality"),
    ("distinct_2", "distinct-2"), ("positive", "positive reviews"), ("agree_wrong", "agrees with wrong"),
    ("agree_right", "agrees with right"), ("neutral_true", "neutral answers true"), ("ended", "ends by itself"),
    ("tokens", "tokens"),
)  # fmt: skip


def read(path: Path) -> dict[str, Any]:
    """The figures that a command has written; empty where it has not run yet."""
    return json.loads(path.read_text()) if path.exists() else {}


def page(report: dict[str, Any]) -> str:
    """One table: before -> after for every preset and seed."""
    header, prompts = ["preset", "seed", "seconds", *(title for _, title in COLUMNS)], report["runs"][0]["prompts"]
    lines = [
        "# What the presets do, measured",
        "",
        f"Made by `make results` on {report['machine']}.",
        "Each line is one run of `python -m playground train` with that seed; seconds are of the whole command,",
        "start-up included, and left out where runs shared the machine. Every other column reads *before -> after*:",
        f"the untrained and the trained model on {prompts} prompts that the run was not trained on, with the",
        "same random numbers, temperature 1, judged by the pocket world (docs/pocket-world.md). Score is in standard",
        "deviations of the untrained model's score; distinct-2 is the share of different word pairs in the batch.",
        "",
        *_table(header),
    ]
    for row in report["runs"]:
        cells = [row["preset"], str(row["seed"]), "" if row["seconds"] is None else f"{row['seconds']:.0f}"]
        cells += [_cell(row["before"][key], row["after"][key], key) for key, _ in COLUMNS]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(before: float | None, after: float | None, key: str) -> str:
    if before is None or after is None:
        return ""
    if key == "kl":
        return f"{after:.2f}"
    digits = 1 if key == "tokens" else 2
    return f"{before:.{digits}f} -> {after:.{digits}f}"


def _table(header: list[str]) -> list[str]:
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
