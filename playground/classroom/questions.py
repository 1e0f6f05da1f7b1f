"""A question of a class: the prediction or the last question of a lesson, or one that the host has typed. What may be
answered, and what the answers come to; never whose they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from playground.classroom.room import MOST_PEOPLE, Given, Step, finite, is_whole
from playground.classroom.room_file import NoClass
from playground.errors import PlaygroundError
from playground.lessons.loading import Lessons
from playground.lessons.records import Lesson, Prediction

MOST_OPTIONS, MOST_ASK, MOST_SAY = 6, 240, 140  # of a typed question
BINS = 10  # of a histogram of numbers
HANDS = "hands"  # of a step's data: round -> hands for each answer
CHOOSE = "Choose one of the answers."


class WrongQuestion(PlaygroundError):
    """A typed question that cannot be asked."""


class Round(NamedTuple):
    """What was answered in one round. `counts`: of each option, or of each bin of numbers; `hands`: of each answer, as
    the host has counted them in the room."""

    answered: int
    counts: list[int]
    numbers: list[float]
    shapes: dict[str, int]
    hands: list[int]


def of_lesson(lessons: Lessons, name: Any, what: Any) -> dict[str, Any]:
    """The data of a step: the `prediction` of a lesson, or its `transfer` question. Raises: LessonNotFound, ..."""
    return {"lesson": lessons.find(str(name)).name, "what": "transfer" if what == "transfer" else "prediction"}


def typed(ask: Any, options: Any) -> dict[str, Any]:
    """The data of a step that the host has typed. Raises: WrongQuestion."""
    ask = ask.strip() if isinstance(ask, str) else ""
    given = options if isinstance(options, list) else []
    says = [say.strip() for say in given if isinstance(say, str) and say.strip()]
    if not ask or len(ask) > MOST_ASK:
        raise WrongQuestion(f"Question: type one of at most {MOST_ASK} characters.")
    if not 2 <= len(says) <= MOST_OPTIONS or any(len(say) > MOST_SAY for say in says):
        raise WrongQuestion(f"Answers: type 2 to {MOST_OPTIONS}, one in a line, of at most {MOST_SAY} characters.")
    return {"ask": ask, "options": says, "what": "typed"}


def prediction_of(step: Step, lessons: Lessons) -> tuple[Prediction | None, list[str], str]:
    """What is asked: the lesson's prediction or None, the options in words, and the question."""
    if step.data["what"] == "typed":
        return None, list(step.data["options"]), step.data["ask"]
    lesson = lessons.find(step.data["lesson"])
    if step.data["what"] == "transfer":
        return None, [option.say for option in lesson.transfer.options], lesson.transfer.ask
    return lesson.predict, [option.say for option in lesson.predict.options], lesson.predict.ask


def lesson_of(step: Step, lessons: Lessons) -> Lesson | None:
    """The lesson that a question is of."""
    return lessons.find(step.data["lesson"]) if step.data.get("lesson") else None


def checked(value: Any, step: Step, lessons: Lessons) -> Any:
    """An answer as it is kept. Raises: NoClass, with what to do."""
    predict, options, _ = prediction_of(step, lessons)
    value = value if isinstance(value, dict) else {}
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


def rounds_of(step: Step, answers: Sequence[Given], lessons: Lessons) -> list[Round]:
    """What was answered in each round so far."""
    predict, options, _ = prediction_of(step, lessons)
    return [
        _round(
            [answer.value for answer in answers if answer.item == number],
            predict,
            len(options),
            step.data.get(HANDS, {}).get(str(number), []),
        )
        for number in range(1, step.round + 1)
    ]


def with_hands(step: Step, counts: Any, lessons: Lessons) -> dict[str, Any]:
    """The data of a step with the hands that the host has counted in its round: of each option, shape or bin of
    numbers. Raises: WrongQuestion."""
    predict, options, _ = prediction_of(step, lessons)
    answers = len(options) or (len(predict.shapes) if predict is not None and predict.kind == "curve" else BINS)
    given = counts if isinstance(counts, list) else []
    good = all(is_whole(hands, 0, MOST_PEOPLE) for hands in given)
    if len(given) != answers or not good:
        raise WrongQuestion(f"Hands: type a whole number from 0 to {MOST_PEOPLE} for each of the {answers} answers.")
    return {**step.data, HANDS: {**step.data.get(HANDS, {}), str(step.round): given}}


def _round(values: Sequence[dict[str, Any]], predict: Prediction | None, options: int, hands: list[int]) -> Round:
    counted = Counter(value["choice"] for value in values if "choice" in value)
    numbers = sorted(value["number"] for value in values if "number" in value)
    counts = [counted[index] for index in range(options)] if options else _bins(numbers, predict) if numbers else []
    shapes = Counter(str(value["shape"]) for value in values if "shape" in value)
    return Round(len(values), counts, numbers, dict(shapes), hands)


def _bins(numbers: Sequence[float], predict: Prediction | None) -> list[int]:
    assert predict is not None
    width = (predict.high - predict.low) / BINS
    found = Counter(min(BINS - 1, int((number - predict.low) / width)) for number in numbers)
    return [found[index] for index in range(BINS)]
