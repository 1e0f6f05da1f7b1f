"""A lesson tried on runs: what its author has to mend, and what may be luck."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playground.lessons import trying
from playground.setup.expected import Band
from tests.lessons import lesson, recording

RUNS = [recording("no-leash"), recording("kinder-reviews")]


def mend(folder: Path, **changes: Any) -> list[str]:
    return [one for tried in trying.tried(lesson(folder, **changes), RUNS) for one in tried.mend]


def test_a_lesson_that_works_has_nothing_to_mend(tmp_path: Path) -> None:
    first, second = trying.tried(lesson(tmp_path), RUNS)
    assert [*first.mend, *second.mend, *first.unsure, *second.unsure] == []
    assert first.held == [1]
    assert second.held == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"predict__options__1__when": {"parses": "> 0.5"}}, "exactly one has to come true (none)"),
        ({"predict__options__2__when": {"score": "> 1"}}, "exactly one has to come true (Strings"),
        ({"predict__options__0__belief": ""}, "say with `belief`"),
        ({"reveal__0__when": {"score": "> 50"}}, "nothing is said after run 1"),
        ({"reveal__2__when": {"parses": "> 0.99"}}, "nothing is said after run 2"),
        ({"break_it__when": {"score": "> 2"}}, "the first run reaches it already"),
        ({"predict": {"ask": "?", "kind": "number", "of": "kl"}}, "199 nats is not between 0 and 100"),
        (
            {"predict": {"ask": "?", "kind": "curve", "of": "kl", "shapes": ["falls", "stays", "rises, then falls"]}},
            "the curve rises, which is none of them",
        ),
    ],
)
def test_what_its_runs_do_not_show_is_to_mend(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    assert any(words in one for one in mend(tmp_path, **changes))


def test_a_condition_beyond_the_band_of_other_seeds_may_be_luck(tmp_path: Path) -> None:
    # the recording has 199 nats; on other seeds there are 128 to 266
    unsure = lesson(tmp_path, reveal__0__when={"kl": "> 150", "distinct": "< 0.5"})
    first = trying.tried(unsure, RUNS[:1])[0]
    assert first.unsure == ["kl > 150 (its band: 128.078 to 265.675)"]
    assert first.unknown == ["distinct < 0.5"]


def test_the_bands_of_a_second_run_are_its_own_and_of_the_first_behind_that_name(tmp_path: Path) -> None:
    found = trying.bands(lesson(tmp_path), 1)
    assert found["first.kl"].low == 128.078
    assert found["kl"].high < 20
    assert found["parses.before"] == Band(0.98, 0.99, 3)
    assert "first.parses.before" in found
    changed = trying.bands(lesson(tmp_path, runs__1__set={"kl.coef": 1}), 1)
    assert "kl" not in changed
    assert "first.kl" in changed
