"""Rows of a file: .txt (a line is a row), .csv and .tsv (separated by commas, semicolons or tabs), .jsonl, .json (a
list of objects), each also gzipped (.gz), and .parquet.

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
import itertools
import json
import os
import re
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import IO, Any, NamedTuple

from playground import PROJECT_FILES, plain_files
from playground.errors import PlaygroundError

KINDS = (".txt", ".csv", ".tsv", ".jsonl", ".json", ".parquet")
SHIPPED = {  # by the name that stands in a configuration
    f"general/{Path(file).stem}": PROJECT_FILES / "presets" / file for file in ("claims.csv", "sums.jsonl")
}
MAX_FILE_BYTES = 100_000_000
MAX_FIELD_CHARACTERS = 1_000_000  # of a line, and of a field that has line breaks in it
MAX_COLUMNS = 1_000
MAX_ROWS = 500_000
MAX_LINES = 2_000_000  # a text in a .csv may have line breaks
BLOCK_BYTES = 2**18
PARQUET_ROWS = 100  # that are unpacked at once
SEPARATED = (".csv", ".tsv")  # kinds of tables whose columns something separates
SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas"}
TEXT_COLUMN = "text"  # what the one column of a .txt file is called
NAMES = frozenset(  # what columns are called in this field: where one of them is there, the first line holds names
    "id prompt text question query problem instruction input context system history output response answer label "
    "messages conversations chosen rejected response_chosen response_rejected right wrong".split()
)
MOST_NAME_WORDS = 4
SIGNATURES = {  # how a file begins that is no text, and what to do
    b"PK\3\4": "a .zip archive or an Excel sheet: unpack it, or save the sheet as .csv",
    b"PAR1": "a Parquet file: call it .parquet",
    b"\x1f\x8b": "a gzip file: its name has to end in .gz",
    b"\xff\xfe": "UTF-16, not UTF-8 text: save it as UTF-8",
    b"\xfe\xff": "UTF-16, not UTF-8 text: save it as UTF-8",
}
_FOR_EXCEL = re.compile(r"sep=.\s*", re.IGNORECASE)
csv.field_size_limit(MAX_FIELD_CHARACTERS)  # of every reader of this process; Python's own limit is 131,072


class TableUnusable(PlaygroundError):
    """A file that cannot be read as rows. The sentence names the file."""


class FileShape(NamedTuple):
    """What a file holds, without its rows. `separator`: of its columns, as a word; empty where it has one. `nameless`:
    the first line of a table is no line of column names, but a row."""

    columns: tuple[str, ...]
    num_rows: int
    separator: str = ""
    nameless: bool = False

    def in_words(self) -> str:
        """For example "12 rows separated by semicolons"."""
        words = f"{self.num_rows:,} {'row' if self.num_rows == 1 else 'rows'}"
        if self.separator:
            words += f" separated by {self.separator}"
        if self.nameless:
            words += " without a line of column names"
        return words


class _Table(NamedTuple):
    """How a .csv or .tsv is written."""

    mark: str  # what separates its columns; "" where there is one
    names: list[str]
    nameless: bool


def kind_of(path: str | Path) -> str | None:
    """Which of KINDS a path is by its name, or a file that ships; None if none."""
    name = str(SHIPPED.get(str(path), path)).lower().removesuffix(".gz")
    return next((kind for kind in KINDS if name.endswith(kind)), None)


def path_of(source: str) -> Path:
    """The file that a source names: one that ships, or a path."""
    return SHIPPED.get(source) or Path(os.path.expanduser(source))


def is_file(source: str) -> bool:
    """True for what ends as a file of rows does, and for any other file that is there: the reader says what it is."""
    return kind_of(source) is not None or os.path.isfile(os.path.expanduser(source))


def folded(name: object) -> str:
    """A column's name as names are compared: without spaces around it, in any case."""
    return str(name).strip().casefold()


