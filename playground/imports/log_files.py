"""Rows of numbers from the logs that trainers write: `trainer_state.json`, event files of TensorBoard, tables, JSON
lines, and what a terminal showed. Knows no names of figures.
Files are bounded. What is not finite stays as it is, and text is None: a reader says so."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
import math
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from playground import plain_files
from playground.errors import InvalidConfig, Problem

MOST_BYTES = 100_000_000
MOST_ROWS = 100_000
MOST_NUMBERS = 5_000_000  # of all rows together
MOST_OF_AN_EVENT = 10_000_000  # bytes; a larger one holds pictures
MOST_DEPTH = 5  # of mappings in mappings
MOST_FILES = 50  # of a folder of TensorBoard
MANY_NUMBERS = f"it has more than {MOST_NUMBERS:,} numbers"
STEPS = ("step", "global_step", "training/global_step", "_step", "update", "iteration", "current_steps")
EVENTS = "events.out.tfevents"
KINDS = "trainer_state.json, a file or folder of TensorBoard, a CSV, JSON lines (.jsonl), or what a terminal showed"
RUNS = ("run", "run_name", "run_id", "seed")  # columns that say whose a row is
OF_A_CHART = ("__MIN", "__MAX")  # what W&B adds to a column
SHOWN_STEP = re.compile(r"\b(?:step|update|iteration)[ :=]+(\d{1,15})\b", re.IGNORECASE)
SHOWN_FIGURE = re.compile(r"([A-Za-z][\w/.]{0,99})(?: ?[:=] ?| )([-+]?(?:\d[\d.e+-]{0,40}|nan|inf))(?![\w.])")
SHOWN_PAIR = re.compile(r"""['"]([^'"]{1,200})['"]: ?['"]?([-+.\w]{1,40})""")
COLOUR = re.compile(r"\x1b\[[\d;]*m")
OF_A_BOX = re.compile(r"\s*[│┃|]")  # a drawn table, as TRL shows completions (log_completions), with what models wrote
Row = dict[str, float | None]  # None: text


def rows(path: Path, run: str = "") -> tuple[list[tuple[int, Row]], list[str]]:
    """Each step of a log and its numbers, in order; what a resumed run wrote again counts. Beside it, what was read.
    `run`: the one that is meant, of a table with several.

    Raises:
        InvalidConfig: it cannot be read, or holds no numbers.
    """
    try:
        path, notes = _file_of(path)
        numbered, are_counted = _numbered(_rows(path, run))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise _unreadable(path, reason) from None
    except (ValueError, csv.Error) as error:
        raise _unreadable(path, str(error) or "it is damaged") from None
    if all(value is None for _, row in numbered for value in row.values()):
        raise _unreadable(path, "there are no numbers in it")
    if are_counted:
        notes.append("It names no steps, so its rows were counted.")
    return numbered, notes


def _unreadable(path: Path, why: str) -> InvalidConfig:
    return InvalidConfig([Problem("", f"Cannot read the log {path}: {why.rstrip('.')}. It must be {KINDS}.")])


def _file_of(path: Path) -> tuple[Path, list[str]]:
    """Of a folder of checkpoints the newest, which has the whole history. Raises: ValueError: no log there."""
    if not path.is_dir() or (path / "trainer_state.json").is_file() or any(path.glob(f"{EVENTS}*")):
        return path, []
    states = [state for state in path.glob("checkpoint-*/trainer_state.json") if state.parent.name[11:].isdecimal()]
    if states:
        newest = max(states, key=lambda state: int(state.parent.name[11:]))
        return newest, [f"It was read from {newest.relative_to(path)}, the newest of {len(states)} checkpoints."]
    inside = sorted({file.parent.name for file in path.glob(f"*/{EVENTS}*")})
    folders = ""
    if inside:
        folders = f"; its folders {', '.join(inside[:10])} have, so name one of them"
    raise ValueError(f"the folder has neither trainer_state.json nor {EVENTS}...{folders}")


def _rows(path: Path, run: str) -> Iterable[Row]:
    if path.is_dir():
        state = path / "trainer_state.json"
        files = [state] if state.is_file() else sorted(path.glob(f"{EVENTS}*"))[:MOST_FILES]
        return itertools.chain.from_iterable(_rows(file, run) for file in files)
    data = plain_files.read_bytes(path, MOST_BYTES, links=True)
    if path.name.startswith(EVENTS):
        return _of_events(data)
    text = _text_of(data)
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if suffix in (".csv", ".tsv"):
        return _of_one_run(_of_table(text), run)
    if suffix in (".jsonl", ".ndjson"):
        return _of_one_run(_of_lines(text), run)
    if suffix == ".json":
        return _of_one_run(_of_json(text), run)
    for loosely in (False, True):
        output = of_terminal(text, loosely)
        if first := next(output, None):
            return itertools.chain([first], output)
    return _of_one_run(_of_table(text), run)


def _text_of(data: bytes) -> str:
    """The text of a file, unpacked: UTF-8, or UTF-16 as PowerShell writes it. Raises: ValueError."""
    if data.startswith(b"\x1f\x8b"):
        try:
            data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, MOST_BYTES)
        except zlib.error:
            raise ValueError("it is damaged") from None
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16")
    return data.decode("utf-8-sig")


