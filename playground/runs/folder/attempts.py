"""What still counts of what the attempts of a run have written: a resumed run makes the updates after its checkpoint
again, and nothing is ever deleted from the files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from playground.runs.folder.records import EDIT, RESUMED, TRACE, Event


class Attempted(Protocol):
    """What an attempt wrote of an update."""

    @property
    def attempt(self) -> int: ...
    @property
    def update(self) -> int: ...


M = TypeVar("M", bound=Attempted)


class Resumption(NamedTuple):
    """An attempt that went on after an update, which the one before it had written down."""

    attempt: int
    update: int


def resumptions(events: Iterable[Event]) -> list[Resumption]:
    """Where attempts after the first one took the run up again."""
    return [Resumption(event.attempt, event.update) for event in events if event.kind == RESUMED]


def in_force(records: Iterable[M], resumed: Sequence[Resumption] = ()) -> list[M]:
    """The records that still count, in order: from the moment at which an attempt went on (`resumed`), not what earlier
    ones wrote of the updates that it makes again; nor their lines of an update that it has reached, or later."""
    current: list[M] = []
    for record in records:
        if any(again.attempt > record.attempt and again.update < record.update for again in resumed):
            continue
        while current and current[-1].attempt < record.attempt and current[-1].update >= record.update:
            current.pop()
        current.append(record)
    return current


def events_in_force(events: Iterable[Event]) -> list[Event]:
    """The events without those that a later attempt makes again: warnings, checkpoints and traces of repeated updates,
    and changes of settings, which it records as it applies them again."""
    events = list(events)
    resumed = resumptions(events)

    def superseded(event: Event) -> bool:
        later = [again.update for again in resumed if again.attempt > event.attempt]
        if event.kind == EDIT:  # after update n is before update n + 1, which is repeated
            return any(event.update >= update for update in later)
        return event.kind in ("warning", "checkpoint", TRACE) and any(event.update > update for update in later)

    return [event for event in events if not superseded(event)]
