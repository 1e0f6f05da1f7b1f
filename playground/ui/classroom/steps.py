"""What every kind of step of a class has, and what is sent to it: by the host, and by the people of the class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from playground.ui.auth.access import Caller
from playground.ui.classroom.records import ClassLedData, Kind
from playground.ui.classroom.room import Room, Step
from playground.ui.classroom.room_file import NoClass

MOST_QUERY = 600  # characters of an address
BEHIND = "The class is at another step by now. Look again."
Number = Annotated[int, Field(ge=0, le=1_000_000)]


class Sent(BaseModel):
    """What a page of the class sends. A field of another type counts as not sent."""

    model_config = ConfigDict(strict=True, frozen=True)

    @field_validator("*", mode="wrap")
    @classmethod
    def _or_default(cls, value: Any, validate: Any, info: Any) -> Any:
        try:
            return validate(value)
        except ValidationError:
            return cls.model_fields[info.field_name].get_default()


class SentAnswer(Sent):
    """An answer to a question, a vote on a pair, a reward for the game. `item`: which round or pair it is for."""

    step: Number = 0
    item: Number = 0
    value: Any = None


class DeskCommand(Sent):
    """What the host asks for: `do` is its name, the rest what it takes."""

    do: str = ""
    step: Number = 0
    lesson: str = ""
    what: str = ""
    ask: str = ""
    options: list[str] = []
    index: int | None = None
    recorded: bool = False
    request: str | None = None
    counts: list[int] = []
    free: bool = False
    query: str = ""
    update: Number | None = None
    text: Number | None = None
    played: Number | None = None
    run: str = ""
    source: str = ""
    against: str = ""
    count: int | None = None
    each: int | None = None
    briefs: list[str] = []
    means: str = ""
    group: int = 0
    judge: str = ""
    reward: str = ""
    out: bool = False
    rewards: list[str] = []


Handler = Callable[[DeskCommand, Caller], ClassLedData | None]  # None: it is done


class StepKind(ABC):
    """A kind of step: what the host can do with it, what may be answered, and what is seen of it."""

    kind: Kind

    def __init__(self, room: Room) -> None:
        self.room = room

    @property
    @abstractmethod
    def commands(self) -> dict[str, Handler]:
        """What the host can do, by name."""

    @abstractmethod
    def checked(self, person: str, step: Step, item: int, value: Any) -> Any:
        """An answer as it is kept. Raises: NoClass, with what to do."""

    @abstractmethod
    def seen(self, step: Step, person: str) -> dict[str, Any]:
        """Of `ClassStep`, what one person sees; "" is no one, as on the screen."""

    @abstractmethod
    def on_desk(self, step: Step) -> dict[str, Any]:
        """Of `ClassDesk`, what only the host sees."""

    def answered(self, step: Step) -> int:
        """How many people have answered."""
        return self.room.answered(step)

    def title(self, step: Step) -> str:
        """What a step is called in a list."""
        return str(step.data["title"])

    def current(self, command: DeskCommand) -> Step:
        """The step of this kind that the desk shows, if the class is there still. Raises: NoClass."""
        return current(self.room, command, self.kind)


def current(room: Room, command: DeskCommand, kind: Kind | None = None) -> Step:
    """The step that the desk shows: a slow desk does nothing to another one. Raises: NoClass."""
    step = room.step()
    if step is None or step.id != command.step or kind not in (None, step.kind):
        raise NoClass(BEHIND)
    return step
