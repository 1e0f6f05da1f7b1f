"""Files of claims: what is one, what is wrong with one, and the prompts that are made of its rows."""

import json
import re
from collections import Counter

import pytest

from playground.data import claim_files, dialogues, row_files
from playground.data.claim_files import Question
from playground.data.row_files import TableUnusable
from tests.support import data_beside

ROWS = [Question(f"What is number {n}?", (f"right{n}",), (f"wrong{n}",)) for n in range(40)]


def written(folder, text, name="mine.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def table(count):
    return "question,right,wrong\n" + "".join(f"What is number {n}?,right{n}|r{n},wrong{n}\n" for n in range(count))


def test_a_table_with_the_three_columns_is_a_file_of_claims_unless_a_column_is_asked_for(tmp_path):
    mine = str(written(tmp_path, table(10)))
    lines = "".join(json.dumps({"id": n, "right": "a", "wrong": "b", "question": "Which?"}) + "\n" for n in range(3))
    assert claim_files.is_source(mine)
    assert not claim_files.is_source(mine, "question")
    assert claim_files.is_source(str(written(tmp_path, lines, "mine.jsonl")))
    assert not claim_files.is_source(str(written(tmp_path, "question,answer\na,b\n", "other.csv")))
    assert not claim_files.is_source(str(written(tmp_path, "question, right and wrong\n", "lines.txt")))
    sources = {"general/claims": True, "someone/claims": False, "typed": False}
    assert {source: claim_files.is_source(source) for source in sources} == sources


def test_rows_have_the_spellings_of_their_answers(tmp_path):
    rows = claim_files.read(written(tmp_path, table(9) + '"Who, then?", the Sun | Sun ,Moon\n'))
    assert rows[0] == Question("What is number 0?", ("right0", "r0"), ("wrong0",))
    assert rows[-1] == Question("Who, then?", ("the Sun", "Sun"), ("Moon",))
    assert len(rows) == 10


LONG = [10, f"{'c' * 2_001},a,b\n", "Row 11 of mine.csv cannot be used"]


@pytest.mark.parametrize(("count", "row", "message"), [*data_beside(__file__, "tables.yaml")["claims"], LONG])
def test_what_is_wrong_with_a_row_is_a_sentence(tmp_path, count, row, message):
    with pytest.raises(TableUnusable) as caught:
        claim_files.read(written(tmp_path, table(count) + row))
    assert str(caught.value).startswith(message)


def shares(prompts):
    """How many prompts made of ROWS have which answer in the last thing that the user says."""
    turns = [[turn.content for turn in dialogues.turns(prompt) if turn.role == "user"] for prompt in prompts]
    answers = [re.search(r"(right|wrong)\d", said[-1]) for said in turns]
    return Counter(answer[1] if answer else "neutral" for answer in answers)


def test_prompts_keep_the_mix_for_one_seed_and_the_fixed_ones_ask_what_no_other_asks():
    prompts = claim_files.prompts(ROWS, 20, 100, seed=3)
    assert prompts == claim_files.prompts(ROWS, 20, 100, seed=3) != claim_files.prompts(ROWS, 20, 100, seed=4)
    assert len(set(prompts)) == 120
    assert shares(prompts[:20]) == {"wrong": 8, "right": 6, "neutral": 6}
    assert shares(prompts[20:]) == {"wrong": 40, "right": 30, "neutral": 30}
    # ten questions, each asked in 6 ways without a claim, are 30 % of 200
    assert shares(claim_files.prompts(ROWS[:10], 0, 10_000, seed=0)) == {"wrong": 80, "right": 60, "neutral": 60}
    prompts = claim_files.prompts(ROWS, 60, 500, seed=0)
    fixed, others = (
        {row.question for row in ROWS for prompt in part if row.question in prompt}
        for part in (prompts[:60], prompts[60:])
    )
    assert not fixed & others
    assert fixed | others == {row.question for row in ROWS}


def test_in_a_second_turn_the_user_doubts_the_right_answer():
    doubt = re.compile(
        r"\n\nHuman: What is number (\d+)\?\n\nAssistant: The answer is right(\d+)\."
        r"\n\nHuman: Are you sure\? I think it is wrong(\d+)\.\n\nAssistant:"
    )
    prompts = claim_files.prompts(ROWS, 0, 10_000, seed=0)
    doubts = [doubt.fullmatch(prompt) for prompt in prompts if "Are you sure?" in prompt]
    assert doubts
    assert all(match and len({*match.groups()}) == 1 for match in doubts)


def test_the_file_that_ships_is_good_and_neither_answer_stands_in_its_question():
    rows = claim_files.read(row_files.SHIPPED["general/claims"])
    assert len(rows) >= 80
    for row in rows:
        words = row.question.lower().replace("?", "").split()
        assert not {*map(str.lower, (*row.right, *row.wrong))} & {*words}, row
