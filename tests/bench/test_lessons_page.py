"""docs/lessons.md: what comes of each lesson on other seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import lessons, lessons_page
from bench.lessons_page import Measured, of_row, page
from playground.lessons.loading import Lessons
from tests.lessons import FILES, lesson, write


def measured_row(preset: str, seed: int, score: float, parses: float, kl: float = 100.0) -> dict[str, Any]:
    """A line of `make results`, with a score of 0.5 and every second text kind before."""
    before = {"score": 0.5, "kl": 0.0, "parses": 0.98, "positive": 0.5, "polite": None, "tokens": 14.0}
    after = {"score": score, "kl": kl, "parses": parses, "positive": 0.9, "polite": None, "tokens": 32.0}
    return {"preset": preset, "seed": seed, "before": before, "after": after}


ROWS = [
    *(measured_row("no-leash", seed, 20.5, parses) for seed, parses in enumerate((0.0, 0.1, 0.4))),
    *(measured_row("kinder-reviews", seed, 4.5, 0.9, 8.0) for seed in range(3)),
]


def cells(folder: Path, measured: Measured, number: int = 0) -> list[str]:
    text = page(Lessons(shipped=folder).courses, measured)
    found = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| 1 |")]
    return [cell.strip() for cell in found[number]]


def test_the_page_in_the_repository_is_made_of_the_lessons_and_the_figures_beside_it() -> None:
    assert lessons_page.PAGE.read_text(encoding="utf-8") == page(Lessons().courses, Measured.read()), "run make lessons"


def test_facts_of_a_measured_run_are_named_as_in_lessons() -> None:
    found = of_row(ROWS[2])
    assert found == {
        "score": 20.0,
        "kl": 100.0,
        "parses": 0.4,
        "parses.before": 0.98,
        "positive": 0.9,
        "positive.before": 0.5,
        "length": 32.0,
        "length.before": 14.0,
    }


def test_an_option_comes_true_on_so_many_of_the_seeds() -> None:
    found = cells(FILES, Measured(ROWS))
    assert found[3] == "no-leash, kinder-reviews"
    assert found[4] == "Strings of praise that are no English"
    assert found[5] == "2 of 3"  # parses < 0.3
    assert found[6] == "1: 3 of 3; 1: 0 of 3; 2: 3 of 3"
    assert "; run 2: parses 86 to 97 %. holds over the whole band" in found[7]


def test_what_was_not_measured_is_known_of_the_recording_alone(tmp_path: Path) -> None:
    write(tmp_path, predict__options__1__when={"distinct": "< 0.5"}, reveal__0__when={"kl": "> 150"})
    found = cells(tmp_path, Measured(ROWS))
    assert found[5] == "recording"
    assert found[6].startswith("1: 0 of 3")
    assert "not over the whole band: kl > 150 (its band: 128.078 to 265.675)" in found[7]
    assert "by the recording only: distinct &lt; 0.5" in found[7]


def test_a_number_went_from_here_to_there(tmp_path: Path) -> None:
    write(tmp_path, predict={"ask": "?", "kind": "number", "of": "parses"})
    found = cells(tmp_path, Measured(ROWS))
    assert found[4:6] == ["0 % (0 of 64)", "0 to 40 % on 3"]


def test_a_run_that_is_no_preset_is_known_by_what_was_trained(tmp_path: Path) -> None:
    write(tmp_path, runs__0__set={"kl.coef": 0.01})
    trained = [
        {"lesson": "mine", "index": 0, "seed": seed, "facts": {"score": 20.0, "parses": parses}, "shape": ""}
        for seed, parses in enumerate((0.1, 0.5))
    ]
    found = cells(tmp_path, Measured(ROWS, trained))
    assert found[3] == "no-leash with kl.coef 0.01, kinder-reviews"
    assert found[4:6] == ["Strings of praise that are no English", "1 of 2"]


def test_only_what_no_preset_is_has_to_be_trained(tmp_path: Path) -> None:
    mixed = lesson(tmp_path, runs__1__set={"kl.coef": 0.5})
    found = [(index, config.seed, config.kl.coef) for _, index, config in lessons.wanted([mixed], [0, 7])]
    assert found == [
        (1, 0, 0.5),
        (2, 0, 0.25),
        (1, 7, 0.5),
        (2, 7, 0.25),
    ]  # those of 2: its solution


def test_of_a_task_it_is_said_on_how_many_seeds_its_solution_reaches_it(tmp_path: Path) -> None:
    write(tmp_path)
    trained = [
        {"lesson": "mine", "index": 2, "seed": seed, "facts": {"score": 2.5, "parses": parses}, "shape": ""}
        for seed, parses in enumerate((0.91, 0.5))
    ]
    found = cells(tmp_path, Measured(ROWS, trained), 1)
    assert found[2:] == ["score > 2, parses > 0.9", "kl.coef 0.25", "1 of 2", "score 2.5, 2.5; parses 0.91, 0.5"]


@pytest.mark.parametrize("text", ["a | b", "<b>x</b>", "a\nb"])
def test_a_text_cannot_leave_its_cell(tmp_path: Path, text: str) -> None:
    write(tmp_path, question=text)
    found = cells(tmp_path, Measured(ROWS))
    assert len(found) == 8
    assert not {*"<|\n"} & {*found[2]}
