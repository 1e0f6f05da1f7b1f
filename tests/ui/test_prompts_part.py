"""Uploads and the look at the prompts: what the Train page's handlers answer."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from playground.config import yaml_io
from playground.errors import InvalidConfig, Problem, ServiceUnavailable
from playground.setup import checks, describe
from playground.ui.auth import uploads
from playground.ui.train import prompts_part


def write(folder: Path, name: str, data: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def config(**prompts):
    return yaml_io.from_dict({"rewards": [{"kind": "length"}], "prompts": prompts})


def test_an_upload_is_kept_once_under_a_plain_name_and_can_be_read(tmp_path):
    outputs = tmp_path / "outputs"
    kept = uploads.keep(write(tmp_path, "my <b>films.csv", "id,prompt\n1,ab\n2,cd\n"), outputs)
    again = uploads.keep(write(tmp_path, "my <b>films.csv", "id,prompt\n1,ab\n2,cd\n"), outputs)
    assert kept == again and [path.name for path in (outputs / "uploads").iterdir()] == [kept.path.name]
    assert kept.path.name.endswith("-my-b-films.csv") and kept.path.is_absolute()
    assert (kept.columns, kept.column) == (("id", "prompt"), "prompt")
    assert kept.sentence.startswith("my <b>films.csv: 2 rows") and "`prompt`" in kept.sentence
    assert checks.prompts_problem(config(source=str(kept.path)).prompts) is None
    other = uploads.keep(write(tmp_path, "my <b>films.csv", "prompt\nef\n"), outputs)
    assert other.path != kept.path and len(uploads.kept_files(outputs)) == 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.csv", "a.csv"),
        ("../../etc/passwd.txt", "etc-passwd.txt"),
        ("\u6620\u753b.jsonl.gz", "prompts.jsonl.gz"),
        ("x" * 300 + ".TXT", "x" * 60 + ".txt"),
        ("two\nlines.tsv", "two-lines.tsv"),
    ],
)
def test_names_are_made_safe(name, expected):
    assert uploads.safe_name(name) == expected


BOMB = gzip.compress(b'{"prompt": "%s"}\n' % (b"a" * 500_000) * 41, mtime=0)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", "", "a.csv is empty."),
        ("a.exe", "x", "a.exe is none of .txt, .csv, .tsv, .jsonl"),
        ("a.csv", "prompt\ncaf\u00e9".encode("latin-1"), "is not UTF-8 text"),
        ("a.jsonl.gz", BOMB, "more than 20 MB when unpacked"),
    ],
)
def test_an_upload_that_cannot_be_used_is_not_kept_and_the_form_stays(tmp_path, name, data, message):
    found = prompts_part.taken(str(write(tmp_path, name, data)), tmp_path / "outputs")
    assert message in found.note["problem"] and found.source is found.column is None
    assert not (tmp_path / "outputs" / "uploads").exists()


def test_an_upload_fills_source_and_column(tmp_path):
    note, source, column = prompts_part.taken(str(write(tmp_path, "a.csv", "x,text\n1,ab\n")), tmp_path)
    assert (tmp_path / source.value).is_file() and ("a.csv", source.value) in source.choices
    assert column.value == "text" and [choice[1] for choice in column.choices] == ["x", "text"]
    note, _, column = prompts_part.taken(str(write(tmp_path, "b.csv", "x,y\n1,ab\n")), tmp_path)
    assert column.value == "" and "column" in note["sentence"]


def test_of_a_file_of_claims_no_column_is_read_and_the_note_says_what_it_is(tmp_path):
    rows = "question,right,wrong\n" + "".join(f"Which {n}?,a,b\n" for n in range(10))
    note, source, column = prompts_part.taken(str(write(tmp_path, "mine.csv", rows)), tmp_path)
    assert column.value == "" and [choice[1] for choice in column.choices] == ["question", "right", "wrong"]
    assert "claims" in note["sentence"]
    assert checks.prompts_problem(config(source=str(tmp_path / source.value)).prompts) is None
    found = prompts_part.taken(str(write(tmp_path, "bad.csv", rows + "Which 3?,c,d\n")), tmp_path)
    assert "Row 11 of bad.csv" in found.note["problem"]


class Service:
    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def ask(self, kind, question):
        self.asked.append((kind, question))
        if isinstance(self.answer, Exception):
            raise self.answer
        yield self.answer


def test_a_look_asks_the_service_about_the_form_and_shows_its_answer():
    service = Service({"num_rows": 3})
    first, last = prompts_part.looked_at(lambda: config(source="pocket/claims"), service)
    assert first["state"] == "asking" and (last["state"], last["name"]) == ("done", "Claims")
    assert last["preview"] == {"num_rows": 3}
    assert service.asked[0][0] == "prompts" and service.asked[0][1]["config"]["prompts"]["source"] == "pocket/claims"


def test_what_is_wrong_has_the_labels_of_the_page():
    service = Service(ServiceUnavailable("prompts.column: a.csv has no column `x`; it has `y`."))
    *_, last = prompts_part.looked_at(lambda: config(), service)
    assert last["message"] == "Column: a.csv has no column `x`; it has `y`."

    def refuse():
        raise InvalidConfig([Problem("prompts.typed", "Type two.")])

    (only,) = prompts_part.looked_at(refuse, service)
    assert (only["state"], only["message"]) == ("error", "Typed prompts: Type two.")


def test_a_source_has_a_name_that_can_be_read(tmp_path):
    kept = uploads.keep(write(tmp_path, "a.txt", "ab\ncd\n"), tmp_path)
    sources = ["pocket/reviews", "typed", str(kept.path), "a/b"]
    assert [describe.in_words("prompts.source", source) for source in sources] == ["Reviews", "typed", "a.txt", "a/b"]