def shape(path: Path, max_bytes: int = MAX_FILE_BYTES) -> FileShape:
    """The columns of a file and how many rows it has; read to its end, and nothing of it kept. Raises: see `rows`."""
    columns: dict[str, None] = {}
    count = 0
    for row in rows(path, max_bytes):
        columns.update(dict.fromkeys(row))
        count += 1
    if kind_of(path) not in SEPARATED:
        return FileShape(tuple(columns), count)
    table = _table(path, max_bytes)
    return FileShape(tuple(columns), count, SEPARATORS.get(table.mark, ""), table.nameless)


def rows(path: Path, max_bytes: int = MAX_FILE_BYTES) -> Iterator[dict[str, Any]]:
    """The rows of a file, one after another.

    Args:
        max_bytes: of the file, and again of what a .gz unpacks to.

    Raises:
        TableUnusable: while reading: it is missing, empty, too large in some direction, no text, or not in the form
            that its name says.
    """
    readers = {
        ".txt": _text_lines,
        ".csv": _separated,
        ".tsv": _separated,
        ".jsonl": _json_lines,
        ".json": _json_list,
        ".parquet": _parquet,
    }
    kind = kind_of(path)
    if kind is None:
        raise TableUnusable(f"{path.name} must be one of {', '.join(KINDS)} (also with .gz). Save it as one of these.")
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
    for number, line in enumerate(_pieces(path, max_bytes, io.TextIOWrapper.readline), 1):
        if number > MAX_LINES:
            raise TableUnusable(f"{path.name} has more than {MAX_LINES:,} lines. Keep only those needed.")
        if len(line) > MAX_FIELD_CHARACTERS:
            raise TableUnusable(f"Line {number} of {path.name} has more than {MAX_FIELD_CHARACTERS:,} characters.")
        yield line


def _pieces(path: Path, max_bytes: int, read: Callable[[io.TextIOWrapper, int], str]) -> Iterator[str]:
    """What `read` gives of a text file, again and again. Raises: see `rows`."""
    too_large = f"{path.name} has more than {max_bytes // 1_000_000} MB"
    ends, blank = 0, True
    try:
        with _opened(path, max_bytes, too_large) as file:
            # newline="": \n, \r and \r\n end a line and stay; other breaks, such as U+2028, belong to a text
            text = io.TextIOWrapper(file, "utf-8-sig", newline="")
            while piece := read(text, MAX_FIELD_CHARACTERS + 1):
                if file.tell() > max_bytes:
                    raise TableUnusable(f"{too_large} when unpacked. Keep only the rows that are needed.")
                if "\0" in piece:
                    ends += piece.count("\n", 0, piece.index("\0"))
                    other = "holds a NUL character (\\0), which no text has. Remove it."
                    raise TableUnusable(_no_text(path, f"Line {ends + 1} of {path.name} {other}"))
                blank = blank and not piece.strip()
                ends += piece.count("\n")
                yield piece
    except UnicodeDecodeError as error:
        line = ends + 1 + error.object.count(b"\n", 0, error.start)
        other = f"is not UTF-8 text (byte 0x{error.object[error.start]:02X}). It may be Latin-1: save it as UTF-8."
        raise TableUnusable(_no_text(path, f"Line {line} of {path.name} {other}")) from None
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


def _no_text(path: Path, other: str) -> str:
    """What a file is that is no text, by how it begins; `other` where that says nothing."""
    with plain_files.open_plain(path, links=True) as file:
        head = file.read(4)
    kind = next((words for begin, words in SIGNATURES.items() if head.startswith(begin)), None)
    if kind:
        return f"{path.name} is {kind}."
    return other


def _table_lines(path: Path, max_bytes: int) -> Generator[str]:
    """The lines of a table; one that tells Excel what separates the columns (`sep=;`) is empty."""
    for number, line in enumerate(lines(path, max_bytes)):
        yield "\n" if not number and _FOR_EXCEL.fullmatch(line) else line


