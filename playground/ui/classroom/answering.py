"""What a person of the class sends: an answer to a question, a vote on a pair, a reward for the game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playground.classroom import questions
from playground.classroom.room import Room, Step, is_whole
from playground.classroom.room_file import NoClass
from playground.lessons.loading import Lessons

MOST_ITEMS = 1_000_000  # rounds of a question, or pairs of a vote
Check = Callable[[str, Step, int, Any], Any]  # person, step, item, value -> the value as it is kept


class Answering:
    """Checks and keeps them. `checks`: of each kind of step."""

    def __init__(self, room: Room, lessons: Callable[[], Lessons]) -> None:
        self._room = room
        self.checks: dict[str, Check] = {
            "question": lambda person, step, item, value: questions.checked(value, step, lessons())
        }

    def keep(self, person: str, asked: dict[str, Any]) -> None:
        """Keep {step, item, value}. Raises: NoClass: it is over, or the answer is none."""
        self._room.answer(person, *self.check(person, asked))

    def check(self, person: str, asked: dict[str, Any]) -> tuple[Step, int, Any]:
        """The step, the item, and the value as it would be kept. Raises: NoClass, if the answer is none."""
        step, item = self._room.find(asked.get("step")), asked.get("item")
        if not is_whole(item, 0, MOST_ITEMS - 1):
            raise NoClass("An answer names the round or the pair that it is for.")
        if step.kind not in self.checks:
            raise NoClass("This step of the class takes no answers.")
        return step, item, self.checks[step.kind](person, step, item, asked.get("value"))
