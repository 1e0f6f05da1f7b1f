"""What the settings of other trainers are called, and what they are here: `settings.toml`, a table for each dialect."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from playground.errors import InvalidConfig, Problem

FILE = tomllib.loads(Path(__file__).with_name("settings.toml").read_text(encoding="utf-8"))
DIALECTS: dict[str, dict[str, Any]] = FILE["dialects"]
WORDS: dict[str, str] = FILE["words"]
GROUPS: dict[str, dict[str, Any]] = FILE["groups"]
UNSLOTH: dict[str, Any] = FILE["unsloth"]
ASIDE = {name: set(names.split()) for name, names in FILE["aside"].items()}


def refusal(name: str, *values: object) -> InvalidConfig:
    """One of the sentences that say why a file is not imported."""
    return InvalidConfig([Problem("", WORDS[name].format(*values))])


def refused(other: str, program: str = "") -> InvalidConfig:
    """What is said of a file for another library or trainer; `program`: what a command of it starts."""
    start = "This is"
    if program:
        start = f"Nothing in this file is recognised: {program[:60]} is"
    return refusal("refused", start, other)


def version_of(text: str) -> tuple[int, ...]:
    """`0.7.11` as numbers, to compare."""
    return tuple(map(int, text.split(".")))


def is_aside(name: str) -> bool:
    """Whether a setting is about the machine, the log or the hub."""
    return name in ASIDE["names"] or not ASIDE["words"].isdisjoint(name.split("_"))


def _by_name(table: dict[str, str], key: str) -> dict[str, dict[str, Any]]:
    """A table of lists of names as a line for each name: what it stands under, as `key`."""
    return {name: {key: value} for value, names in table.items() for name in names.split()}


MEANING = _by_name(FILE["to"], "to") | _by_name(FILE["rule"], "rule")
RANK = {name: rank for rank, name in enumerate(MEANING)}  # of two settings that say the same the first named counts


def _table(spec: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Of each setting that a dialect has: `to`, `rule` or `no`, and with them `note` and `default`."""
    parts = [GROUPS[group] for group in spec.get("groups", "").split()]
    parts.append(spec)
    lines = _by_name(FILE["no"], "no")
    for part in parts:
        lines |= {name: dict(MEANING[name]) for name in part.get("names", "").split()}
        for key in ("rule", "no", "to"):
            lines |= _by_name(part.get(key, {}), key)
    notes = _by_name(FILE["note"], "note") | _by_name(spec.get("note", {}), "note")
    for name, line in lines.items():
        if "to" in line:
            line |= notes.get(name, {})
    for part in parts:
        for name, default in part.get("default", {}).items():
            lines[name]["default"] = default
    return lines


TABLES = {name: _table(spec) for name, spec in (DIALECTS | FILE["owners"]).items()}
OWNERS = {call: owner for owner, spec in FILE["owners"].items() for call in spec.get("calls", "").split()}
