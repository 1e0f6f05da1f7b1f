"""A question of a class: the prediction or the last question of a lesson, or one that the host has typed. What may be
answered, and what the answers come to; never whose they are."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from playground.errors import PlaygroundError
from playground.lessons.loading import LessonNotFound, Lessons
from playground.lessons.records import Lesson, Prediction
from playground.lessons.reveal import Reveal, reveal
from playground.ui.auth.access import Caller
from playground.ui.classroom.records import ClassQuestion, ClassResults, ClassRound
from playground.ui.classroom.room import MOST_PEOPLE, Answer, Room, Step, finite, is_whole
from playground.ui.classroom.room_file import NoClass
from playground.ui.classroom.steps import DeskCommand, Handler, StepKind
from playground.ui.feed.feed import Hub
from playground.ui.train import lesson_part
from playground.ui.train.form import as_dict

MOST_OPTIONS, MOST_ASK, MOST_SAY = 6, 240, 140  # of a typed question
BINS = 10  # of a histogram of numbers
HANDS = "hands"  # of a step's data: round -> hands for each answer
CHOOSE = "Choose one of the answers."
GONE = "A question of a lesson that is gone"


class Questions(StepKind):
    """Knows the room, the lessons, and the runs, one of which may say what is so."""

    kind = "question"

    def __init__(self, room: Room, hub: Hub) -> None:
        super().__init__(room)
        self.hub = hub

    @property
    def commands(self) -> dict[str, Handler]:
        return {"ask": self.ask, "again": self.ask_again, "counts": self.count_hands}

    # --- what the host does

    def ask(self, command: DeskCommand, caller: Caller) -> None:
        """Open a question: {lesson, what: prediction or transfer}, or {ask, options}. Raises: LessonNotFound."""
        if command.lesson:
            part = "transfer" if command.what == "transfer" else "prediction"
            self.room.begin("question", {"lesson": self.hub.lessons.find(command.lesson).name, "what": part})
        else:
            self.room.begin("question", typed(command.ask, command.options))

    def ask_again(self, command: DeskCommand, caller: Caller) -> None:
        """The same question once more, in a round of its own."""
        self.room.ask_again(self.current(command))

    def count_hands(self, command: DeskCommand, caller: Caller) -> None:
        """Keep the hands that were raised in this round, {step, counts}, where phones do not reach the page."""
        step = self.current(command)
        self.room.set_state(step, step.state, with_hands(step, command.counts, self.hub.lessons))

    # --- what is answered, and seen

    def checked(self, person: str, step: Step, item: int, value: Any) -> Any:
        return checked(value, step, self.hub.lessons)

    def answered(self, step: Step) -> int:
        return self.room.answered(step, step.round)

    def title(self, step: Step) -> str:
        try:
            lesson = lesson_of(step, self.hub.lessons)
        except LessonNotFound:
            return GONE
        if lesson:
            return lesson.title
        return str(step.data["ask"])

    def seen(self, step: Step, person: str) -> dict[str, Any]:
        results = None
        if step.state == "shown":
            results = self.results(step)
        return {"question": question_of(step, self.hub.lessons), "results": results}

    def on_desk(self, step: Step) -> dict[str, Any]:
        return {"live": self.results(step)}

    def results(self, step: Step) -> ClassResults:
        """What was answered, and what is so."""
        rounds = rounds_of(step, self.room.answers(step), self.hub.lessons)
        lesson = lesson_of(step, self.hub.lessons)
        if lesson and step.data["what"] == "transfer":
            options = lesson.transfer.options
            right = next((number for number, option in enumerate(options) if option.right), None)
            return ClassResults(rounds, right, [option.why for option in options], None)
        outcome = None
        if lesson:
            outcome = self._reveal(step, lesson)
        if outcome is None:
            return ClassResults(rounds, None, [], None)
        return ClassResults(rounds, outcome.held, [], outcome)

    def _reveal(self, step: Step, lesson: Lesson) -> Reveal | None:
        """None without a run, or where it is gone or cannot be read: the answers are shown all the same."""
        if run_id := step.data.get("run"):
            with contextlib.suppress(PlaygroundError):
                return lesson_part.reveal_data(reveal(lesson, 0, self.hub.find(run_id)))
        return None


def typed(ask: str, options: Sequence[str]) -> dict[str, Any]:
    """The data of a step that the host has typed. Raises: NoClass."""
    question = ask.strip()
    answers = [*dict.fromkeys(filter(None, map(str.strip, options)))]  # each once
    if not question or len(question) > MOST_ASK:
        raise NoClass(f"Question: type one of at most {MOST_ASK} characters.")
    if not 2 <= len(answers) <= MOST_OPTIONS or max(map(len, answers)) > MOST_SAY:
        raise NoClass(f"Answers: type 2 to {MOST_OPTIONS} different ones, one a line, of at most {MOST_SAY} letters.")
    return {"ask": question, "options": answers, "what": "typed"}


def prediction_of(step: Step, lessons: Lessons) -> tuple[Prediction | None, list[str], str]:
    """What is asked: the lesson's prediction or None, the options in words, and the question."""
    lesson = lesson_of(step, lessons)
    if lesson is None:
        return None, list(step.data["options"]), step.data["ask"]
    question = lesson.transfer if step.data["what"] == "transfer" else lesson.predict
    predict = None
    if isinstance(question, Prediction):
        predict = question
    return predict, [option.say for option in question.options], question.ask


