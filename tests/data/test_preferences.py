"""Dialogues are read turn by turn, and preference pairs in each form; what cannot teach is counted by reason."""

import csv
import gzip
import json

import pytest

from playground.data import preferences
from playground.data.dialogues import Turn, for_reading, split_last_answer, text_of, turns
from playground.data.preferences import Pair
from playground.errors import PairsUnusable
from tests.support import data_beside

TABLES = data_beside(__file__, "tables.yaml")
DIALOGUE = "\n\nHuman: Hello: who are you?\n\nAssistant: I am a bot.\n\nIt rains.\n\nHuman: Why?\n\nAssistant:"


@pytest.mark.parametrize("text", ["The film was", "User: hi Bot:", "", "Assistant: first", "the Human: race"])
def test_any_other_text_is_one_turn_as_it_is(text):
    assert turns(text) == [Turn("user", text)]


def test_a_dialogue_is_read_written_split_and_shown_turn_by_turn():
    said = [Turn("user", "Hello: who are you?"), Turn("assistant", "I am a bot.\n\nIt rains."), Turn("user", "Why?")]
    assert turns(DIALOGUE) == said
    assert text_of(said) == DIALOGUE
    assert split_last_answer(DIALOGUE + " Because.") == (DIALOGUE, " Because.")
    prompt, answer = split_last_answer("\n\nHuman: a\n\nAssistant: b\n\nc")
    assert (prompt, answer) == ("\n\nHuman: a\n\nAssistant:", " b\n\nc")
    assert for_reading("\n\nHuman: A letter:\n\nDear tenant,\n\nAssistant:") == "A letter:\n\nDear tenant,"
    assert for_reading(DIALOGUE) == "User: Hello: who are you?\nAssistant: I am a bot.\n\nIt rains.\nUser: Why?"
    assert for_reading("The film was ") == "The film was "


HELLO = "\n\nHuman: Hello\n\nAssistant:"
LINES = 'a "quoted", text\nof two lines'


def row(number, **changes):
    return {"prompt": f"Question {number}", "chosen": f"yes {number}", "rejected": f"no {number}", **changes}


def rows(*extra, count=8):
    return [*map(row, range(count)), *extra]


def written(folder, data, name="pairs.jsonl"):
    path = folder / name
    if name.endswith(".csv"):
        with open(path, "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, list(data[0]))
            table.writeheader()
            table.writerows(data)
    else:
        raw = "\n".join(json.dumps(item) for item in data).encode()
        path.write_bytes(gzip.compress(raw, mtime=0) if name.endswith(".gz") else raw)
    return str(path)


@pytest.mark.parametrize("name", ["pairs.jsonl", "pairs.jsonl.gz", "pairs.csv"])
def test_pairs_are_read_from_each_kind_of_file(tmp_path, name):
    source = written(tmp_path, rows(row(8, chosen=LINES)), name)
    preferences.check_file(source)
    pairs, counts = preferences.read_file(source)
    assert (pairs[0], pairs[-1].chosen) == (Pair("Question 0", "yes 0", "no 0"), LINES)
    assert (counts.rows, counts.kept) == (9, 9)
    assert "left out" not in counts.in_words()


def test_what_cannot_teach_is_left_out_and_counted():
    extra = [
        row(0),
        row(20, chosen="same", rejected="same "),
        row(21, rejected="  "),
        row(22, prompt=""),
        row(24, chosen=None),
        row(25, prompt=None),
        {"prompt": None, "chosen": f"{HELLO} hi", "rejected": "\n\nHuman: Other\n\nAssistant: hi"},
        row(23, chosen=[{"role": "tool", "content": "4"}]),
        row(26, rejected="[{'role': 'user', 'content': 'cut"),
    ]
    pairs, counts = preferences.from_rows(rows(*extra), "x")
    assert len(pairs) == 8
    assert counts == preferences.Counts(rows=17, kept=8, equal=1, empty=4, duplicate=1, no_dialogue=3)
    assert counts.in_words().count(",") == 3 + 1
    assert counts.taken == "A pair is `chosen`, `rejected` behind `prompt`."


def test_whole_dialogues_are_split_at_their_last_answer():
    longer = f"{HELLO} Hi.\n\nHuman: And?\n\nAssistant:"
    assert preferences.split_dialogues(f"{longer} fine", f"{longer} bad") == Pair(longer, " fine", " bad")
    for other in ("no dialogue", f"{HELLO} bad\n\nHuman: why", f"{HELLO} Ho.\n\nHuman: And?\n\nAssistant: b"):
        assert preferences.split_dialogues(f"{longer} fine", other) is None


def test_lists_of_messages_are_dialogues():
    good, bad = {"role": "assistant", "content": "Hi"}, {"from": "gpt", "value": "No"}
    users = [{"role": "user", "content": f"Hello {n}"} for n in range(8)]
    pairs, _ = preferences.from_rows([{"chosen": [user, good], "rejected": [user, bad]} for user in users], "x")
    assert pairs[3] == Pair("\n\nHuman: Hello 3\n\nAssistant:", " Hi", " No")
    apart = [{"prompt": [user], "chosen": [good], "rejected": [bad]} for user in users]
    assert preferences.from_rows(apart, "x")[0] == pairs


@pytest.mark.parametrize(("row", "pair"), TABLES["pairs"])
def test_pairs_are_read_as_other_libraries_write_them(row, pair):
    assert [*preferences._pair(row, 1, "x")] == pair


NINTH = [rows({"prompt": "a", "chosen": "b"}), "row 9 of pairs.jsonl has no `rejected`; it has prompt, chosen."]


@pytest.mark.parametrize(("data", "message"), [*TABLES["no_pairs"], NINTH, [rows(count=7), "7 of 7 pairs"]])
def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path, data, message):
    with pytest.raises(PairsUnusable) as caught:
        preferences.read_file(written(tmp_path, data))
    assert message in str(caught.value)
    assert str(caught.value).startswith("pairs.source: ")
