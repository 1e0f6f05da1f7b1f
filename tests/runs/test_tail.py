"""Reading a file while it grows: no line is lost, repeated or half read, wherever it is cut or damaged."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from playground.runs.folder import files
from playground.runs.folder.files import JsonlTail
from playground.runs.folder.records import Count, Record

ITEMS = [{"update": 1, "text": "plain"}, {"update": 2, "text": "ü\u2028\x85\r\n\v"}, {"update": 3, "list": [{}]}]
LINES = [(json.dumps(item, ensure_ascii=False) + "\n").encode() for item in ITEMS]
DATA = b"".join(LINES)


class Marked(Record):
    """A record with fields that have to be there."""

    attempt: Count
    update: Count


def test_a_file_that_is_not_there_yet_has_no_lines(tmp_path: Path) -> None:
    tail = JsonlTail(tmp_path / "late.jsonl")
    assert tail.read_new() == []
    tail.path.write_bytes(LINES[0])
    assert tail.read_new() == ITEMS[:1]
    assert tail.read_new() == []


@pytest.mark.parametrize("cut", range(len(DATA) + 1))
def test_a_line_torn_at_any_byte_is_read_once_and_whole(tmp_path: Path, cut: int) -> None:
    tail = JsonlTail(tmp_path / "a.jsonl")
    tail.path.write_bytes(DATA[:cut])
    first = tail.read_new()
    with open(tail.path, "ab") as file:
        file.write(DATA[cut:])
    assert first == ITEMS[: DATA[:cut].count(b"\n")]
    assert first + tail.read_new() == ITEMS
    assert tail.read_new() == []


@pytest.mark.parametrize("garbage", [b"\x00", b"\x00" * 50, b"\xff\xfe", b"}{"])
def test_garbage_at_any_byte_costs_at_most_the_line_it_hits(tmp_path: Path, garbage: bytes) -> None:
    path = tmp_path / "a.jsonl"
    for offset in range(len(DATA)):
        path.write_bytes(DATA[:offset] + garbage + DATA[offset:])
        hit = DATA[:offset].count(b"\n") + 1
        whole = [item for item in JsonlTail(path).read_new() if item in ITEMS]
        assert [item for item in whole if item["update"] != hit] == [item for item in ITEMS if item["update"] != hit]


@pytest.mark.parametrize("line", [b"[1]\n", b"3\n", b'"text"\n', b"\n", b"nonsense\n", b"[" * 100_000 + b"\n"])
def test_a_line_that_is_not_an_object_is_skipped(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINES[0] + line + LINES[1])
    assert JsonlTail(path).read_new() == ITEMS[:2]


def test_a_file_replaced_by_a_shorter_one_is_read_from_its_start(tmp_path: Path) -> None:
    tail = JsonlTail(tmp_path / "a.jsonl")
    tail.path.write_bytes(DATA)
    tail.read_new()
    tail.path.write_bytes(LINES[2])
    assert tail.read_new() == ITEMS[2:]


def test_of_a_run_that_is_kept_packed_all_lines_come_at_the_first_look(tmp_path: Path) -> None:
    tail = JsonlTail(tmp_path / "a.jsonl")
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(DATA)[:-9])
    assert tail.read_new() == []  # damaged
    packed.write_bytes(gzip.compress(DATA))
    assert tail.read_new() == ITEMS and tail.read_new() == []
    packed.rename(tmp_path / "elsewhere")
    packed.symlink_to(tmp_path / "elsewhere")
    assert JsonlTail(tail.path).read_new() == []


@pytest.mark.parametrize("packed", [False, True])
def test_behind_many_damaged_lines_a_file_is_not_read_on(tmp_path: Path, *, packed: bool) -> None:
    path = tmp_path / "a.jsonl"
    marked = b'{"attempt": 2, "update": 1}\n'
    for damaged, found in ((files.MOST_DAMAGED - 1, 1), (files.MOST_DAMAGED, 0)):
        data = b"{}\n" * damaged + marked
        (tmp_path / "a.jsonl.gz" if packed else path).write_bytes(gzip.compress(data) if packed else data)
        tail = JsonlTail(path)
        assert len(tail.read_records(Marked)) == found
        assert tail.read_records(Marked) == []


def test_of_a_packed_file_so_many_lines_are_read_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 7_000_000))
    tracemalloc.start()
    try:
        found = JsonlTail(tmp_path / "a.jsonl").read_new()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found) == files.MOST_PACKED_LINES and peak < 100e6


def test_a_line_without_an_end_is_passed_over_and_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 60)
    path = tmp_path / "a.jsonl"
    path.write_bytes(LINES[0] + b'{"text": "' + b"a" * 200 + b'"}\n' + LINES[1] + b"a" * 59)
    tail = JsonlTail(path)
    assert tail.read_new() == ITEMS[:2]
    with open(path, "ab") as file:
        file.write(b"\n" + LINES[2])
    assert tail.read_new() == ITEMS[2:]


@pytest.mark.parametrize("cut", range(len(DATA) + 1))
def test_a_torn_last_line_is_cut_off_at_any_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", 7)
    path = tmp_path / "a.jsonl"
    path.write_bytes(DATA[:cut])
    files.cut_torn_line(path)
    assert path.read_bytes() == b"".join(LINES[: DATA[:cut].count(b"\n")])
