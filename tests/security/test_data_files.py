"""Data files of strangers, bounded before they are read whatever they claim to be; and the tables that go out."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from playground.errors import PromptsUnusable
from playground.exports import csv_tables as exported
from playground.training.data import hub_data
from tests.figures import Figure
from tests.support import PROJECT, sample, small_config, update_metrics

MOST_SECONDS = 2.0  # of a processor, so that a busy machine makes no difference
MOST_MEGABYTES = 100
MEASURE = """
import json, os, resource, sys, time
from pathlib import Path
from playground.data import preferences, row_files
from playground.errors import PlaygroundError
from playground.ui.auth import uploads

def upload(path):
    return uploads.keep(path, path.parent / 'outputs').sentence

READERS = {'upload': upload, 'pairs': lambda path: str(preferences.check_file(str(path))),
           'prompts': lambda path: str(row_files.shape(path)),
           'text': lambda path: str(sum(1 for _ in row_files.lines(path, 20_000_000)))}
found = {}
for name in sys.argv[2:]:
    kind, _, file = name.partition(':')
    child = os.fork()
    if child == 0:
        before = resource.getrusage(resource.RUSAGE_SELF)
        try:
            said = 'read: ' + READERS[kind](Path(sys.argv[1]) / file)
        except PlaygroundError as error:
            said = str(error)
        after = resource.getrusage(resource.RUSAGE_SELF)
        facts = {'said': said, 'seconds': after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                'megabytes': (after.ru_maxrss - before.ru_maxrss) / 1000}
        print(json.dumps({name: facts}), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


class Case(NamedTuple):
    """A file, and words of what is said about it."""

    name: str
    make: Callable[[Path], Any]
    words: str


def data(content: bytes | str) -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(content.encode() if isinstance(content, str) else content)


def sparse(size: int) -> Callable[[Path], Any]:
    def make(path: Path) -> None:
        with open(path, "wb") as file:
            file.truncate(size)

    return make


def bomb(path: Path) -> None:
    """Two thousand million bytes in two million."""
    with gzip.open(path, "wb", 9) as file:
        block = (b'{"prompt": "' + b"a" * 99_000 + b'"}\n') * 10
        for _ in range(200):
            file.write(block)


CASES = (
    Case("gigabyte.jsonl", sparse(10**9), "more than"),
    Case("bomb.jsonl.gz", bomb, "when unpacked"),
    Case("cut.jsonl.gz", lambda path: path.write_bytes(gzip.compress(os.urandom(1000))[:500]), "not a whole gzip"),
    Case("columns.csv", data(",".join(f"c{n}" for n in range(10**6)) + "\n1\n"), "Line 1"),
    Case("columns-short.csv", data(",".join(map(str, range(150_000))) + "\n1\n"), "1,000 columns"),
    Case("line.txt", data(b"a" * 2 * 10**7), "Line 1"),
    Case("quote.csv", data('prompt\n"' + "a\n" * 900_000), "Is a quotation mark not closed?"),
    Case("deep.jsonl", data("[" * 100_000 + "]" * 100_000), "not a JSON object"),
    Case("latin.txt", data("caf\u00e9".encode("latin-1")), "not UTF-8"),
    Case("nul.txt", data(b"a\0b\n"), "not UTF-8"),
    Case("utf-16.csv", data("prompt\nab\n".encode("utf-16")), "not UTF-8"),
    Case("empty.jsonl", data(b""), "is empty"),
    Case("newlines.txt", data(b"\n" * 19_000_000), "500,000 rows"),
    Case("archive.tar.gz", data(gzip.compress(b"a")), "must be one of"),
    Case("pipe.jsonl", os.mkfifo, "not an ordinary file"),
    Case("device.txt", lambda path: path.symlink_to("/dev/zero"), "not an ordinary file"),
    Case("folder.csv", os.mkdir, "is a folder"),
)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What every reader says of every file, and what it took; one process that forks for each."""
    folder = tmp_path_factory.mktemp("files")
    for case in CASES:
        case.make(folder / case.name)
    names = [f"upload:{case.name}" for case in CASES]
    names += [f"{kind}:{case.name}" for case in CASES for kind in ("pairs", "prompts")]
    names += [f"text:{case.name}" for case in CASES if case.name.endswith(".txt")]
    answer = subprocess.run(
        [sys.executable, "-c", MEASURE, str(folder), *names], cwd=PROJECT, capture_output=True, text=True, timeout=400
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    found: dict[str, Any] = {}
    for line in answer.stdout.splitlines():
        found |= json.loads(line)
    assert list(found) == names
    return found


@pytest.mark.nightly
def test_uploads_are_refused_in_little_time_and_memory(seen: dict[str, Any], figure: Figure) -> None:
    bad = {case.name: found for case in CASES if case.words not in (found := seen[f"upload:{case.name}"])["said"]}
    assert not [case.name for case in CASES if case.words in case.name]  # or every sentence would do
    bad |= {name: found for name, found in seen.items() if found["seconds"] > MOST_SECONDS}
    bad |= {
        name: found
        for name, found in seen.items()
        if found["megabytes"] > MOST_MEGABYTES and not found["said"].startswith("read: ")
    }
    assert bad == {}
    figure("hostile data files refused in 2 s and 100 MB (uploads, prompts, pairs, texts)", len(seen), len(seen))


def test_tables_for_spreadsheets_hold_no_formula_and_all_numbers() -> None:
    unseen = "\0\x01\x7f\x85\u200b\u200e\u202e\u2060\ufeff\u3000\u00a0\u2028"
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", '=HYPERLINK("x")', "\n=1", "\uff1d1", "a=1"]
    texts += [*(f"{mark}=1" for mark in unseen), "\u200b \ufeff\t@SUM(A1)", "\u200b"]
    samples = [sample(number, "after", -1.5, completion=text, kl=-0.25) for number, text in enumerate(texts)]
    rows = list(csv.DictReader(io.StringIO(exported.samples_csv(samples, small_config()), newline="")))
    for row, text in zip(rows, texts, strict=True):
        written = row["completion"]
        assert text in written
        assert (written == text) == (text == "a=1")
        assert written[:1] == ("a" if text == "a=1" else "'")
        assert (float(row["score"]), float(row["kl"])) == (-1.5, -0.25)
    metrics = [update_metrics(1, terms={"=evil()": 1.0, "\ufeff-=x": 2.0}, score_mean=-3.0)]
    head, row = list(csv.reader(io.StringIO(exported.metrics_csv(small_config(), metrics, []))))
    assert not [cell for cell in head if not cell[0].isalpha()]
    assert "-3.0" in row


@pytest.mark.parametrize("name", ["a.zip", "data.tar.gz", "deep/rows.pkl"])
def test_a_folder_of_data_with_archives_or_pickles_is_refused_by_the_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / "rows.jsonl").write_text('{"prompt": "a"}\n')
    (tmp_path / name).write_bytes(b"\x80\4.")
    with pytest.raises(PromptsUnusable, match=Path(name).name):
        hub_data.Rows(str(tmp_path), None, "train")
