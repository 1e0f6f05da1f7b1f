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
            stays = (before.lesson, before.step) == (place.lesson, place.step)
            self._places[person] = place._replace(since=before.since if stays else time.monotonic())

    def of(self, people: Collection[str], lesson: str, steps: Sequence[str]) -> list[tuple[str, Place, int, Stuck]]:
        """Of those of `people` who are in this lesson or ask for help: for how many minutes at this step, and why they
        may be stuck."""
        now = time.monotonic()
        with self._lock:
            places = {person: self._places.get(person, Place()) for person in people}
        reached = {person: steps.index(at.step) for person, at in places.items() if at.lesson == lesson != ""}
        return [
            (person, place, int((now - place.since) / 60), _stuck(person, place, now, reached))
            for person, place in places.items()
            if person in reached or place.help
        ]


def _stuck(person: str, place: Place, now: float, reached: dict[str, int]) -> Stuck:
    """`reached`: of everyone in the lesson, which of its steps."""
    if place.help:
        return "help"
    if place.step == TASK and place.tries >= MANY_TRIES:
        return "tries"
    further = sum(step > reached[person] for step in reached.values())
    return "long" if now - place.since > LONG_SECONDS and 2 * further > len(reached) - 1 else ""
