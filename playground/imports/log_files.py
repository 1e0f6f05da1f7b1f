"""Rows of numbers from the logs that trainers write: `trainer_state.json`, event files of TensorBoard, CSV, JSON lines.
Knows no names of figures. Files are bounded. What is not finite stays as it is, and text is None: a reader says so."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from playground import plain_files
from playground.errors import InvalidConfig, Problem

MOST_BYTES = 100_000_000
MOST_ROWS = 100_000
MOST_NUMBERS = 5_000_000  # of all rows together
MOST_OF_AN_EVENT = 10_000_000  # bytes; a larger one holds pictures
MOST_FILES = 50  # of a folder of TensorBoard
MANY_NUMBERS = f"it has more than {MOST_NUMBERS:,} numbers"
STEPS = ("step", "global_step", "training/global_step", "_step", "update", "iteration")
EVENTS = "events.out.tfevents"
KINDS = "trainer_state.json, a file or folder of TensorBoard, CSV (.csv) or JSON lines (.jsonl)"
Row = dict[str, float | None]  # None: text


def rows(path: Path) -> list[tuple[int, Row]]:
    """Each step of a log and its numbers, in order; what a resumed run wrote again counts.

    Raises:
        InvalidConfig: it cannot be read, or holds no numbers.
    """
    try:
        found = _numbered(_rows(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise _unreadable(path, reason) from None
    except (ValueError, csv.Error) as error:
        raise _unreadable(path, str(error) or "it is damaged") from None
    if all(value is None for _, row in found for value in row.values()):
        raise _unreadable(path, "there are no numbers in it")
    return found


def _unreadable(path: Path, why: str) -> InvalidConfig:
    return InvalidConfig([Problem("", f"Cannot read the log {path}: {why.rstrip('.')}. It must be {KINDS}.")])


def _rows(path: Path) -> Iterable[Row]:
    if path.is_dir():
        state = path / "trainer_state.json"
        files = [state] if state.is_file() else sorted(path.glob(f"{EVENTS}*"))[:MOST_FILES]
        if not files:
            raise ValueError(f"the folder has neither trainer_state.json nor {EVENTS}...")
        return itertools.chain.from_iterable(map(_rows, files))
    data = plain_files.read_bytes(path, MOST_BYTES, links=True)
    if path.name.startswith(EVENTS):
        return _of_events(data)
    text = data.decode("utf-8-sig")
    if path.suffix == ".csv":
        return _of_table(text)
    if path.suffix in (".jsonl", ".ndjson"):
        return _of_lines(text)
    if path.suffix == ".json":
        return _of_json(text)
    raise ValueError("its name ends in something else")


def _of_table(text: str) -> Iterator[Row]:
    """A CSV. The time that it takes goes by what is there: of a short row no more is looked at than it has."""
    lines = csv.reader(io.StringIO(text))
    names = next(lines, [])
    for line in lines:
        if line:
            yield _numbers(dict(zip(names, line, strict=False)))


def _of_json(text: str) -> list[Row]:
    if text.count(",") > 2 * MOST_NUMBERS:
        raise ValueError(MANY_NUMBERS)
    data = plain_files.parse_json(text)
    history = data.get("log_history") if isinstance(data, dict) else data
    if not isinstance(history, list):
        raise ValueError("it has no `log_history`")
    return [_numbers(row) for row in history if isinstance(row, dict)]


def _of_lines(text: str) -> Iterator[Row]:
    for number, line in enumerate(io.StringIO(text), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            if number == text.count("\n") + 1:
                break  # torn off while it was written
            raise ValueError(f"line {number} is not JSON") from None
        if isinstance(row, dict):
            inner = row.get("data")  # as verl writes it
            yield _numbers({**row, **inner} if isinstance(inner, dict) else row)


def _of_events(data: bytes) -> list[Row]:
    """TensorBoard's records: a length of eight bytes, its checksum of four, the event, its checksum of four. Checksums
    are not looked at; what a running trainer has not finished writing is left out."""
    from google.protobuf.message import DecodeError
    from tensorboardX.proto.event_pb2 import Event

    found: dict[int, Row] = {}
    at, count = 0, 0
    while at + 12 <= len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        if at + 16 + length > len(data):
            break
        record = data[at + 12 : at + 12 + length] if length <= MOST_OF_AN_EVENT else b""
        try:
            event = Event.FromString(record)
        except DecodeError:
            raise ValueError("it is damaged") from None
        at += 16 + length
        count += len(event.summary.value)
        if count > MOST_NUMBERS:
            raise ValueError(MANY_NUMBERS)
        for value in event.summary.value:
            number = _of_value(value)
            if number is not None:
                found.setdefault(event.step, {"step": float(event.step)})[value.tag] = number
    return list(found.values())


def _of_value(value: Any) -> float | None:
    """A number of a summary: simple, or a tensor with one float."""
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return float(value.simple_value)
    if kind == "tensor" and len(value.tensor.float_val) == 1:
        return float(value.tensor.float_val[0])
    if kind == "tensor" and value.tensor.dtype == 1 and len(value.tensor.tensor_content) == 4:
        return float(struct.unpack("<f", value.tensor.tensor_content)[0])
    return None


def _numbers(row: dict[Any, Any]) -> Row:
    """What of a row is a number, or text where one may be looked for; empty cells are not there."""
    found: Row = {}
    for name, value in row.items():
        if isinstance(name, str) and isinstance(value, (int, float, str)) and not isinstance(value, bool):
            if isinstance(value, str) and not value.strip():
                continue
            try:
                found[plain_name(name)] = float(value)
            except (ValueError, OverflowError):
                found[plain_name(name)] = None
    return found


def plain_name(name: str) -> str:
    """A column as its trainer calls it: without the run's name of W&B's tables, and without `train/`."""
    return name.rpartition(" - ")[2].strip().removeprefix("train/")


def _numbered(found: Iterable[Row]) -> list[tuple[int, Row]]:
    """Rows with their steps; numbered as they come where they have none. Several rows of a step are one."""
    steps: dict[int, Row] = {}
    for number, row in enumerate(_some(found), 1):
        named = {plain_name(name): value for name, value in row.items()}
        step = next((int(at) for name in STEPS if (at := named.get(name)) is not None and math.isfinite(at)), number)
        steps.setdefault(step, {}).update(named)
    return sorted((step, row) for step, row in steps.items() if row.keys() - {*STEPS})


def _some(found: Iterable[Row]) -> Iterator[Row]:
    numbers = 0
    for number, row in enumerate(found):
        numbers += len(row)
        if number >= MOST_ROWS:
            raise ValueError(f"it has more than {MOST_ROWS:,} rows")
        if numbers > MOST_NUMBERS:
            raise ValueError(MANY_NUMBERS)
        yield row
