"""Tables: what separates their columns, found in the text and never guessed."""

import json
import re

import pandas
import pytest

from playground.config import PromptsConfig
from playground.data import preferences, row_files
from playground.errors import PairsUnusable
from playground.setup import checks, limits
from tests.support import data_beside

TABLES = data_beside(__file__, "row_files.yaml")
TEXTS = ["The film was", "So slow; and long, too", 'It said "no"']


def put(folder, content, name="a.csv"):
    path = folder / name
    path.write_bytes(content.encode())
    return path


def values(path, column):
    return [row[column] for row in row_files.rows(path)]


@pytest.mark.parametrize(("content", "separator"), TABLES["separated"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_columns_are_separated_by_what_the_line_of_their_names_shows(tmp_path, name, content, separator):
    path = put(tmp_path, content, name)
    assert values(path, "prompt") == TEXTS
    shape = row_files.shape(path)
    assert (shape.num_rows, shape.separator) == (3, separator)


def test_commas_long_texts_and_line_breaks_stay_in_their_cell(tmp_path):
    path = put(tmp_path, "prompt;label\nThe film was;0,5\nThe plot was;1,5\n")
    assert values(path, "label") == ["0,5", "1,5"]
    path = put(tmp_path, "prompt\nThe film, which was\n", "a.tsv")
    assert (values(path, "prompt"), row_files.shape(path).separator) == (["The film, which was"], "")
    long, lines = "x" * 200_000, "a\n" * 500
    path = put(tmp_path, f'prompt;label\n"{lines}";1\n{long};2\n')
    assert values(path, "prompt") == [lines, long]


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


@pytest.mark.parametrize(("name", "content", "expected"), TABLES["read"])
def test_what_people_have_is_read_as_it_is_meant(tmp_path, name, content, expected):
    assert list(row_files.rows(put(tmp_path, content, name))) == expected


@pytest.mark.parametrize(("name", "content", "words"), TABLES["refused"])
def test_what_is_no_table_is_called_what_it_is(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(row_files.TableUnusable, match=re.escape(words)):
        list(row_files.rows(path))


def test_a_list_of_objects_of_any_layout_is_read_a_row_at_a_time(tmp_path):
    rows = [{"prompt": f"Why, {number}? \u2028 {'x' * 40_000}"} for number in range(30)]
    for indent in (None, 1):
        assert list(row_files.rows(put(tmp_path, json.dumps(rows, indent=indent), "a.json"))) == rows


def test_parquet_is_read_within_the_bounds_and_from_an_upload_on_ones_own_machine_only(tmp_path):
    path = tmp_path / "a.parquet"
    rows = [{"prompt": f"Why, {number}?", "turns": [{"role": "user", "content": "a"}]} for number in range(250)]
    pandas.DataFrame(rows).to_parquet(path)
    assert list(row_files.rows(path)) == rows
    assert limits.upload_problem(path, limits.LIMITS["local"], tmp_path) == ""
    assert "own machine only" in limits.upload_problem(path, limits.LIMITS["space"], tmp_path)
    pandas.DataFrame({"prompt": ["x" * 10_000] * 3000}).to_parquet(path)
    with pytest.raises(row_files.TableUnusable, match="more than 20 MB when unpacked"):
        list(row_files.rows(path, 20_000_000))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(row_files.TableUnusable, match="not a whole Parquet file"):
        list(row_files.rows(path))


def test_a_file_of_another_kind_is_named_and_never_taken_for_a_data_set(tmp_path):
    source = str(put(tmp_path, "prompt\na\n", "a.xlsx"))
    said = checks.prompts_problem(PromptsConfig(source=source)).message
    assert said.startswith("a.xlsx must be one of .txt, ")
    with pytest.raises(PairsUnusable, match=r"a\.xlsx must be one of"):
        preferences.check_file(source)