def _of_one_run(log_lines: Iterable[dict[str, Any]], run: str) -> Iterator[Row]:
    """The rows and columns of one run. W&B writes `run - column`; other tables have a column that says it.

    Raises:
        ValueError: there are several, and it is not said which; or none of that name.
    """
    runs: dict[str, None] = {}
    for row in log_lines:
        of_row = next((str(row[name]).strip() for name in RUNS if row.get(name) not in (None, "")), "")
        of_columns = {name: name.rpartition(" - ")[0].strip() for name in row if isinstance(name, str)}
        names = [of_row, *of_columns.values()]
        if len(runs) <= MOST_FILES:
            runs |= dict.fromkeys(filter(None, names))
        if not run or run in names:
            yield numbers({name: row[name] for name, of in of_columns.items() if not run or of in ("", run)})
    listed = ", ".join(list(runs)[:MOST_FILES])
    if run and run not in runs:
        raise ValueError(f"it has no run {run[:60]!r} (there are: {listed or 'none with a name'})")
    if len(runs) > 1 and not run:
        raise ValueError(f"it has several runs ({listed}). Choose one: --columns run={next(iter(runs))}")


def of_terminal(text: str, loosely: bool = False) -> Iterator[Row]:
    """The lines with figures of what a terminal showed: `{'loss': 0.1}` of TRL, `step:3 - actor/lr:1e-06` of verl;
    `loosely`: `step 3: loss=0.1` and `Step 3 | loss: 0.1` too."""
    for line in re.split(r"[\r\n]+", COLOUR.sub("", text)):
        if OF_A_BOX.match(line):
            continue
        step = SHOWN_STEP.search(line)
        pairs = dict(SHOWN_PAIR.findall(line)) if "{" in line else {}
        if step and not pairs and loosely:
            pairs = dict(SHOWN_FIGURE.findall(line[step.end() :]))
        elif step and not pairs and " - " in line[step.start() :]:
            parts = [part.rpartition(":") for part in line[step.start() :].split(" - ")]
            pairs = {name: re.sub(r"^np\.\w+\((.*)\)$", r"\1", value.strip()) for name, _, value in parts if name}
        row = numbers(pairs)
        if any(value is not None for name, value in row.items() if name not in STEPS):
            if step:
                row = {"step": float(step.group(1)), **row}
            yield row


