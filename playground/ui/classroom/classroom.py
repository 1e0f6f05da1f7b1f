"""A class: what a person in it, the screen in front and the host's desk see of the room, what people answer, and what
the host does. Each kind of step (questions, votes, games) says the rest."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

from playground.errors import PlaygroundError
from playground.lessons.loading import LessonNotFound
from playground.lessons.records import Lesson
from playground.runs.model_service import ModelService
from playground.runs.spawning import Workers
from playground.ui.auth.access import Access, Caller
from playground.ui.classroom.games import Games
from playground.ui.classroom.lesson_runs import LessonRuns
from playground.ui.classroom.places import Place
from playground.ui.classroom.questions import Questions, lesson_of
from playground.ui.classroom.records import (
    ClassDesk,
    ClassLedData,
    ClassLocation,
    ClassStateData,
    ClassStep,
    ClassStepRow,
    Kind,
    State,
)
from playground.ui.classroom.room import Room, Step
from playground.ui.classroom.steps import MOST_QUERY, DeskCommand, Handler, SentAnswer, StepKind, current
from playground.ui.classroom.votes import Votes
from playground.ui.feed.feed import Hub
from playground.ui.train.lesson_part import LessonStarts

PAGE = "class"
DONE: ClassLedData = {"error": ""}
UNKNOWN = "The desk does not know how to do this. Load the page again."


class Classroom:
    """All of it. `spawn`: what starts workers; by default new processes."""

    def __init__(
        self, room: Room, hub: Hub, access: Access, service: ModelService, spawn: Workers | None = None
    ) -> None:
        self.room, self.hub = room, hub
        self.runs = LessonRuns(room, hub, LessonStarts(hub.outputs, access, hub.lessons, spawn))
        self.votes = Votes(room, hub, access, service, spawn)
        self.kinds: dict[Kind, StepKind] = {
            "question": Questions(room, hub),
            "vote": self.votes,
            "game": Games(room, hub.outputs, access, spawn),
        }
        self.commands: dict[str, Handler] = {
            "open": self.open,
            "end": lambda command, caller: room.close(),
            "go_on": lambda command, caller: room.go_on(),
            "back": lambda command, caller: room.back_to(room.find(command.step)),
            "close": lambda command, caller: self.set_state(command, "closed"),
            "reopen": lambda command, caller: self.set_state(command, "open"),
            "show": self.show,
            "free": lambda command, caller: room.set_fact("free", command.free),
            "location": self.locate,
            **self.runs.commands,
        }
        for kind in self.kinds.values():
            self.commands |= kind.commands

    # --- what the host does

    def act(self, command: DeskCommand, caller: Caller) -> ClassLedData:
        """Do what `do` says. Raises: PlaygroundError, with a sentence for the host."""
        if command.do not in self.commands:
            raise PlaygroundError(UNKNOWN)
        return self.commands[command.do](command, caller) or DONE

    def open(self, command: DeskCommand, caller: Caller) -> ClassLedData:
        """A new class, empty."""
        return {**DONE, "made": self.room.open()}

    def set_state(self, command: DeskCommand, state: State) -> None:
        """Close the step, or take answers to it again, beside those that there are: {step}."""
        self.room.set_state(current(self.room, command), state)

    def show(self, command: DeskCommand, caller: Caller) -> None:
        """Close the step, and show what was answered: {step}; {run}: and what this run says of its lesson."""
        step = current(self.room, command)
        data = dict(step.data)
        if command.run and self.hub.find(command.run):
            data["run"] = command.run
        self.room.set_state(step, "shown", data)

    def locate(self, command: DeskCommand, caller: Caller) -> None:
        """Where the host is on the page: {query, update, text, played}; an empty query: nowhere that one follows."""
        place = None
        if command.query:
            place = ClassLocation(command.query[:MOST_QUERY], command.update, command.text, command.played)
        self.room.lead_to(place)

    # --- what people answer

    def keep(self, person: str, sent: SentAnswer) -> None:
        """Keep an answer. Raises: NoClass: it is over, or the answer is none."""
        step = self.room.find(sent.step)
        self.room.answer(person, step, sent.item, self.check(person, sent))

    def check(self, person: str, sent: SentAnswer) -> Any:
        """An answer as it would be kept. Raises: NoClass, if it is none."""
        step = self.room.find(sent.step)
        return self.kinds[step.kind].checked(person, step, sent.item, sent.value)

    # --- what is seen

    def state(self, person: str | None, since: int | None, place: Place) -> ClassStateData:
        """Of one person; None has not joined, and sees only whether there is a class. `place`: where they are."""
        room = self.room
        state: ClassStateData = {"version": room.version, "is_open": bool(room.code), "joined": person is not None}
        if person is None:
            return state
        room.see(person)
        step = self._step_now()
        lesson = self._lesson_at(step)
        inside = lesson is not None and lesson.name == place.lesson and place.step in lesson.steps
        if not inside:
            place = Place(help=place.help)
        room.places.note(person, place)
        if since == state["version"]:
            return state
        return {
            **state,
            "free": room.fact("free", True),
            "location": room.fact("location"),
            "step": self.step(step, person) if step else None,
            "lesson": lesson.name if lesson else "",
            "number": room.numbers().get(person, 0) + 1,
        }

    def desk(self, addresses: list[str], *, screen: bool) -> ClassDesk:
        """What the host sees; on the screen in front without what is answered before it is shown."""
        room = self.room
        step, code, here = self._step_now(), room.code, room.present()
        pages = [f"{address.rstrip('/')}/{PAGE}" for address in addresses]
        address, qr = "", []
        if pages and code:
            address = f"{pages[0]}?code={code}"
            qr = qr_rows(address)
        desk = ClassDesk(
            version=room.version,
            code=code,
            address=address,
            addresses=pages,
            qr=qr,
            present=len(here),
            joined=room.joined(),
            answered=self.kinds[step.kind].answered(step) if step else 0,
            free=room.fact("free", True),
            location=room.fact("location"),
            step=self.step(step, "") if step else None,
            front=room.fact("front", ""),
            damaged=room.file.damaged,
            over=not code and room.fact("last_code", "") != "",
        )
        if screen:
            return desk
        desk.steps = [self._row(step) for step in room.steps()]
        desk.runs, desk.going = self.runs.listed(step)
        numbers = {person: number for person, number in room.numbers().items() if person in here}
        lesson = self._lesson_at(step)
        name = ""
        steps: tuple[str, ...] = ()
        if lesson:
            name, steps = lesson.name, lesson.steps
        desk.places = room.places.of(numbers, name, steps)
        if step:
            desk.shown_run = step.data.get("run", "")
            vars(desk).update(self.kinds[step.kind].on_desk(step))
        return desk

    def step(self, step: Step, person: str) -> ClassStep:
        """A step as one person sees it; "" is no one's, as on the screen."""
        own_answers = {}
        if person:
            own_answers = {str(answer.item): answer.value for answer in self.room.answers(step, person)}
        view = self.kinds[step.kind].seen(step, person)
        return ClassStep(step.id, step.kind, step.state, step.round, own_answers, **view)

    def _step_now(self) -> Step | None:
        """The step that everyone is at; none, if it is of a lesson that is gone."""
        step = self.room.step()
        with contextlib.suppress(LessonNotFound):
            self._lesson_at(step)
            return step
        return None

    def _lesson_at(self, step: Step | None) -> Lesson | None:
        if step:
            return lesson_of(step, self.hub.lessons)
        return None

    def _row(self, step: Step) -> ClassStepRow:
        title = self.kinds[step.kind].title(step)
        return ClassStepRow(step.id, step.kind, step.state, title, self.room.answered(step))


@functools.lru_cache(maxsize=8)  # desk and screen ask every few seconds
def qr_rows(address: str) -> list[str]:
    """The QR code of an address: "1" is dark, with the quiet zone of four squares that readers need."""
    import segno  # takes some time: only where a class is open

    code = segno.make(address, error="m", micro=False)
    return ["".join("1" if dark else "0" for dark in row) for row in code.matrix_iter(border=4)]
