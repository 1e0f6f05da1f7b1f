"""docs/lessons.md: what comes of each lesson on other seeds. The figures are those of figures.yaml."""

import pytest

from bench import lessons
from bench.lessons_page import Measured, of_row, page
from playground.lessons.loading import Lessons
from tests.bench import MADE_UP
from tests.lessons import FILES, lesson, write

ROWS = MADE_UP["presets"]


def cells(folder, trained=None, number=0):
    """The first lesson's, or those of its task (number 1)."""
    text = page(Lessons(shipped=folder).courses, Measured(ROWS, trained or []))
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| 1 |")]
    return [cell.strip() for cell in rows[number]]


def trained_runs(index, score, *parses):
    """Figures of a run that is no preset, seed by seed."""
    return [
        {"lesson": "mine", "index": index, "seed": seed, "facts": {"score": score, "parses": share}, "shape": ""}
        for seed, share in enumerate(parses)
    ]


def test_facts_of_a_measured_run_are_named_as_in_lessons():
    behaviours = {"parses": 0.4, "parses.before": 0.98, "positive": 0.9, "positive.before": 0.5}
    assert of_row(ROWS[2]) == {"score": 20.0, "kl": 100.0, **behaviours, "length": 32.0, "length.before": 14.0}


def test_an_option_comes_true_on_so_many_of_the_seeds():
    runs, came_true, on_seeds, sentences, bands = cells(FILES)[3:]
    assert runs == "no-leash, kinder-reviews"
    assert came_true == "Strings of praise that are no English"
    assert on_seeds == "2 of 3"  # parses < 0.3
    assert sentences == "1: 3 of 3; 1: 0 of 3; 2: 3 of 3"
    assert "; run 2: parses 86 to 97 %. holds over the whole band" in bands


def test_what_was_not_measured_is_known_of_the_recording_alone(tmp_path):
    write(tmp_path, predict__options__1__when={"distinct": "< 0.5"}, reveal__0__when={"kl": "> 150"})
    on_seeds, sentences, bands = cells(tmp_path)[5:]
    assert on_seeds == "recording"
    assert sentences.startswith("1: 0 of 3")
    assert "not over the whole band: kl > 150 (its band: 128.078 to 265.675)" in bands
    assert "by the recording only: distinct &lt; 0.5" in bands


def test_only_what_no_preset_is_has_to_be_trained(tmp_path):
    mixed = lesson(tmp_path, runs__1__set={"kl.coef": 0.5})
    wanted = [(index, config.seed, config.kl.coef) for _, index, config in lessons.wanted([mixed], [0, 7])]
    assert wanted == [(1, 0, 0.5), (2, 0, 0.25), (1, 7, 0.5), (2, 7, 0.25)]  # those of 2: its solution


def test_of_a_task_it_is_said_on_how_many_seeds_its_solution_reaches_it(tmp_path):
    write(tmp_path)
    task = cells(tmp_path, trained_runs(2, 2.5, 0.91, 0.5), number=1)
    assert task[2:] == ["score > 2, parses > 0.9", "kl.coef 0.25", "1 of 2", "score 2.5, 2.5; parses 0.91, 0.5"]


@pytest.mark.parametrize("text", ["a | b", "<b>x</b>", "a\nb"])
def test_a_text_cannot_leave_its_cell(tmp_path, text):
    write(tmp_path, question=text)
    row = cells(tmp_path)
    assert len(row) == 8
    assert not {*"<|\n"} & {*row[2]}
