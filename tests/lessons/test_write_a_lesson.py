"""The document on writing a lesson is right."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import get_args

from playground.lessons import facts, loading, trying
from playground.lessons.records import Look, Shape
from playground.setup import catalog
from tests.lessons import recording
from tests.support import PROJECT

DOCUMENT = (PROJECT / "docs" / "write-a-lesson.md").read_text(encoding="utf-8")


def test_its_example_is_a_lesson_that_its_recording_shows(tmp_path: Path) -> None:
    example = re.search(r"^    format: 1\n(?:    .*\n)+", DOCUMENT, re.MULTILINE)
    assert example
    (tmp_path / "example.yaml").write_text(textwrap.dedent(example[0]), encoding="utf-8")
    (tried,) = trying.tried(loading.load(tmp_path / "example.yaml"), [recording("short-leash")])
    assert [*tried.mend, *tried.unsure] == []


def test_it_names_all_that_can_be_asked_for() -> None:
    names = {*facts.CURVES, *facts.ALWAYS, *facts.shares(catalog.preset("yes-man")), *get_args(Look), *get_args(Shape)}
    assert [name for name in sorted(names) if f"`{name}`" not in DOCUMENT] == []
