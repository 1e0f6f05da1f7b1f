"""Reading files while they grow: no line is lost, repeated or half read, wherever it is cut or damaged, and a long
file costs a line at a time."""

import gzip
import tracemalloc

import pytest

from playground.runs.folder import files
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import JsonlTail
from playground.runs.folder.records import Count, Record, to_json_line
from playground.runs.folder.token_records import TokenFigures
from playground.runs.folder.writer import RunWriter
from tests.support import sample, small_config


class Marked(Record):
    """A record with a field that has to be there."""

    update: Count
    text: str = ""


ITEMS = [Marked(update=1, text="plain"), Marked(update=2, text="\u00fc\u2028\x85\r\n\v"), Marked(update=3)]
LINES = [to_json_line(item).encode() for item in ITEMS]
DATA = b"".join(LINES)
UPDATES, PROMPTS = 6, 40


@pytest.fixture
def tail(tmp_path):
    return JsonlTail(tmp_path / "a.jsonl")


def test_a_line_torn_at_any_byte_is_read_once_and_whole_or_cut_off(tmp_path):
    for cut in range(len(DATA) + 1):
        tail = JsonlTail(tmp_path / f"{cut}.jsonl")
        assert tail.read_records(Marked) == [], "it is not there yet"
        tail.path.write_bytes(DATA[:cut])
        first = tail.read_records(Marked)
        with open(tail.path, "ab") as file:
            file.write(DATA[cut:])
        assert first == ITEMS[: DATA[:cut].count(b"\n")]
        assert first + tail.read_records(Marked) == ITEMS
        assert tail.read_records(Marked) == []
        tail.path.write_bytes(DATA[:cut])
        files.cut_torn_line(tail.path)
        assert tail.path.read_bytes() == b"".join(LINES[: DATA[:cut].count(b"\n")])


def test_behind_too_many_lines_that_are_no_records_a_file_is_not_read_on(tail, monkeypatch):
    monkeypatch.setattr(files, "MOST_DAMAGED", 2)
    tail.path.write_bytes(LINES[0] + b"[1]\n" + LINES[1] + b"nonsense\n" + LINES[2])
    assert tail.read_records(Marked) == ITEMS[:2]


def test_of_a_packed_file_only_so_many_lines_are_read(tail, monkeypatch):
    monkeypatch.setattr(files, "MOST_PACKED_LINES", 2)
    tail.path.with_name("a.jsonl.gz").write_bytes(gzip.compress(DATA))
    assert tail.read_records(Marked) == ITEMS[:2]


def test_a_packed_file_is_read_once_unless_it_is_damaged_or_a_link(tail, tmp_path):
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(DATA)[:-9])
    assert tail.read_records(Marked) == []
    packed.write_bytes(gzip.compress(DATA))
    assert tail.read_records(Marked) == ITEMS
    assert tail.read_records(Marked) == []
    packed.rename(tmp_path / "elsewhere")
    packed.symlink_to(tmp_path / "elsewhere")
    assert JsonlTail(tail.path).read_records(Marked) == []


def test_a_line_without_an_end_is_passed_over_and_not_held(tail, monkeypatch):
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 60)
    tail.path.write_bytes(LINES[0] + b'{"text": "' + b"a" * 200 + b'"}\n' + LINES[1] + b"a" * 59)
    assert tail.read_records(Marked) == ITEMS[:2]
    with open(tail.path, "ab") as file:
        file.write(b"\n" + LINES[2])
    assert tail.read_records(Marked) == ITEMS[2:]


def token_figures(update, prompt_id, entropy):
    flat = [0.125] * 100
    lists = {"log_probs": flat, "reference_log_probs": flat, "kl": flat, "choices": [[("a", 0.5, 0.5)] * 2] * 100}
    facts = {"update": update, "stage": "during", "prompt_id": prompt_id, "seed": 3}
    return TokenFigures(**facts, **lists, pieces=['"prompt_id": 7'] * 100, entropies=[entropy] * 100)


@pytest.mark.parametrize("kind", ["tokens", "samples"])
def test_what_is_kept_of_one_prompt_is_read_without_the_others(tmp_path, kind):
    """Of a run with 240 answers token by token, whose last evaluation was made twice."""
    run = RunDirectory.create(tmp_path, small_config(), "long")
    for attempt, updates in ((1, range(UPDATES)), (2, [UPDATES - 1])):
        writer = RunWriter(run, UPDATES, attempt)
        for update in updates:
            writer.tokens([token_figures(update, prompt_id, attempt / 4) for prompt_id in range(PROMPTS)])
            texts = {"update": update, "completion": "c" * 5000}
            writer.samples([sample(prompt_id, "during", 1.0, **texts) for prompt_id in range(PROMPTS)])
    read, path = (run.token_figures, run.tokens_path) if kind == "tokens" else (run.samples, run.samples_path)
    tracemalloc.start()
    records, peak = read(7), tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(record.update, record.attempt) for record in records] == [*((update, 1) for update in range(5)), (5, 2)]
    assert records == [record for record in read() if record.prompt_id == 7]
    assert peak < path.stat().st_size / 4
