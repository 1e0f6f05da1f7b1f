"""What the file of a lesson holds. `loading` adds what one field says of another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from playground.config import RunConfig, yaml_io
from playground.config.parts import Part
from playground.setup import catalog

Kind = Literal["choice", "number", "curve"]
Shape = Literal["rises", "falls", "stays", "rises, then falls", "rises, then stays"]
Look = Literal[
    "texts",
    "counts",
    "score",
    "distance",
    "curves",
    "health",
    "every-text",
    "frontier",
    "update",
    "memory",
    "leash",
    "chalkboard",
]
Line = Annotated[str, Field(min_length=1, max_length=140)]
Paragraph = Annotated[str, Field(min_length=1, max_length=600)]
Ask = Annotated[str, Field(min_length=1, max_length=240)]
Hints = Annotated[tuple[Ask, ...], Field(max_length=2)]  # where to look, and what to compare
When = dict[Annotated[str, Field(max_length=80)], Annotated[str, Field(max_length=40)]]  # fact -> condition


class Option(Part):
    """A choice of the prediction: it has come true where `when` holds of the first run. `belief` is for those who chose
    it and were wrong."""

    say: Line
    when: When = Field(min_length=1, max_length=6)
    belief: str = Field("", max_length=300)


class Prediction(Part):
    """What is asked before the first run: a choice of `options`; a number, `of` a fact; or a curve of a figure."""

    ask: Line
    kind: Kind
    options: tuple[Option, ...] = Field((), max_length=4)
    of: str = Field("", max_length=80)
    low: float = 0.0
    high: float = 100.0
    step: float = Field(1.0, gt=0)
    unit: str = Field("", max_length=40)
    near: float = Field(0.0, ge=0)  # how far from it still counts as close
    shapes: tuple[Shape, ...] = Field((), max_length=3)


class LessonRun(Part):
    """A run that the lesson starts: a preset, with other settings where `set` says so."""

    preset: str = Field(min_length=1, max_length=80)
    title: Annotated[str, Field(min_length=1, max_length=60)]
    why: str = Field("", max_length=300)
    set: dict[Annotated[str, Field(max_length=80)], Any] = Field({}, max_length=10)

    def config(self) -> RunConfig:
        """Raises: InvalidConfig, if there is no such preset, or it cannot have these settings."""
        if not self.set:
            return catalog.preset(self.preset)
        changes = [f"{field}={json.dumps(value)}" for field, value in self.set.items()]
        return yaml_io.overridden(catalog.preset(self.preset).model_dump(mode="json"), changes, RunConfig)

    @property
    def twin(self) -> Path | None:
        """The folder of the recording of exactly this run, if one ships."""
        folder = catalog.RECORDED / self.preset
        if not self.set and (folder / "config.yaml").is_file():
            return folder
        return None


class RevealSentence(Part):
    """What is said after a run of which `when` holds, with its figures in the place of {names}."""

    run: Literal[1, 2] = 1
    when: When = Field({}, max_length=6)
    say: Paragraph


class Task(Part):
    """To reach something by changing `knobs`, from the settings of the first run."""

    ask: Ask
    knobs: tuple[str, ...] = Field(min_length=1, max_length=4)
    when: When = Field(min_length=1, max_length=6)
    hints: Hints = ()
    solution: dict[str, float] = Field({}, max_length=4)  # values of knobs that reach it
    set: dict[str, Any] = Field({}, max_length=4)  # settings in which it differs from the first run


class QuestionOption(Part):
    """An answer that can be chosen."""

    say: Line
    right: bool = False
    why: str = Field("", max_length=400)


class Question(Part):
    """A question with one right answer."""

    ask: Ask
    options: tuple[QuestionOption, ...] = Field(min_length=2, max_length=4)
    hints: Hints = ()

    @model_validator(mode="after")
    def _has_one_answer(self) -> Self:
        right = sum(option.right for option in self.options)
        if right != 1:
            raise ValueError(f"options|{right} of them are `right: true`; exactly one has to be.")
        return self


class ChapterClaim(Part):
    """What the course's chapter says, and what is so."""

    says: Paragraph
    right: bool
    so: Paragraph


class CardStep(Part):
    """A line of words with a formula (`math`), and the same with the figures of the run (`numbers`): cards.py."""

    say: Paragraph
    math: str = Field("", max_length=400)
    numbers: str = Field("", max_length=400)


class AnswerCard(Part):
    """What is worked out, in steps."""

    title: Annotated[str, Field(min_length=1, max_length=60)]
    steps: tuple[CardStep, ...] = Field(min_length=1, max_length=8)


class Lesson(Part):
    """One lesson. `name` is that of its file."""

    name: str
    format: Literal[1]
    course: str = Field(min_length=1, max_length=60)
    number: int = Field(ge=1, le=99)
    title: Annotated[str, Field(min_length=1, max_length=60)]
    minutes: int = Field(ge=2, le=15)
    question: Line
    situation: Paragraph
    predict: Prediction
    runs: tuple[LessonRun, ...] = Field(min_length=1, max_length=2)
    look: tuple[Look, ...] = Field(min_length=1, max_length=12)
    figures: tuple[Annotated[str, Field(max_length=80)], ...] = Field((), max_length=6)  # of `curves`: these only
    reveal: tuple[RevealSentence, ...] = Field(min_length=1, max_length=12)
    explain: tuple[Paragraph, ...] = Field(min_length=1, max_length=3)
    card: AnswerCard | None = None
    break_it: Task | None = None
    transfer: Question  # one more, on the same idea
    chapter: ChapterClaim | None = None
    done: Paragraph | None = None  # what has just been done, by the names of the trade

    @property
    def indices(self) -> range:
        """The indices of its runs, and behind them that of the task to break it, if there is one."""
        return range(len(self.runs) + (self.break_it is not None))

    @property
    def steps(self) -> tuple[str, ...]:
        """Its steps in their order, as the page calls them (`stepsOf` in static/lessons/progress.js)."""
        runs = [f"run-{index}" for index in range(len(self.runs))]
        return ("predict", *runs, "explain", *(["break"] if self.break_it else []), "transfer", "end")

    def config(self, index: int) -> RunConfig:
        """The settings of a run; of the task to break it, which comes last: those of the first run, and its own."""
        if index < len(self.runs):
            return self.runs[index].config()
        return self._task({})

    def solved(self) -> RunConfig | None:
        """The settings of a run that reaches the task, if it names one. Raises: InvalidConfig."""
        if self.break_it and self.break_it.solution:
            return self._task(self.break_it.solution)
        return None

    def _task(self, values: dict[str, float]) -> RunConfig:
        first, own = self.runs[0], self.break_it.set if self.break_it else {}
        return first.model_copy(update={"set": {**first.set, **own, **values}}).config()


class CourseAbout(Part):
    """A course in words. `questions` are asked before its first lesson and after its last one."""

    title: Annotated[str, Field(min_length=1, max_length=60)]
    about: str = Field("", max_length=300)
    questions: tuple[Question, ...] = Field((), max_length=3)