def _table(path: Path, max_bytes: int) -> _Table:
    """How a .csv or .tsv is written, whatever its name says: of tab, semicolon and comma the first that stands in its
    first line separates the columns. Raises: see `rows`."""
    head: list[str] = []
    cells: list[str] = []
    with contextlib.suppress(csv.Error), contextlib.closing(_table_lines(path, max_bytes)) as text_lines:
        while not head or not head[-1].strip():
            head.append(next(text_lines))
        bare = re.sub(r'"[^"]*"', "", head[-1])
        mark = next((mark for mark in SEPARATORS if mark in bare), "")
        read = csv.reader(itertools.chain(head, text_lines), delimiter=mark or _default_mark(path))
        cells = [cell.strip() for cell in next(filter(None, read), [])]
    nameless = not NAMES & {folded(cell) for cell in cells} and not all(map(_is_name, cells))
    if not nameless:
        names = _distinct([name or f"column {number}" for number, name in enumerate(cells, 1)])
    elif len(cells) == 1:
        names = [TEXT_COLUMN]
    else:
        names = [f"column {number}" for number in range(1, len(cells) + 1)]
    return _Table(mark, names, nameless)


def _default_mark(path: Path) -> str:
    return "\t" if kind_of(path) == ".tsv" else ","


def _is_name(cell: str) -> bool:
    """Could this be the name of a column? A sentence and a number are none."""
    return len(cell.split()) <= MOST_NAME_WORDS and not cell.endswith((".", "?", "!")) and not _is_number(cell)


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _distinct(names: Iterable[str]) -> list[str]:
    """The same names, of which none occurs twice: prompt, prompt (2)."""
    counts: dict[str, int] = {}  # how often a name was tried
    for name in names:
        new = name
        while new in counts:
            counts[name] += 1
            new = f"{name} ({counts[name]})"
        counts[new] = 1
    return list(counts)


def _text_lines(path: Path, max_bytes: int) -> Iterator[dict[str, Any]]:
    for line in lines(path, max_bytes):
        yield {TEXT_COLUMN: line.rstrip("\r\n")}


