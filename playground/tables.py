"""Rows of a text file: .txt (a line is a row), .csv, .tsv, .jsonl, each also gzipped (.gz).

Bounded in size before it is read and while it is unpacked; what is wrong with a file is one sentence. Knows nothing of
prompts or models and imports nothing heavy: the page reads an upload's columns with it, training reads prompts.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from playground.errors import PlaygroundError

KINDS = (".txt", ".csv", ".tsv", ".jsonl")
MAX_FILE_BYTES = 100_000_000
MAX_FIELD_CHARACTERS = 1_000_000
TEXT_COLUMN = "text"  # what the one column of a .txt file is called


class TableUnusable(PlaygroundError):
    """A file that cannot be read as rows. The sentence names the file."""


class Table(NamedTuple):
    """Rows as they stand in the source, empty ones too, and the names of all columns in the order of first sight."""

    columns: tuple[str, ...]
    rows: list[dict[str, Any]]


def kind_of(path: str | Path) -> str | None:
    """Which of KINDS a path is by its name; None if none."""
    name = str(path).lower().removesuffix(".gz")
    return next((kind for kind in KINDS if name.endswith(kind)), None)


def read(path: Path, max_bytes: int = MAX_FILE_BYTES) -> Table:
    """All rows of a file.

    Args:
        max_bytes: of the file, and again of what a .gz unpacks to.

    Raises:
        TableUnusable: if it is missing, empty, too large, no text, or not in the form that its name says.
    """
    kind = kind_of(path)
    if kind is None:
        raise TableUnusable(f"{path.name} is none of {', '.join(KINDS)} (or one of them with .gz).")
    text = _text(path, max_bytes)
    if kind == ".txt":
        table = Table((TEXT_COLUMN,), [{TEXT_COLUMN: line} for line in _lines(text, path)])
    elif kind == ".jsonl":
        table = _json_lines(text, path)
    else:
        table = _separated(text, "\t" if kind == ".tsv" else ",", path)
    if not table.rows:
        raise TableUnusable(f"{path.name} has no rows.")
    return table


def _text(path: Path, max_bytes: int) -> str:
    data = _bytes(path, max_bytes)
    if not data.strip():
        raise TableUnusable(f"{path.name} is empty.")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data:
        why = "it looks like UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "it contains NUL bytes"
        raise TableUnusable(f"{path.name} is not UTF-8 text: {why}. Save it as UTF-8.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TableUnusable(
            f"{path.name} is not UTF-8 text: line {line} has the byte 0x{data[error.start]:02x}. Save it as UTF-8."
        ) from None


def _bytes(path: Path, max_bytes: int) -> bytes:
    limit = f"more than {max_bytes // 1_000_000} MB"
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise TableUnusable(f"{path.name} is a folder. Name a file in it.")
        if not stat.S_ISREG(status.st_mode):
            raise TableUnusable(f"{path.name} is not an ordinary file.")
        if status.st_size > max_bytes:
            raise TableUnusable(f"{path.name} has {limit}. Keep only the rows that are needed.")
        if path.suffix.lower() != ".gz":
            return path.read_bytes()
        with gzip.open(path) as unpacked:
            data = unpacked.read(max_bytes + 1)
    except (zlib.error, EOFError, gzip.BadGzipFile):
        raise TableUnusable(f"{path.name} is not a whole gzip file. Pack it again.") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        raise TableUnusable(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.") from None
    if len(data) > max_bytes:
        raise TableUnusable(f"{path.name} has {limit} when unpacked. Keep only the rows that are needed.")
    return data


def _lines(text: str, path: Path) -> Iterator[str]:
    """Lines without their ends. Only real line breaks count: a JSON text may hold others, such as U+2028."""
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        if len(line) > MAX_FIELD_CHARACTERS:
            raise TableUnusable(
                f"Line {number} of {path.name} has {len(line):,} characters; at most {MAX_FIELD_CHARACTERS:,} are read."
            )
        yield line.rstrip("\n")


def _json_lines(text: str, path: Path) -> Table:
    rows: list[dict[str, Any]] = []
    columns: dict[str, None] = {}
    for number, line in enumerate(_lines(text, path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise TableUnusable(f'Line {number} of {path.name} is not a JSON object such as {{"prompt": "..."}}.')
        columns.update(dict.fromkeys(row))
        rows.append(row)
    return Table(tuple(columns), rows)


def _separated(text: str, delimiter: str, path: Path) -> Table:
    """Comma- or tab-separated rows under a line of column names; line breaks inside quotes belong to the text."""
    before = csv.field_size_limit(MAX_FIELD_CHARACTERS)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = [{name: value for name, value in row.items() if name is not None} for row in reader]
        columns = tuple(reader.fieldnames or ())
    except csv.Error as error:
        hint = " Is a quotation mark not closed?" if "limit" in str(error) or "end of data" in str(error) else ""
        raise TableUnusable(f"Line {reader.reader.line_num} of {path.name} cannot be read: {error}.{hint}") from None
    finally:
        csv.field_size_limit(before)
    return Table(columns, rows)
