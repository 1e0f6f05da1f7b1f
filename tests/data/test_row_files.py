"""Tables: what separates their columns, found in the text and never guessed."""

import pytest

from playground.config import PromptsConfig
from playground.data import preferences, row_files
from playground.setup import checks
from tests.support import data_beside

TABLES = data_beside(__file__, "row_files.yaml")
TEXTS = ["The film was", "So slow; and long, too", 'It said "no"']


def put(folder, content, name="a.csv"):
    path = folder / name
    path.write_bytes(content.encode())
    return path


@pytest.mark.parametrize(("content", "separator"), TABLES["separated"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_columns_are_separated_by_what_the_line_of_their_names_shows(tmp_path, name, content, separator):
    path = put(tmp_path, content, name)
    assert row_files.values(path, "prompt") == TEXTS
    shape = row_files.shape(path)
    assert (shape.num_rows, shape.separator) == (3, separator)


def test_commas_long_texts_and_line_breaks_stay_in_their_cell(tmp_path):
    path = put(tmp_path, "prompt;label\nThe film was;0,5\nThe plot was;1,5\n")
    assert row_files.values(path, "label") == ["0,5", "1,5"]
    path = put(tmp_path, "prompt\nThe film, which was\n", "a.tsv")
    assert (row_files.values(path, "prompt"), row_files.shape(path).separator) == (["The film, which was"], "")
    long, lines = "x" * 200_000, "a\n" * 500
    path = put(tmp_path, f'prompt;label\n"{lines}";1\n{long};2\n')
    assert row_files.values(path, "prompt") == [lines, long]


@pytest.mark.parametrize(("content", "words"), TABLES["two_ways"])
def test_a_table_that_can_be_read_in_two_ways_is_refused_and_no_text_is_cut(tmp_path, content, words):
    with pytest.raises(row_files.TableUnusable) as caught:
        list(row_files.rows(put(tmp_path, content)))
    assert [part for part in words if part not in str(caught.value)] == []


def test_the_form_asks_before_a_start_and_pairs_are_read_in_the_same_way(tmp_path):
    assert checks.prompts_problem(PromptsConfig(source=str(put(tmp_path, "prompt;n\nGood;1\nBad;2\n")))) is None
    rows = "".join(f'"What, {number}?";"Well; yes.";No.;0,{number}\n' for number in range(10))
    pairs, counts = preferences.read_file(str(put(tmp_path, f"prompt;chosen;rejected;margin\n{rows}")))
    assert (counts.kept, pairs[0]) == (10, preferences.Pair("What, 0?", "Well; yes.", "No."))
