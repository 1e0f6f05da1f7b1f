"""Lessons on the page: all of them without their answers, what a run says of one, and the start of one's run.

A lesson is found by its name among those that were loaded. Its runs are started as it says, with nothing of a visitor's
in them but the values of the knobs that it names.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from playground.config import RunConfig, flatten, yaml_io
from playground.errors import NotAllowed
from playground.lessons import facts
from playground.lessons.loading import Course, LessonNotFound, Lessons
from playground.lessons.records import Lesson, Prediction, Task
from playground.lessons.reveal import Reveal
from playground.runs.spawning import Workers
from playground.setup import catalog, describe
from playground.ui.auth.access import Access, Action, Caller
from playground.ui.payloads.form import KnobData
from playground.ui.payloads.lessons import BreakItData, CourseData, LessonRunData, LessonsData
from playground.ui.payloads.server import StartedData
from playground.ui.train import form, run_actions
from playground.ui.train.form import entry

MOST_POINTS = 400  # of a curve
OWN_TRY = "Your own try"
AS_THEY_ARE = {"name", "number", "title", "minutes", "question", "situation", "look", "transfer", "chapter"}
MOST_STEPS = 1000  # of a slider, to try whether each can be taken


@functools.lru_cache(maxsize=4)
def lessons_data(lessons: Lessons) -> LessonsData:
    """All lessons, without what comes of them."""
    return {"courses": [_course(course) for course in lessons.courses]}


def reveal_data(reveal: Reveal) -> Reveal:
    """What a run says of a lesson, with no more points of a curve than are drawn."""
    every = max(1, -(-len(reveal.curve) // MOST_POINTS))
    return replace(reveal, curve=reveal.curve[::every])


def guarded_functions(
    outputs: Path, access: Access, lessons: Lessons, spawn: Workers | None = None
) -> list[Callable[..., Any]]:
    """The server functions of the panel."""
    return access.guard_all(Action.START, [LessonStarts(outputs, access, lessons, spawn).start_lesson])


class LessonStarts:
    """Starts the runs of lessons."""

    def __init__(self, outputs: Path, access: Access, lessons: Lessons, spawn: Workers | None = None) -> None:
        self._outputs, self._access, self._lessons, self._spawn = outputs, access, lessons, spawn

    def start_lesson(self, payload: Any, caller: Caller) -> StartedData:
        """Start a run of a lesson, or put it into the queue: {lesson, index, values, request}; `index` as for its runs,
        or as many as there are for the task to break it. Answers {error, problems, run, sentence}."""
        lesson = self._lessons.find(str(entry(payload, "lesson")))
        index, request = entry(payload, "index"), entry(payload, "request")
        values = form.as_dict(entry(payload, "values"))
        make = functools.partial(_config, lesson, index, values)
        return run_actions.answer_start(make, request, self._outputs, self._spawn, self._access, caller)


def _config(lesson: Lesson, index: Any, values: Any) -> RunConfig:
    """The settings of a run of a lesson. Raises: InvalidConfig, LessonNotFound, NotAllowed (it has no such knob)."""
    task = lesson.break_it
    if isinstance(index, bool) or index not in lesson.indices:
        raise LessonNotFound(f"The lesson \u201c{lesson.title}\u201d has no such run.")
    config = lesson.config(index)
    if index < len(lesson.runs) or task is None:
        return config
    if not values.keys() <= {*task.knobs}:
        raise NotAllowed(f"Of this task these can be set: {', '.join(map(form.label_of, task.knobs))}.")
    return _named(yaml_io.from_dict(form.nested(values, config.model_dump(mode="json"))), config)


def _named(tried: RunConfig, config: RunConfig) -> RunConfig:
    """A visitor's own try is called by what was set in it: the title of its experiment may say the opposite."""
    set_to = _set_to(tried, config)
    about = type(config.about)(title=f"{OWN_TRY}: {set_to}"[:80])
    if set_to:
        return tried.model_copy(update={"about": about, "preset": ""})
    return tried


def _set_to(tried: RunConfig, config: RunConfig) -> str:
    """What is set otherwise than in another run: "leash 0.5"."""
    return describe.listed(describe.differences_in_words(tried, config))


def _course(course: Course) -> CourseData:
    return {
        "name": course.name,
        "title": course.title,
        "about": course.about,
        "minutes": sum(lesson.minutes for lesson in course.lessons),
        "lessons": [_lesson(lesson) for lesson in course.lessons],
        "questions": [question.model_dump(mode="json") for question in course.questions],
    }


def _lesson(lesson: Lesson) -> Any:
    """Without its answers (payloads.lessons.LessonData)."""
    task = lesson.break_it
    return {
        **lesson.model_dump(mode="json", include=AS_THEY_ARE),
        "predict": prediction_data(lesson.predict),
        "runs": _runs(lesson),
        "figures": [facts.CHARTS[name] for name in lesson.figures],
        "break_it": _task(task, lesson.config(len(lesson.runs)), lesson.solved()) if task else None,
        "done": lesson.done or "",
    }


def prediction_data(predict: Prediction) -> Any:
    """What is asked, without what comes of it (payloads.lessons.PredictionData)."""
    data = predict.model_dump(mode="json", exclude={"of": True, "options": {"__all__": {"when", "belief"}}})
    return {**data, "column": facts.CURVES[predict.of] if predict.kind == "curve" else ""}


def _runs(lesson: Lesson) -> list[LessonRunData]:
    return [
        {
            "preset": run.preset,
            "title": run.title,
            "why": run.why,
            "changes": describe.differences_in_words(run.config(), catalog.preset(run.preset)),
            "twin": run.twin is not None,
            "planted": run.config().experiments,
        }
        for run in lesson.runs
    ]


def _task(task: Task, config: RunConfig, solved: RunConfig | None) -> BreakItData:
    now = flatten(config)
    return {
        "ask": task.ask,
        "knobs": [_knob(field, config) for field in task.knobs],
        "values": {field: now[field] for field in task.knobs},
        "hints": list(task.hints),
        "solution": _set_to(solved, config) if solved else "",
    }


def _knob(field: str, config: RunConfig) -> KnobData:
    """A slider of a task. Of whole numbers, those that cannot be taken with the other settings are left out."""
    knob = form.knob_data(field)
    if not knob["slider"] or not knob.get("whole") or knob["log"]:
        return knob
    low, high, step = knob["slider"]
    every = [low + at * step for at in range(round((high - low) / step) + 1)][:MOST_STEPS]
    values = [value for value in every if _can_be(config.model_dump(mode="json"), field, value)]
    if len(values) < len(every):
        return {**knob, "values": values}
    return knob


def _can_be(data: dict[str, Any], field: str, value: float) -> bool:
    try:
        RunConfig.model_validate(form.nested({field: value}, data))
    except ValueError:
        return False
    return True
