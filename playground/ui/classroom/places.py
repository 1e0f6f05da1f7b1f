"""Where the people of a class are in the lesson that it is at, as their browsers say, and who of them is stuck. It is
kept in memory only, without what they have answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from playground.ui.classroom.records import ClassPlace, Stuck

LONG_SECONDS = 180.0  # at a step while most are further
MANY_TRIES = 3  # at the task, in vain
TASK = "break"  # its step


class Place(NamedTuple):
    """The step of a lesson ("": at none), the tries at its task that were in vain, and whether help is asked for;
    `since` when at this step, by the monotonic clock."""

    lesson: str = ""
    step: str = ""
    tries: int = 0
    help: bool = False
    since: float = 0.0


class Places:
    """Of everyone who has said so. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: dict[str, Place] = {}

    def note(self, person: str, place: Place) -> None:
        """They are there now."""
        with self._lock:
            before = self._places.get(person, Place())
            since = time.monotonic()
            if (before.lesson, before.step) == (place.lesson, place.step):
                since = before.since
            self._places[person] = place._replace(since=since)

    def of(self, numbers: Mapping[str, int], lesson: str, steps: Sequence[str]) -> list[ClassPlace]:
        """Those of the people, each with a number, who are in this lesson or ask for help; who is stuck first."""
        now = time.monotonic()
        with self._lock:
            places = {person: self._places[person] for person in numbers if person in self._places}
        reached = [steps.index(place.step) for place in places.values() if place.lesson == lesson != ""]
        rows = []
        for person, place in places.items():
            inside = place.lesson == lesson != ""
            if inside or place.help:
                further = 0
                if inside:
                    further = sum(step > steps.index(place.step) for step in reached)
                seconds = now - place.since
                stuck = _stuck(place, seconds, most_are_further=2 * further > len(reached) - 1)
                rows.append(ClassPlace(numbers[person] + 1, place.step, place.tries, int(seconds / 60), stuck))
        return sorted(rows, key=lambda row: (not row.stuck, row.number))


def _stuck(place: Place, seconds: float, most_are_further: bool) -> Stuck:
    if place.help:
        return "help"
    if place.step == TASK and place.tries >= MANY_TRIES:
        return "tries"
    if seconds > LONG_SECONDS and most_are_further:
        return "long"
    return ""
