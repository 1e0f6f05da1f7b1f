"""Reading a file while it grows: no line is lost, repeated or half read, wherever it is cut or damaged."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from playground.runs.folder.files import JsonlTail

ITEMS = [{"update": 1, "text": "plain"}, {"update": 2, "text": "ü\u2028\x85\r\n\v"}, {"update": 3, "list": [{}]}]
LINES = [(json.dumps(item, ensure_ascii=False) + "\n").encode() for item in ITEMS]
DATA = b"".join(LINES)


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
