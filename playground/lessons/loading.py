"""Lessons from their files, and all that is wrong with them at once, each beside its field.

The shipped ones are in lessons/; a teacher's own are in a folder of theirs. A file may come from anywhere: it is
bounded, plain data, and names presets that ship, never a file.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from playground import PROJECT_FILES
from playground.config import RUN_ID, yaml_io
from playground.errors import InvalidConfig, PlaygroundError, Problem
from playground.lessons import checking
from playground.lessons.records import CourseAbout, Lesson, Question
from playground.setup import catalog

SHIPPED = PROJECT_FILES / "lessons"
COURSES = "courses.yaml"  # in a folder of lessons: name of a course -> its title and what it is about, in order
FOLDER_VARIABLE = "PLAYGROUND_LESSONS"
MOST_FILES = 200  # in a folder


class LessonNotFound(PlaygroundError):
    """There is no lesson of that name."""


class Course(NamedTuple):
    """Lessons in their order."""

    name: str
    title: str
    about: str
    lessons: tuple[Lesson, ...]
    questions: tuple[Question, ...] = ()


class Lessons:
    """The shipped lessons, and behind them those of a folder of one's own. Those that ship are read when they are asked
    for first; one's own at once, as they may be wrong. Raises: InvalidConfig."""

    def __init__(self, own: Path | None = None, shipped: Path = SHIPPED) -> None:
        if own and not own.is_dir():
            raise InvalidConfig([Problem("lessons", f"There is no folder {own}. Name the one that has your lessons.")])
        self._shipped, self._own = shipped, courses_of(own) if own else []
        if clashes := list(_taken(self._own, shipped)):
            raise InvalidConfig(clashes)

    @functools.cached_property
    def courses(self) -> list[Course]:
        """Raises: InvalidConfig, with all that is wrong with any of them."""
        return [*courses_of(self._shipped), *self._own]

    @functools.cached_property
    def _by_name(self) -> dict[str, Lesson]:
        return {lesson.name: lesson for course in self.courses for lesson in course.lessons}

    def find(self, name: str) -> Lesson:
        """Raises: LessonNotFound, InvalidConfig."""
        if name not in self._by_name:
            raise LessonNotFound(catalog.unknown("lesson", name, self._by_name))
        return self._by_name[name]


def own_folder() -> Path | None:
    """The folder of one's own lessons, if the environment names one."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named)
    return None


def courses_of(folder: Path) -> list[Course]:
    """The courses of a folder, those without a lesson left out. Raises: InvalidConfig, with all problems of all."""
    problems: list[Problem] = []
    lessons: list[Lesson] = []
    paths = sorted(path for path in folder.glob("*.yaml") if path.name != COURSES)
    if len(paths) > MOST_FILES:
        raise InvalidConfig([Problem("", f"{folder} has {len(paths)} files; at most {MOST_FILES} lessons are read.")])
    try:
        named = abouts(folder)
    except InvalidConfig as error:
        named, problems = {}, [*error.problems]
    for path in paths:
        try:
            lessons.append(load(path, named))
        except InvalidConfig as error:
            problems += [Problem(f"{path.name} {problem.field}".strip(), problem.message) for problem in error.problems]
    problems += _same_numbers(lessons)
    if problems:
        raise InvalidConfig(problems)
    for lesson in lessons:
        named.setdefault(lesson.course, CourseAbout(title=lesson.course.replace("-", " ").capitalize()))
    return [
        Course(name, about.title, about.about, tuple(sorted(theirs, key=lambda lesson: lesson.number)), about.questions)
        for name, about in named.items()
        if (theirs := [lesson for lesson in lessons if lesson.course == name])
    ]


def load(path: Path, named: Mapping[str, CourseAbout] | None = None) -> Lesson:
    """A lesson from its file. `named`: the courses that its folder names, if they have been read. Raises:
    InvalidConfig, with all that is wrong with it."""
    if path.suffix != ".yaml" or not RUN_ID.fullmatch(path.stem):
        message = f"{path.name[:80]}: name the file with small letters, digits and hyphens, and .yaml at its end."
        raise InvalidConfig([Problem("", message)])
    if not path.is_file():
        raise InvalidConfig([Problem("", f"There is no file {path}.")])
    data = yaml_io.read_yaml(path)
    if isinstance(data, dict):
        if "name" in data:
            raise InvalidConfig([Problem("name", "Leave it out: a lesson is called as its file is.")])
        data = {**data, "name": path.stem}
    lesson = yaml_io.validated(data, Lesson)
    problems = [*checking.problems(lesson), *_course_problems(lesson, abouts(path.parent) if named is None else named)]
    if problems:
        raise InvalidConfig(problems)
    return lesson


def abouts(folder: Path) -> dict[str, CourseAbout]:
    """The courses that a folder names, in order; empty where it names none. Raises: InvalidConfig."""
    path = folder / COURSES
    if not path.is_file():
        return {}
    problems: list[Problem] = []
    by_folder: dict[str, CourseAbout] = {}
    courses = yaml_io.read_yaml(path)
    if not isinstance(courses, dict):
        raise InvalidConfig([Problem(COURSES, "Give each course a name, and below it title and about.")])
    for name, about in courses.items():
        try:
            by_folder[str(name)] = yaml_io.validated(about, CourseAbout)
        except InvalidConfig as error:
            problems += [
                Problem(f"{COURSES} {name}.{problem.field}".rstrip("."), problem.message) for problem in error.problems
            ]
    if problems:
        raise InvalidConfig(problems)
    return by_folder


def _taken(own: Sequence[Course], shipped: Path) -> Iterator[Problem]:
    """Names of one's own that a course or a lesson that ships has already."""
    courses = abouts(shipped) if own else {}
    for course in own:
        if course.name in courses:
            yield Problem(course.name, "A course of this name ships. Give yours another name, in each of its lessons.")
        for lesson in course.lessons:
            if (shipped / f"{lesson.name}.yaml").exists():
                yield Problem(f"{lesson.name}.yaml", "A lesson of this name ships. Give the file another name.")


def _course_problems(lesson: Lesson, named: Mapping[str, CourseAbout]) -> Iterator[Problem]:
    if named and lesson.course not in named:
        hint = catalog.nearest(lesson.course, named, f"It has {', '.join(named)}. Add yours there.")
        yield Problem("course", f"`{lesson.course}` is not in {COURSES} beside the file. {hint}")


def _same_numbers(lessons: Sequence[Lesson]) -> Iterator[Problem]:
    places: dict[tuple[str, int], str] = {}
    for lesson in lessons:
        other = places.setdefault((lesson.course, lesson.number), lesson.name)
        if other != lesson.name:
            where = f"{lesson.course} has {other} at {lesson.number} already"
            yield Problem(f"{lesson.name}.yaml number", f"{where}. Give each lesson of a course its own number.")
