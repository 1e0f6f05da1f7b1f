"""Files of records cut at bytes of their last two lines, or with garbage in them: no reader raises, at most one
record is lost, and the next attempt repairs what it appends to."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playground.exports import csv_tables
from playground.exports.report import Report
from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.ui.feed.run_feed import RunFeed
from tests.faults import resuming
from tests.figures import Figure
from tests.support import sample, small_config, update_metrics

Reader = Callable[[RunDirectory], list[Any]]
READERS: dict[str, Reader] = {"metrics": RunDirectory.metrics, "samples": RunDirectory.samples}
READERS["events"] = RunDirectory.all_events


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    made = RunDirectory.create(tmp_path / "outputs", small_config(), "run")
    writer = RunWriter(made, 3)
    writer.samples([sample(0, "before", 0.0), sample(1, "before", 0.5, completion=" d\u00e9j\u00e0 vu \u2028 ")])
    writer.set_status(state="running")
    for update in (1, 2):
        writer.metrics(update_metrics(update))
        writer.set_status(update=update)
        writer.event("warning", f"Caf\u00e9 {update}.", evidence=update)
    writer.finish("failed", "bug", "It broke.")
    return made


def all_readers(run: RunDirectory) -> None:
    """The page's feed, the list of runs, the report, the tables."""
    feed = RunFeed(run)
    feed.poll()
    json.dumps(feed.snapshot(), allow_nan=False)
    assert len(history.list_runs(run.path.parent)) == 1
    report = Report.of(run)
    report.summary()
    csv_tables.metrics_csv(report.config, report.metrics, report.events, report.evaluations)
    csv_tables.samples_csv(report.samples, report.config)


def repaired(run: RunDirectory) -> bool:
    """A later attempt appends to all files: what it writes is read, and no line is glued to another."""
    writer = RunWriter(run, 3, attempt=2)
    writer.samples([sample(0, "during", 1.0, update=3)])
    writer.metrics(update_metrics(3))
    writer.event("warning", "New.")
    last = run.metrics()[-1], run.samples()[-1], run.all_events()[-1]
    return [item.attempt for item in last] == [2, 2, 2] and last[0].update == 3 and last[2].message == "New."


@pytest.mark.parametrize("name", READERS)
def test_cut_at_any_byte_of_the_last_two_lines(run: RunDirectory, name: str, figure: Figure) -> None:
    path, read = run.path / f"{name}.jsonl", READERS[name]
    before = {kind: (run.path / f"{kind}.jsonl").read_bytes() for kind in READERS}
    data, records = before[name], read(run)
    lines = data.splitlines(keepends=True)
    assert len(lines) == len(records) >= 2
    start, border = len(data) - len(lines[-1]) - len(lines[-2]), len(data) - len(lines[-1])
    survived, cuts = 0, sorted({*range(start, len(data) + 1, 3), *range(border - 2, border + 2), len(data) - 1})
    for number, cut in enumerate(cuts):
        for kind, content in before.items():
            (run.path / f"{kind}.jsonl").write_bytes(content)
        path.write_bytes(data[:cut])
        if number % 200 == 0 or data[cut - 1 : cut + 1].find(b"\n") >= 0:
            all_readers(run)
        good = read(run) == records[: data[:cut].count(b"\n")]
        if number % 5 == 0 or data[cut - 1 : cut + 1].find(b"\n") >= 0:
            good &= repaired(run)
            for kind in READERS:
                resuming.strict_lines(run.path / f"{kind}.jsonl")
        survived += good
    figure("records cut at a byte of their last two lines: read, and repaired", len(cuts), survived)


def in_the_middle(line: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data.replace(b"\n", b"\n" + line + b"\n", 1)


GARBAGE: dict[str, Callable[[bytes], bytes]] = {
    "a line of NULs": in_the_middle(b"\0" * 100),
    "a garbage line": in_the_middle(b"\xff\xfe{]garbage"),
    "a record of nothing": in_the_middle(b'{"update": "many", "seq": {}, "kind": 3}'),
    "a very deep line": in_the_middle(b"[" * 100_000),
    "half a character": lambda data: data[:-1] + b"\xc3\n",
}


@pytest.mark.parametrize("what", GARBAGE)
def test_garbage_costs_at_most_the_record_it_hits(run: RunDirectory, what: str, figure: Figure) -> None:
    survived = 0
    records = {name: read(run) for name, read in READERS.items()}
    for name in READERS:
        path = run.path / f"{name}.jsonl"
        path.write_bytes(GARBAGE[what](path.read_bytes()))
    all_readers(run)
    for name, read in READERS.items():
        found = read(run)
        survived += all(item in records[name] for item in found) and len(found) >= len(records[name]) - 1
    RunWriter(run, 3, attempt=2).metrics(update_metrics(3))
    assert run.metrics()[-1].attempt == 2
    figure("garbage among the records: no reader raises, at most one record is lost", len(READERS), survived)


def test_a_disk_that_takes_half_a_line_leaves_none(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, write, before = RunWriter(run, 3, attempt=2), os.write, run.metrics_path.read_bytes()

    def nearly_full(descriptor: int, data: bytes) -> int:
        if len(data) < 40:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[: len(data) - 30])

    monkeypatch.setattr(os, "write", nearly_full)
    with pytest.raises(OSError, match="No space"):
        writer.metrics(update_metrics(3))
    monkeypatch.undo()
    assert run.metrics_path.read_bytes() == before