def lesson_of(step: Step, lessons: Lessons) -> Lesson | None:
    """The lesson that a question is of. Raises: LessonNotFound."""
    if step.kind == "question" and "lesson" in step.data:
        return lessons.find(step.data["lesson"])
    return None


def question_of(step: Step, lessons: Lessons) -> ClassQuestion:
    """As it is asked. Raises: LessonNotFound."""
    predict, options, ask = prediction_of(step, lessons)
    lesson = lesson_of(step, lessons)
    if lesson is None or predict is None:
        form: Any = {**EMPTY, "ask": ask, "options": [{"say": option} for option in options]}
        return ClassQuestion(form, title=lesson.title if lesson else "")
    return ClassQuestion(lesson_part.prediction_data(predict), lesson.title, lesson.name, lesson.situation)


EMPTY = lesson_part.prediction_data(Prediction(ask="-", kind="choice"))


def checked(value: Any, step: Step, lessons: Lessons) -> Any:
    """An answer as it is kept. Raises: NoClass, with what to do."""
    predict, options, _ = prediction_of(step, lessons)
    value = as_dict(value)
    if predict is None or predict.kind == "choice":
        choice = value.get("choice")
        if not is_whole(choice, 0, len(options) - 1):
            raise NoClass(CHOOSE)
        return {"choice": choice}
    if predict.kind == "number":
        number = finite(value.get("number"))
        if number is None or not predict.low <= number <= predict.high:
            raise NoClass(f"Choose a number from {predict.low:g} to {predict.high:g}.")
        return {"number": number}
    if value.get("shape") not in predict.shapes:
        raise NoClass(CHOOSE)
    return {"shape": value["shape"]}


def rounds_of(step: Step, answers: Sequence[Answer], lessons: Lessons) -> list[ClassRound]:
    """What was answered in each round so far."""
    predict, options, _ = prediction_of(step, lessons)
    hands = step.data.get(HANDS, {})
    rounds = []
    for number in range(1, step.round + 1):
        values = [answer.value for answer in answers if answer.item == number]
        choices = Counter(value["choice"] for value in values if "choice" in value)
        shapes = Counter(str(value["shape"]) for value in values if "shape" in value)
        numbers = sorted(value["number"] for value in values if "number" in value)
        counts = [choices[index] for index in range(len(options))]
        if numbers and predict is not None:
            counts = _bins(numbers, predict)
        rounds.append(ClassRound(len(values), counts, numbers, dict(shapes), hands.get(str(number), [])))
    return rounds


def with_hands(step: Step, counts: Sequence[int], lessons: Lessons) -> dict[str, Any]:
    """The data of a step with the hands that the host has counted in its round: of each option, shape or bin of
    numbers. Raises: NoClass."""
    predict, options, _ = prediction_of(step, lessons)
    answers = len(options)
    if predict is not None and predict.kind != "choice":
        answers = len(predict.shapes) or BINS
    if len(counts) != answers or not all(0 <= count <= MOST_PEOPLE for count in counts):
        raise NoClass(f"Hands: type a whole number from 0 to {MOST_PEOPLE} for each of the {answers} answers.")
    return {**step.data, HANDS: {**step.data.get(HANDS, {}), str(step.round): counts}}


def _bins(numbers: Sequence[float], predict: Prediction) -> list[int]:
    width = (predict.high - predict.low) / BINS
    counts = Counter(min(BINS - 1, int((number - predict.low) / width)) for number in numbers)
    return [counts[index] for index in range(BINS)]
