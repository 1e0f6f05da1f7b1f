"""Rows of a text file: .txt (a line is a row), .csv and .tsv (separated by commas, semicolons or tabs), .jsonl, each
also gzipped (.gz).

Read as a stream and bounded in every direction: bytes of the file, bytes that it unpacks to, characters of a line,
columns, rows. So a file of any size costs the memory of what is kept of it. What is wrong with a file is one sentence.
Knows nothing of prompts or models and imports nothing heavy: the page reads an upload's columns with it, training reads
prompts.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Generator, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, NamedTuple

from playground import plain_files
from playground.errors import PlaygroundError

KINDS = (".txt", ".csv", ".tsv", ".jsonl")
MAX_FILE_BYTES = 100_000_000
MAX_FIELD_CHARACTERS = 1_000_000  # of a line, and of a field that has line breaks in it
MAX_COLUMNS = 1_000
MAX_ROWS = 500_000
MAX_LINES = 2_000_000  # a text in a .csv may have line breaks
BLOCK_BYTES = 2**18
SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas"}
TEXT_COLUMN = "text"  # what the one column of a .txt file is called
csv.field_size_limit(MAX_FIELD_CHARACTERS)  # of every reader of this process; Python's own limit is 131,072


class TableUnusable(PlaygroundError):
    """A file that cannot be read as rows. The sentence names the file."""


class FileShape(NamedTuple):
    """What a file holds, without its rows. `separator`: of its columns, as a word; empty where it has one."""

    columns: tuple[str, ...]
    num_rows: int
    separator: str = ""

    def in_words(self) -> str:
        """For example "12 rows separated by semicolons"."""
        separated = f" separated by {self.separator}" if self.separator else ""
        return f"{self.num_rows:,} {'row' if self.num_rows == 1 else 'rows'}{separated}"


def kind_of(path: str | Path) -> str | None:
    """Which of KINDS a path is by its name; None if none."""
    name = str(path).lower().removesuffix(".gz")
    return next((kind for kind in KINDS if name.endswith(kind)), None)


def shape(path: Path, max_bytes: int = MAX_FILE_BYTES) -> FileShape:
    """The columns of a file and how many rows it has; read to its end, and nothing of it kept. Raises: see `rows`."""
    columns: dict[str, None] = {}
    count = 0
    for row in rows(path, max_bytes):
        columns.update(dict.fromkeys(row))
        count += 1
    return FileShape(tuple(columns), count, SEPARATORS.get(separator(path, max_bytes), ""))


def values(path: Path, column: str, max_bytes: int = MAX_FILE_BYTES) -> list[Any]:
    """What stands in one column, a value for each row; None where it has none. Raises: see `rows`."""
    return [row.get(column) for row in rows(path, max_bytes)]


def rows(path: Path, max_bytes: int = MAX_FILE_BYTES) -> Iterator[dict[str, Any]]:
    """The rows of a file, one after another.

    Args:
        max_bytes: of the file, and again of what a .gz unpacks to.

    Raises:
        TableUnusable: while reading: it is missing, empty, too large in some direction, no text, or not in the form
            that its name says.
    """
    readers = {".txt": _text_lines, ".csv": _separated, ".tsv": _separated, ".jsonl": _json_lines}
    kind = kind_of(path)
    if kind is None:
        raise TableUnusable(f"{path.name} must be one of {', '.join(KINDS)} (also with .gz).")
    count, columns = 0, set[str]()
    for row in readers[kind](path, max_bytes):
        count += 1
        columns.update(row)
        if count > MAX_ROWS:
            raise TableUnusable(f"{path.name} has more than {MAX_ROWS:,} rows. Keep only the rows that are needed.")
        if len(columns) > MAX_COLUMNS:
            raise TableUnusable(f"{path.name} has more than {MAX_COLUMNS:,} columns. Keep only the one with the texts.")
        yield row
    if not count:
        raise TableUnusable(f"{path.name} has no rows.")


def lines(path: Path, max_bytes: int = MAX_FILE_BYTES) -> Generator[str]:
    """The lines of a text file with their ends, decoded one by one, whatever the name of the file is.

    Raises:
        TableUnusable: see `rows`.
    """
    too_large = f"{path.name} has more than {max_bytes // 1_000_000} MB"
    not_text = f"{path.name} is not UTF-8 text. Save it as UTF-8."
    number, blank = 0, True
    try:
        with _opened(path, max_bytes, too_large) as file:
            # newline="": \n, \r and \r\n end a line and stay; other breaks, such as U+2028, belong to a text
            text = io.TextIOWrapper(file, "utf-8-sig", newline="")
            while line := text.readline(MAX_FIELD_CHARACTERS + 1):
                number += 1
                if file.tell() > max_bytes:
                    raise TableUnusable(f"{too_large} when unpacked. Keep only the rows that are needed.")
                if number > MAX_LINES:
                    raise TableUnusable(f"{path.name} has more than {MAX_LINES:,} lines. Keep only those needed.")
                if len(line) > MAX_FIELD_CHARACTERS:
                    raise TableUnusable(
                        f"Line {number} of {path.name} has more than {MAX_FIELD_CHARACTERS:,} characters."
                    )
                if "\0" in line:
                    raise TableUnusable(not_text)
                blank = blank and not line.strip()
                yield line
    except UnicodeDecodeError:
        raise TableUnusable(not_text) from None
    except (zlib.error, EOFError, gzip.BadGzipFile):
        raise TableUnusable(f"{path.name} is not a whole gzip file. Compress it again.") from None
    except OSError as error:
        raise TableUnusable(f"Cannot read {path}: {error.strerror or error}.") from None
    if blank:
        raise TableUnusable(f"{path.name} is empty.")


@contextlib.contextmanager
def _opened(path: Path, max_bytes: int, too_large: str) -> Iterator[IO[bytes]]:
    try:
        plain = plain_files.open_plain(path, links=True)
    except plain_files.NotAcceptable as error:
        if os.path.isdir(path):
            raise TableUnusable(f"{path.name} is a folder. Name a file in it.") from None
        raise TableUnusable(f"Cannot read {path.name}: {error.strerror}.") from None
    with plain:
        if os.fstat(plain.fileno()).st_size > max_bytes:
            raise TableUnusable(f"{too_large}. Keep only the rows that are needed.")
        if path.suffix.lower() != ".gz":
            yield plain
            return
        # in blocks, so that a file that breaks off is not taken for text
        with gzip.open(plain) as unpacked, io.BufferedReader(unpacked, BLOCK_BYTES) as blocks:
            yield blocks


def separator(path: Path, max_bytes: int = MAX_FILE_BYTES) -> str:
    """What separates the columns of a .csv or .tsv, whatever its name says: of tab, semicolon and comma the first that
    stands in the line of column names; "" where there is one column, and for other files. Raises: see `rows`."""
    if kind_of(path) not in (".csv", ".tsv"):
        return ""
    with contextlib.closing(lines(path, max_bytes)) as found:
        head = re.sub(r'"[^"]*"', "", next(filter(str.strip, found), ""))
    return next((mark for mark in SEPARATORS if mark in head), "")


def _text_lines(path: Path, max_bytes: int) -> Iterator[dict[str, Any]]:
    for line in lines(path, max_bytes):
        yield {TEXT_COLUMN: line.rstrip("\r\n")}


def _json_lines(path: Path, max_bytes: int) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines(path, max_bytes), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            plain_files.check_depth(row)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise TableUnusable(f'Line {number} of {path.name} is not a JSON object such as {{"prompt": "..."}}.')
        yield row


def _separated(path: Path, max_bytes: int) -> Iterator[dict[str, Any]]:
    """Rows under a line of column names; line breaks inside quotes belong to the text."""
    mark = separator(path, max_bytes) or ("\t" if kind_of(path) == ".tsv" else ",")
    reader = csv.reader(lines(path, max_bytes), delimiter=mark, strict=True)
    names: list[str] = []
    try:
        for cells in reader:
            if not cells:
                continue
            if not names:
                names = cells
            elif any(cell.strip() for cell in cells[len(names) :]):
                raise TableUnusable(
                    f"Line {reader.line_num} of {path.name} has {len(cells)} cells, but the first line names "
                    f"{len(names)}, separated by {SEPARATORS[mark]}. Put texts that contain one in quotation marks"
                    f"{', or call the file .txt: there a line is a text' if len(names) == 1 else ''}."
                )
            else:
                yield dict(zip_longest(names, cells[: len(names)]))
    except csv.Error as error:
        hint = " Is a quotation mark not closed?" if "limit" in str(error) or "end of data" in str(error) else ""
        raise TableUnusable(f"Line {reader.line_num} of {path.name} cannot be read: {error}.{hint}") from None
