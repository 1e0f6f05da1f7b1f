"""News as bytes, parcels, and the names in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from playground.cluster.news import Appended, Begun, Lost, Over, Piece, Replaced, Taken, Whole, decode, encode
from playground.cluster.parcel import pack, unpack
from tests.cluster.places import make_checkpoint, new_run

ALL = [
    Begun("node \n 1"), Appended("metrics.jsonl", b'{"a": 1}\n{'), Replaced("status.json", b""), Taken("pause"),
    Piece("update-000003/model.safetensors", bytes(range(256)), True), Whole("update-000003"), Over(), Lost("gone"),
]  # fmt: skip


def test_news_come_out_of_their_bytes_as_they_went_in() -> None:
    assert decode(encode(ALL)) == ALL
    assert decode(b"") == []


@pytest.mark.parametrize(
    "text",
    [
        encode(ALL)[:-1],
        encode([Appended("a", b"12345")])[:-1],
        b'{"kind": "Appended", "bytes": -1, "name": "a"}\n',
        b'{"kind": "__class__", "bytes": 0}\n',
        b'{"kind": "Over", "bytes": 0, "more": 1}\n',
        b"[]\n",
        b"pickle",
    ],
)
def test_other_bytes_are_no_news(text: bytes) -> None:
    with pytest.raises(ValueError):
        decode(text)


def test_a_parcel_brings_the_records_and_the_newest_whole_checkpoint(outputs: Path, tmp_path: Path) -> None:
    run = new_run(outputs, "one")
    make_checkpoint(run.checkpoints_path, 1)
    make_checkpoint(run.checkpoints_path, 2, weights=b"newest")
    (make_checkpoint(run.checkpoints_path, 3) / "model.safetensors").write_bytes(b"torn")
    run.metrics_path.write_text('{"update": 1}\n{"upd')
    unpack(pack(run), tmp_path / "node" / "one")
    there = {
        str(path.relative_to(tmp_path / "node/one")) for path in (tmp_path / "node/one").rglob("*") if path.is_file()
    }
    assert there == {
        "config.yaml", "status.json", "metrics.jsonl", "checkpoints/update-000002/model.safetensors",
        "checkpoints/update-000002/optimizer.safetensors", "checkpoints/update-000002/trainer.json",
        "checkpoints/update-000002/MANIFEST.json",
    }  # fmt: skip
    assert (tmp_path / "node/one/checkpoints/update-000002/model.safetensors").read_bytes() == b"newest"
    # The line that the lost attempt had not finished is cut off on both sides, so that both go on from the same place.
    assert (tmp_path / "node/one/metrics.jsonl").read_text() == run.metrics_path.read_text() == '{"update": 1}\n'


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "", "a\0b"])
def test_a_parcel_writes_nowhere_else(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError):
        unpack(encode([Replaced(name, b"x")]), tmp_path / "outputs" / "one")
    assert not (tmp_path / "evil").exists() and not (tmp_path / "outputs/evil").exists()
