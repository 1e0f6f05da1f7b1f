"""The lessons that ship say of their recordings what they are meant to, and the document on them is right."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import get_args

import pytest

from playground.lessons import facts, loading, trying
from playground.lessons.records import Lesson, Look, Shape
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from tests.support import PROJECT

LESSONS = [lesson for course in loading.courses_of(loading.SHIPPED) for lesson in course.lessons]
DOCUMENT = (PROJECT / "docs" / "write-a-lesson.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_holds_of_its_recordings_and_over_the_bands_of_other_seeds(lesson: Lesson) -> None:
    for run in trying.tried(lesson, [RunDirectory(catalog.RECORDED / run.preset) for run in lesson.runs]):
        assert run.mend == []
        assert run.unsure == []


def test_all_three_kinds_of_prediction_are_asked() -> None:
    assert {lesson.predict.kind for lesson in LESSONS} == {"choice", "number", "curve"}


def test_the_example_of_the_document_is_a_lesson(tmp_path: Path) -> None:
    example = re.search(r"^    format: 1\n(?:    .*\n)+", DOCUMENT, re.MULTILINE)
    assert example
    (tmp_path / "example.yaml").write_text(textwrap.dedent(example[0]), encoding="utf-8")
    (held,) = trying.tried(loading.load(tmp_path / "example.yaml"), [RunDirectory(catalog.RECORDED / "short-leash")])
    assert held.mend == [] and held.unsure == []


def test_the_document_names_all_that_can_be_asked_for() -> None:
    names = {*facts.CURVES, *facts.ALWAYS, *facts.shares(catalog.preset("yes-man")), *get_args(Look), *get_args(Shape)}
    assert [name for name in sorted(names) if f"`{name}`" not in DOCUMENT] == []
