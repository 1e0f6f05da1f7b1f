"""Which columns of another trainer's log are our figures: `logs.toml` has their names in each trainer's log."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from playground.imports.log_files import Row, plain_name
from playground.runs.folder.records import LARGEST, UpdateMetrics

TABLES = tomllib.loads(Path(__file__).with_name("logs.toml").read_text(encoding="utf-8"))
FORMATS: dict[str, dict[str, Any]] = TABLES["formats"]
FIGURES = {name for name in UpdateMetrics.model_fields if name not in ("update", "attempt", "ranks")}
DRAWN: dict[str, dict[str, Any]] = TABLES["drawn"]


class LogColumns(NamedTuple):
    """Whose log it is, our figure -> the column, or columns, that it comes from, and what to know of them."""

    label: str
    columns: dict[str, str]
    notes: list[str]


def known(names: set[str], own: Mapping[str, str] = {}, *, drawn: bool = False) -> LogColumns:
    """The columns of a log that are known, by the trainer of which it has the most. `own`: named by a person. `drawn`:
    also those that no check of a log reads."""
    matches = {name: _matched(_columns(name), names) for name in FORMATS}
    best = max(matches, key=lambda name: len(matches[name]))
    columns, tables = {**matches[best], **own}, [FORMATS[best]]
    if drawn and best in DRAWN:
        columns, tables = _matched(_figures(DRAWN[best]), names) | columns, [*tables, DRAWN[best]]
    notes = [
        f"{name}: {words}."
        for table in tables
        for name, words in table.get("notes", {}).items()
        if name in columns.values() or columns.get(name) in table.get(name, ())
    ]
    if not matches[best]:
        label = "columns as you named them"
    elif _own_names(best) & names:
        label = FORMATS[best]["label"]
    else:
        label = "names that several trainers use"
    return LogColumns(label, columns, notes)


def _columns(name: str) -> dict[str, list[str]]:
    """Of a format, our figures and the columns of each, of which the first counts."""
    if name == "playground":
        return {figure: [figure] for figure in FIGURES}
    return _figures(FORMATS[name])


def _figures(table: Mapping[str, Any]) -> dict[str, list[str]]:
    return {figure: columns for figure, columns in table.items() if figure in FIGURES}


def _matched(figures: Mapping[str, list[str]], names: set[str]) -> dict[str, str]:
    """Those of which a log has the columns."""
    matches = {}
    for figure, columns in figures.items():
        possible = [column for column in columns if names.issuperset(parts(column))]
        if possible:
            matches[figure] = possible[0]
    return matches


def _own_names(name: str) -> set[str]:
    """The columns that only one format has."""
    return _all_names(name).difference(*(_all_names(other) for other in FORMATS if other != name))


def _all_names(name: str) -> set[str]:
    return {part for columns in _columns(name).values() for column in columns for part in parts(column)}


def parts(column: str) -> list[str]:
    """The columns that a figure is made of."""
    return [plain_name(part) for part in column.removeprefix("1 - ").split(" x ")]


def value(row: Row, column: str) -> float | None:
    """What a row has of a figure; None where it has none that can be read."""
    product = 1.0
    for part in parts(column):
        factor = row.get(part)
        if factor is None:
            return None
        product *= factor
    if column.startswith("1 - "):
        product = 1 - product
    return product if abs(product) <= LARGEST else None


def update(step: int, row: Row, columns: Mapping[str, str]) -> UpdateMetrics:
    """A row as a record of ours. What the log does not say is None, also where our own runs always say it; the checks
    take a figure that is None for one that is not known."""
    empty: dict[str, Any] = {
        name: {} if isinstance(field.default, dict) else None for name, field in UpdateMetrics.model_fields.items()
    }
    values: dict[str, Any] = {ours: value(row, column) for ours, column in columns.items()}
    if values.get("episodes") is not None:
        values["episodes"] = int(values["episodes"])
    return UpdateMetrics.model_construct(**{**empty, **values, "attempt": 1, "update": step})
