"""The lessons, and what a run says of one (ui/train/lesson_part.py)."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from playground.lessons.records import ChapterClaim, Question
from playground.lessons.reveal import Reveal
from playground.ui.payloads import Of, Plain, Value
from playground.ui.payloads.form import KnobData


class OptionData(TypedDict):
    """A choice: what it says."""

    say: str


class PredictionData(TypedDict):
    """What is asked before Start. A choice has `options`; a number is of a fact, between `low` and `high`, and close
    where it is no further off than `near`; a curve is of a column of the metrics, with the `shapes` to choose
    from."""

    ask: str
    kind: Literal["choice", "number", "curve"]
    options: list[OptionData]
    unit: str
    low: float
    high: float
    step: float
    near: float
    column: str
    shapes: list[str]


class LessonRunData(TypedDict):
    """A run that a lesson starts. `changes`: in words, what differs from its preset; `twin`: whether a recording of
    exactly this ships; `planted`: whether it has a mistake on purpose, which a public page refuses."""

    preset: str
    title: str
    why: str
    changes: list[str]
    twin: bool
    planted: bool


class BreakItData(TypedDict):
    """A task at the end: to reach something by changing the `knobs`, from their `values` in the first run. `solution`:
    what is known to reach it, in words, or ""."""

    ask: str
    knobs: list[KnobData]
    values: dict[str, Value]
    hints: list[str]
    solution: str


QuestionData = Annotated[Plain, Of(Question)]
ClaimData = Annotated[Plain, Of(ChapterClaim)]


class LessonData(TypedDict):
    """A lesson without its answers. `look`: parts of the page that are in sight (lessons.PARTS); `figures`: the columns
    of the metrics whose curves are shown of all (none: all); `minutes`: to read and run; `done`: what has been done, by
    the names of the trade, or ""."""

    name: str
    number: int
    title: str
    minutes: int
    question: str
    situation: str
    predict: PredictionData
    runs: list[LessonRunData]
    look: list[str]
    figures: list[str]
    break_it: BreakItData | None
    transfer: QuestionData
    chapter: ClaimData | None
    done: str


class CourseData(TypedDict):
    """Lessons in their order; `questions` are asked before the first one and after the last one."""

    name: str
    title: str
    about: str
    minutes: int
    lessons: list[LessonData]
    questions: list[QuestionData]


class LessonsData(TypedDict):
    """All of them."""

    courses: list[CourseData]


RevealData = Annotated[Plain, Of(Reveal)]


class LessonStartData(TypedDict):
    """Asked of the server to start a run of a lesson. `index`: which of its runs, or as many as there are for the task
    to break it, with the `values` of its knobs."""

    lesson: str
    index: int
    values: dict[str, Value]
    request: str