def _of_table(text: str) -> Iterator[dict[str, Any]]:
    """A table with commas, semicolons or tabs. The time that it takes goes by what is there: of a short row no more is
    looked at than it has."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.lstrip().startswith("|"):  # as Markdown has it, below whose head is a line of dashes
        text = "\n".join(line.strip().strip("|") for line in text.split("\n") if {*line} - {*"|-: "})
    head = text.partition("\n")[0]
    between = max(",;\t|", key=head.count)
    lines = csv.reader(io.StringIO(text), delimiter=between)
    names = [name.strip() for name in next(lines, [])]
    if twice := next((name for at, name in enumerate(names) if name and name in names[:at]), ""):
        raise ValueError(f"it has two columns called {twice[:60]!r}")
    for line in lines:
        if line:
            if between == ";":
                line = [cell.replace(",", ".") for cell in line]
            yield dict(zip(names, line, strict=False))


def _of_json(text: str) -> list[dict[str, Any]]:
    if text.count(",") > 2 * MOST_NUMBERS:
        raise ValueError(MANY_NUMBERS)
    history = plain_files.parse_json(text)
    if isinstance(history, dict):
        history = history.get("log_history")
    if not isinstance(history, list):
        raise ValueError("it has no `log_history`")
    return [row for row in history if isinstance(row, dict)]


def _of_lines(text: str) -> Iterator[dict[str, Any]]:
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
            for name in ("data", "metrics"):  # as verl and others write it
                if isinstance(row.get(name), dict):
                    row |= row.pop(name)
            yield dict(_flat(row))


def _flat(row: dict[str, Any], within: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """What stands in mappings by its whole name, as in `critic/score/mean`."""
    for name, value in row.items():
        if isinstance(value, dict) and depth < MOST_DEPTH:
            yield from _flat(value, f"{within}{name}/", depth + 1)
        else:
            yield f"{within}{name}", value


def _of_events(data: bytes) -> list[Row]:
    """TensorBoard's records: a length of eight bytes, its checksum of four, the event, its checksum of four. Checksums
    are not looked at; what a running trainer has not finished writing is left out."""
    from google.protobuf.message import DecodeError
    from tensorboardX.proto.event_pb2 import Event

    by_step: dict[int, Row] = {}
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
                by_step.setdefault(event.step, {"step": float(event.step)})[value.tag] = number
    return list(by_step.values())


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


def numbers(row: dict[Any, Any]) -> Row:
    """What of a row is a number, or text where one may be looked for; empty cells are not there."""
    figures: Row = {}
    for name, value in row.items():
        if isinstance(name, str) and isinstance(value, (int, float, str)) and not isinstance(value, bool):
            if name.endswith(OF_A_CHART) or (isinstance(value, str) and value.strip() in ("", "No Log")):
                continue
            try:
                figures[plain_name(name)] = float(value)
            except (ValueError, OverflowError):
                figures[plain_name(name)] = None
    return figures


def plain_name(name: str) -> str:
    """A column as its trainer calls it: without the run's name of W&B's tables, without `train/`, and without
    the spaces that a notebook puts around a slash."""
    plain = re.sub(r" ?/ ?", "/", name.rpartition(" - ")[2].strip()).removeprefix("train/")
    if plain == "Step":
        return "step"
    return plain


def _numbered(log_rows: Iterable[Row]) -> tuple[list[tuple[int, Row]], bool]:
    """Rows with their steps; numbered as they come where they have none. Several rows of a step are one. Beside it,
    whether no row had a step.

    Raises:
        ValueError: a figure begins again where it began, as that of a run that is resumed does not.
    """
    named = [{plain_name(name): value for name, value in row.items()} for row in _some(log_rows)]
    with_step = sum(_step_of(row) is not None for row in named)
    if any(row.get("epoch") is not None for row in named) and 2 * with_step < len(named):  # a line of another kind
        return [*enumerate(_of_epochs(named), 1)], True
    if not with_step:
        return [(number, row) for number, row in enumerate(named, 1) if row], True
    steps: dict[int, Row] = {}
    began: dict[str, tuple[float, float]] = {}  # of a figure, where it began and how far it has come
    newest = 0
    for number, row in enumerate(named, 1):
        step = _step_of(row)
        if step is None and row.keys() & {*STEPS}:
            step = number  # it is no number there
        if step is not None:
            newest = step
            _go_on(began, row.keys() - {*STEPS, "epoch"}, step)
            steps.setdefault(step, {}).update(row)
        elif newest in steps:  # it stands beside a step
            steps[newest] = row | steps[newest]
    return sorted((step, row) for step, row in steps.items() if row.keys() - {*STEPS}), False


def _step_of(row: Row) -> int | None:
    return next((int(at) for name in STEPS if (at := row.get(name)) is not None and math.isfinite(at)), None)


def _of_epochs(log_rows: Sequence[Row]) -> list[Row]:
    """The steps of a log that names epochs only: without what else was printed, and what a resumed run wrote again
    counts. What is told of an evaluation, or of the whole training, stands beside the step before it.

    Raises:
        ValueError: see `_numbered`.
    """
    steps: list[Row] = []
    began: dict[str, tuple[float, float]] = {}
    known = {name for row in log_rows if row.get("epoch") is not None for name in row} - {"epoch"}
    epoch = 0.0
    for row in log_rows:
        epoch, figures = row.get("epoch") or epoch, row.keys() - {"epoch"}
        if figures.isdisjoint(known) or not math.isfinite(epoch):
            continue
        if steps and _is_of_step(steps[-1], row, epoch):
            steps[-1] = row | steps[-1]
            continue
        _go_on(began, figures, epoch)
        if steps and (steps[-1]["epoch"] or 0.0) > epoch:
            steps = [before for before in steps if (before["epoch"] or 0.0) < epoch]
        steps.append({**row, "epoch": epoch})
    return steps


def _is_of_step(step: Row, row: Row, epoch: float) -> bool:
    """Whether a row tells more of the step before it, and is none of its own."""
    figures = row.keys() - {"epoch"}
    if all(name.startswith(("eval_", "train_")) for name in figures):
        return True
    if all(step.get(name, math.nan) == value for name, value in row.items()):  # told by two processes
        return True
    return step["epoch"] == epoch and figures.isdisjoint(step)


def _go_on(began: dict[str, tuple[float, float]], names: Iterable[str], at: float) -> None:
    """How far some figures have come. Raises: ValueError, see `_numbered`."""
    for name in names:
        first, last = began.setdefault(name, (at, at))
        if at <= first < last:
            raise ValueError(f"it has several runs: {name} begins again at {at:g}. Give the log of one of them alone")
        began[name] = (first, max(last, at))


def _some(log_rows: Iterable[Row]) -> Iterator[Row]:
    numbers = 0
    for number, row in enumerate(log_rows):
        numbers += len(row)
        if number >= MOST_ROWS:
            raise ValueError(f"it has more than {MOST_ROWS:,} rows")
        if numbers > MOST_NUMBERS:
            raise ValueError(MANY_NUMBERS)
        yield row