def _json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; where a name occurs twice in it, the second one gets a number."""
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    names = _distinct(name for name, _ in pairs)
    return {name: value for name, (_, value) in zip(names, pairs, strict=True)}


_DECODER = json.JSONDecoder(object_pairs_hook=_json_object)
_NEXT_ROW = re.compile(r"[\s,\[\]]*\{")


def _json_lines(path: Path, max_bytes: int) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines(path, max_bytes), 1):
        if not line.strip():
            continue
        try:
            row = _DECODER.decode(line)
            plain_files.check_depth(row)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise TableUnusable(f'Line {number} of {path.name} is not a JSON object such as {{"prompt": "..."}}.')
        yield row


def _json_list(path: Path, max_bytes: int) -> Iterator[dict[str, Any]]:
    """The objects of a list, one by one; also objects one after another, as some call .json what is .jsonl."""
    row: dict[str, Any] = {}
    text, number, is_list = "", 0, False
    for piece in _pieces(path, max_bytes, lambda file, _: file.read(BLOCK_BYTES)):
        text += piece
        place, is_list = 0, is_list or (not number and text.lstrip().startswith("["))
        while begin := _NEXT_ROW.match(text, place):
            try:
                row, place = _DECODER.raw_decode(text, begin.end() - 1)
                plain_files.check_depth(row)
            except (ValueError, RecursionError):
                break  # not whole yet
            number += 1
            yield row
        text = text[place:]
        if len(text) > MAX_FIELD_CHARACTERS:
            break
    form = 'Write a list of objects: [{"prompt": "..."}, ...].'
    if text.strip(" \r\n\t,[]") or (is_list and "]" not in text):
        size = f"a JSON object of at most {MAX_FIELD_CHARACTERS:,} characters"
        raise TableUnusable(f"{path.name} cannot be read behind {number:,} rows: there is not {size}. {form}")
    if number == 1 and not is_list and any(isinstance(value, (dict, list)) for value in row.values()):
        raise TableUnusable(f"{path.name} is one object with {', '.join(row)[:80]}, not a list of rows. {form}")


def _parquet(path: Path, max_bytes: int) -> Iterator[dict[str, Any]]:
    """In batches; what its columns unpack to is bounded before and while they are read."""
    import pyarrow
    from pyarrow import parquet

    too_large = f"{path.name} has more than {max_bytes // 1_000_000} MB"
    try:
        with _opened(path, max_bytes, too_large) as file:
            table = parquet.ParquetFile(file)
            groups = [table.metadata.row_group(number) for number in range(table.num_row_groups)]
            left = max_bytes if sum(group.total_byte_size for group in groups) <= max_bytes else 0
            for batch in table.iter_batches(batch_size=PARQUET_ROWS) if left else ():
                left -= batch.nbytes
                if left < 0:
                    break
                yield from batch.rename_columns(_distinct(batch.schema.names)).to_pylist()
            if left <= 0:
                raise TableUnusable(f"{too_large} when unpacked. Keep only the rows and columns that are needed.")
    except (pyarrow.ArrowException, OSError) as error:
        raise TableUnusable(f"{path.name} is not a whole Parquet file: {str(error)[:200].rstrip('.')}.") from None


def _separated(path: Path, max_bytes: int) -> Iterator[dict[str, Any]]:
    """Rows under a line of column names; line breaks inside quotes belong to the text."""
    table = _table(path, max_bytes)
    mark, names, count = table.mark or _default_mark(path), table.names, 0
    reader = csv.reader(_table_lines(path, max_bytes), delimiter=mark, strict=True)
    try:
        for cells in filter(None, reader):
            count += 1
            if count == 1 and not table.nameless:
                continue
            if any(cell.strip() for cell in cells[len(names) :]):
                raise TableUnusable(
                    f"Line {reader.line_num} of {path.name} has {len(cells)} cells, but the first line "
                    f"{'has' if table.nameless else 'names'} {len(names)}, separated by {SEPARATORS[mark]}. Put texts "
                    "that contain one in quotation marks"
                    f"{', or call the file .txt: there a line is a text' if len(names) == 1 else ''}."
                )
            yield dict(zip_longest(names, cells[: len(names)]))
    except csv.Error as error:
        if not _marks_are_text(path, max_bytes, mark, len(names)):
            reason = str(error)
            hint = " Write a quotation mark within quotation marks twice."
            if "limit" in reason or "end of data" in reason:
                hint = " Is a quotation mark not closed?"
            raise TableUnusable(f"Line {reader.line_num} of {path.name} cannot be read: {reason}.{hint}") from None
    else:
        return
    for cells in islice(_unquoted(path, max_bytes, mark), count, None):
        yield dict(zip(names, cells, strict=True))


def _marks_are_text(path: Path, max_bytes: int, mark: str, num_names: int) -> bool:
    """True where a table can only be read with quotation marks as part of its texts ("Shy" is what they call it): each
    line is a row with all its cells, and its quotation marks are in pairs. So the lines before are read alike."""
    with contextlib.suppress(csv.Error):
        return all(
            len(row) == num_names and not any(cell.count('"') % 2 for cell in row)
            for row in _unquoted(path, max_bytes, mark)
        )
    return False


def _unquoted(path: Path, max_bytes: int, mark: str) -> Iterator[list[str]]:
    """The cells of each line; those that are quoted as a whole without their quotation marks."""
    for row in filter(None, csv.reader(_table_lines(path, max_bytes), delimiter=mark, quoting=csv.QUOTE_NONE)):
        yield [cell[1:-1].replace('""', '"') if re.fullmatch(r'"(?:[^"]|"")*"', cell) else cell for cell in row]
