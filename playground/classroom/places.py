"""Where the people of a class are in the lesson that it is at, as their browsers say, and who of them is stuck. It is
kept in memory only, without what they have answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

LONG_SECONDS = 180.0  # at a step while most are further
MANY_TRIES = 3  # at the task, in vain
TASK = "break"  # its step
Stuck = Literal["help", "tries", "long", ""]


class Place(NamedTuple):
    """The step of a lesson ("": at none), the tries at its task that were in vain, and whether help is asked for."""

    lesson: str = ""
    step: str = ""
    tries: int = 0
    help: bool = False


class PersonPlace(NamedTuple):
    """A person's place, for how long they have been at this step, and why they may be stuck."""

    person: str
    place: Place
    seconds: float
    stuck: Stuck


class Places:
    """Of everyone who has said so. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: dict[str, tuple[Place, float]] = {}  # since when at the step, by the monotonic clock

    def note(self, person: str, place: Place) -> None:
        """They are there now."""
        with self._lock:
            before, since = self._places.get(person, (place, time.monotonic()))
            moved = (before.lesson, before.step) != (place.lesson, place.step)
            self._places[person] = (place, time.monotonic() if moved else since)

    def clear(self) -> None:
        """No one has said anything yet."""
        with self._lock:
            self._places.clear()

    def of(self, people: Collection[str], lesson: str, steps: Sequence[str]) -> list[PersonPlace]:
        """Of those of `people` who are in this lesson or ask for help."""
        now = time.monotonic()
        with self._lock:
            found = {person: self._places[person] for person in people if person in self._places}
        inside = {one: steps.index(place.step) for one, (place, _) in found.items() if place.lesson == lesson != ""}
        return [
            PersonPlace(person, place, now - since, _stuck(person, place, now - since, inside))
            for person, (place, since) in found.items()
            if person in inside or place.help
        ]


def _stuck(person: str, place: Place, seconds: float, inside: dict[str, int]) -> Stuck:
    """`inside`: of everyone in the lesson, at which of its steps."""
    if place.help:
        return "help"
    if place.step == TASK and place.tries >= MANY_TRIES:
        return "tries"
    further = sum(step > inside[person] for step in inside.values())
    most_are_further = 2 * further > len(inside) - 1
    return "long" if seconds > LONG_SECONDS and most_are_further else ""
