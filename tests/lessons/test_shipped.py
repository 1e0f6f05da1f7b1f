"""The lessons that ship, each tried on the recordings of its runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from playground.lessons import loading, trying
from playground.lessons.loading import SHIPPED, Lessons
from playground.setup import catalog

PATHS = sorted(path for path in SHIPPED.glob("*.yaml") if path.name != loading.COURSES)


def test_all_of_them_load_and_each_course_is_named() -> None:
    courses = Lessons().courses
    assert [course.name for course in courses] == list(loading.abouts(SHIPPED))
    assert sum(len(course.lessons) for course in courses) == len(PATHS)
    for course in courses:
        assert [lesson.number for lesson in course.lessons] == list(range(1, len(course.lessons) + 1))


def test_each_preset_that_only_a_lesson_needs_is_a_run_of_one() -> None:
    used = {run.preset for course in Lessons().courses for lesson in course.lessons for run in lesson.runs}
    of_lessons = {*catalog.lesson_preset_names()} & {*catalog.names_with_model()}
    assert of_lessons - used == set()


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_its_recordings_show_what_it_asks_and_what_is_said_holds_on_other_seeds(path: Path) -> None:
    """Exactly one option comes true, something is said after each run, and there is something left to break; and what
    comes true does so wherever in its band a run ends."""
    lesson = loading.load(path)
    found = trying.tried(lesson, trying.recordings(lesson))
    assert len(found) == len(lesson.runs), "every run has a recording"
    assert [one for tried in found for one in tried.mend] == []
    assert [one for tried in found for one in tried.unsure] == []
    assert all(tried.reveal.outside == [] for tried in found)
