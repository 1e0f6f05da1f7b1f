"""Tables: what separates their columns, told from the text and never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from playground.config import PromptsConfig
from playground.errors import PairsUnusable
from playground.setup import checks
from playground.texts import preferences, row_files

TEXTS = ["The film was", "So slow; and long, too", 'It said "no"']


def put(folder: Path, content: str, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "separator"),
    [
        ('prompt,label\nThe film was,1\n"So slow; and long, too",0\n"It said ""no""",1\n', "commas"),
        ('prompt;label\nThe film was;1\n"So slow; and long, too";0\n"It said ""no""";1\n', "semicolons"),
        ('\ufeffprompt;label\r\nThe film was;0,5\r\n"So slow; and long, too";1,25\r\n"It said ""no""";2', "semicolons"),
        ('label;prompt\n0,5;The film was\n1,0;"So slow; and long, too"\n2,0;"It said ""no"""\n', "semicolons"),
        ('prompt\tlabel\nThe film was\t1\nSo slow; and long, too\t0\n"It said ""no"""\t1\n', "tabs"),
        ('sep=;\nprompt;label\nThe film was;1\n"So slow; and long, too";0\n"It said ""no""";1\n', "semicolons"),
        ('prompt\nThe film was\n"So slow; and long, too"\n"It said ""no"""\n', ""),  # one column
        ('\nprompt,label,\nThe film was,1,\n"So slow; and long, too",0,\n"It said ""no""",1,\n', "commas"),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_columns_are_separated_by_what_the_line_of_their_names_shows(
    tmp_path: Path, name: str, content: str, separator: str
) -> None:
    path = put(tmp_path, content, name)
    assert row_files.values(path, "prompt") == TEXTS
    told = row_files.shape(path).in_words()
    assert told == (f"3 rows separated by {separator}" if separator else "3 rows")


def test_a_decimal_comma_stays_in_its_cell(tmp_path: Path) -> None:
    path = put(tmp_path, "prompt;label\nThe film was;0,5\nThe plot was;1,5\n")
    assert row_files.values(path, "label") == ["0,5", "1,5"]


def test_one_column_of_a_tsv_may_hold_commas(tmp_path: Path) -> None:
    path = put(tmp_path, "prompt\nThe film, which was\n", "a.tsv")
    assert (row_files.values(path, "prompt"), row_files.shape(path).separator) == (["The film, which was"], "")


def test_a_long_text_and_one_with_line_breaks_tell_nothing_wrong(tmp_path: Path) -> None:
    long, lines = "x" * 200_000, "a\n" * 500
    path = put(tmp_path, f'prompt;label\n"{lines}";1\n{long};2\n')
    assert row_files.values(path, "prompt") == [lines, long]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("prompt;note, of whom\nGood; mine, yours\n",
         "a.csv can be read in two ways: its columns are separated by commas (prompt;note,  of whom) or by semicolons "
         "(prompt, note, of whom). Put texts in quotation marks, or save it as .jsonl."),
        ("prompt\nThe film, which was\nThe plot was\n",
         "Line 2 of a.csv has 2 cells, but the first line names 1, separated by commas. Put texts that contain one in "
         "quotation marks, or call the file .txt: there a line is a text."),
        ("id,prompt\n1,The film\n2,The plot, too\n",
         "Line 3 of a.csv has 3 cells, but the first line names 2, separated by commas. Put texts that contain one in "
         "quotation marks."),
    ],
)  # fmt: skip
def test_where_it_is_not_sure_it_says_so_and_cuts_no_text(tmp_path: Path, content: str, message: str) -> None:
    path = put(tmp_path, content)
    with pytest.raises(row_files.TableUnusable) as caught:
        list(row_files.rows(path))
    assert str(caught.value) == message


def test_the_form_asks_before_a_start_and_names_the_field(tmp_path: Path) -> None:
    unsure = put(tmp_path, "prompt;note, of whom\nGood; mine, yours\n")
    problem = checks.prompts_problem(PromptsConfig(source=str(unsure)))
    assert problem is not None and problem.field == "prompts.source" and "in two ways" in problem.message
    assert checks.prompts_problem(PromptsConfig(source=str(put(tmp_path, "prompt;n\nGood;1\nBad;2\n")))) is None


def test_pairs_are_read_in_the_same_way(tmp_path: Path) -> None:
    rows = "".join(f'"What, {number}?";"Well; yes.";No.;0,{number}\n' for number in range(10))
    path = put(tmp_path, f"prompt;chosen;rejected;margin\n{rows}")
    pairs, counts = preferences.read_file(str(path))
    assert (counts.kept, pairs[0]) == (10, preferences.Pair("What, 0?", "Well; yes.", "No."))
    with pytest.raises(PairsUnusable, match=r"pairs\.source: a\.csv can be read in two ways"):
        preferences.check_file(str(put(tmp_path, "prompt;chosen,rejected\na;b,c\n")))
