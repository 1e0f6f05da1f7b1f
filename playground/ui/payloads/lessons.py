"""The lessons, and what a run says of one (ui/train/lesson_part.py)."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from playground.ui.payloads import Value
from playground.ui.payloads.form import KnobData


class OptionData(TypedDict):
    """A choice: what it says. Of a transfer question also whether it is `right`, and `why` (or why not)."""

    say: str
    right: NotRequired[bool]
    why: NotRequired[str]


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


class QuestionData(TypedDict):
    """A question with one right answer."""

    ask: str
    options: list[OptionData]
    hints: list[str]


class ClaimData(TypedDict):
    """What the course's chapter says about it, whether that is `right`, and what is so."""

    says: str
    right: bool
    so: str


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


class FormulaData(TypedDict):
    """An element of MathML with what is in it."""

    name: str
    attributes: NotRequired[dict[str, str]]
    parts: list[FormulaData | str]


class WorkedStepData(TypedDict):
    """A line of words, a formula, and the same with a run's figures."""

    say: str
    math: FormulaData | None
    numbers: FormulaData | None


class WorkedCardData(TypedDict):
    """An answer card: an argument in steps."""

    title: str
    steps: list[WorkedStepData]


class RevealData(TypedDict):
    """What a run says of a lesson. `ready`: it has ended. `held`: of a choice, the option that came true (None: none
    did), and `beliefs` what is behind each of them, for those who chose it and were wrong. `value` and `words`: of a
    number. `shape`: of a curve, and `curve` as (update, value). `said`: the sentences that hold of this run;
    `explained`: why, and `card` what is worked out, with its numbers (after the last run only);
    `reached`: of the task to break it, whether it was
    reached; `outside`: where this run ended elsewhere than runs of this lesson do on other seeds; `memory`: of each
    role its name, its share and how much that is, where the lesson looks at it."""

    ready: bool
    held: int | None
    beliefs: list[str]
    value: float | None
    words: str
    shape: str
    curve: list[tuple[float, float]]
    said: list[str]
    explained: list[str]
    card: WorkedCardData | None
    reached: bool | None
    outside: list[str]
    memory: list[tuple[str, float, str]]


class LessonStartData(TypedDict):
    """Asked of the server to start a run of a lesson. `index`: which of its runs, or as many as there are for the task
    to break it, with the `values` of its knobs."""

    lesson: str
    index: int
    values: dict[str, Value]
    request: str
