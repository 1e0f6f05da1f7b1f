"""Files of records cut at bytes of their last two lines, or with garbage in them: no reader raises, at most one
record is lost, and the next attempt repairs what it appends to."""

import errno
import json
import os

import pytest

from playground.exports import csv_tables
from playground.exports.report import Report
from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.ui.feed.run_feed import RunFeed
from tests.faults import resuming
from tests.support import sample, small_config, update_metrics

READERS = {"metrics": RunDirectory.metrics, "samples": RunDirectory.samples, "events": RunDirectory.all_events}
GARBAGE = {
    "a line of NULs": b"\0" * 100,
    "a garbage line": b"\xff\xfe{]garbage",
    "a record of nothing": b'{"update": "many", "seq": {}, "kind": 3}',
    "a very deep line": b"[" * 100_000,
    "half a character": b"\xc3",
}


@pytest.fixture
def run(tmp_path):
    run = RunDirectory.create(tmp_path / "outputs", small_config(), "run")
    writer = RunWriter(run, 3)
    writer.samples([sample(0, "before", 0.0), sample(1, "before", 0.5, completion=" d\u00e9j\u00e0 vu \u2028 ")])
    writer.set_status(state="running")
    for update in (1, 2):
        writer.metrics(update_metrics(update))
        writer.set_status(update=update)
        writer.event("warning", f"Caf\u00e9 {update}.", evidence=update)
    writer.finish("failed", "bug", "It broke.")
    return run


def all_readers(run):
    """The page's feed, the list of runs, the report, the tables."""
    feed = RunFeed(run)
    feed.poll()
    json.dumps(feed.snapshot(), allow_nan=False)
    assert len(history.list_runs(run.path.parent)) == 1
    report = Report.of(run)
    report.summary()
    csv_tables.metrics_csv(report.config, report.metrics, report.events, report.evaluations)
    csv_tables.samples_csv(report.samples, report.config)


def repaired(run):
    """A later attempt appends to all files: what it writes is read, and no line is glued to another."""
    writer = RunWriter(run, 3, attempt=2)
    writer.samples([sample(0, "during", 1.0, update=3)])
    writer.metrics(update_metrics(3))
    writer.event("warning", "New.")
    last = run.metrics()[-1], run.samples()[-1], run.all_events()[-1]
    for kind in READERS:
        resuming.strict_lines(run.path / f"{kind}.jsonl")
    return [item.attempt for item in last] == [2, 2, 2] and last[0].update == 3 and last[2].message == "New."


@pytest.mark.parametrize("name", READERS)
def test_records_cut_at_any_byte_of_their_last_two_lines_are_read_and_repaired(run, name, figure):
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
        at_a_border = b"\n" in data[cut - 1 : cut + 1]
        if number % 200 == 0 or at_a_border:
            all_readers(run)
        good = read(run) == records[: data[:cut].count(b"\n")]
        survived += good and (repaired(run) if number % 5 == 0 or at_a_border else True)
    figure("records cut at a byte of their last two lines: read, and repaired", len(cuts), survived)


@pytest.mark.parametrize("what", GARBAGE)
def test_garbage_costs_at_most_the_record_it_hits(run, what, figure):
    survived = 0
    records = {name: read(run) for name, read in READERS.items()}
    for name in READERS:
        path = run.path / f"{name}.jsonl"
        first, rest = path.read_bytes().split(b"\n", 1)
        line = first + GARBAGE[what] if what == "half a character" else first + b"\n" + GARBAGE[what]
        path.write_bytes(line + b"\n" + rest)
    all_readers(run)
    for name, read in READERS.items():
        left = read(run)
        survived += all(item in records[name] for item in left) and len(left) >= len(records[name]) - 1
    RunWriter(run, 3, attempt=2).metrics(update_metrics(3))
    assert run.metrics()[-1].attempt == 2
    figure("garbage among the records: no reader raises, at most one record is lost", len(READERS), survived)


def test_a_disk_that_takes_half_a_line_leaves_none(run, monkeypatch):
    writer, write, before = RunWriter(run, 3, attempt=2), os.write, run.metrics_path.read_bytes()

    def nearly_full(descriptor, data):
        if len(data) < 40:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[: len(data) - 30])

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(os, "write", nearly_full)
        writer.metrics(update_metrics(3))
    assert run.metrics_path.read_bytes() == before
