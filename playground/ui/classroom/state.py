"""What a person of the class, the screen in front and the host's desk see, from the room."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Sequence

from playground.analysis.pace import all_left
from playground.classroom import questions
from playground.classroom.places import Place
from playground.classroom.room import Room, Step
from playground.errors import PlaygroundError
from playground.lessons.loading import LessonNotFound, Lessons
from playground.lessons.records import Lesson
from playground.lessons.reveal import reveal
from playground.runs import launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status
from playground.setup import describe
from playground.ui.feed.feed import Hub
from playground.ui.payloads.classroom import (
    ClassDeskData,
    ClassPlaceData,
    ClassQuestionData,
    ClassResultsData,
    ClassRunData,
    ClassStateData,
    ClassStepData,
    ClassStepRowData,
)
from playground.ui.payloads.lessons import PredictionData, RevealData
from playground.ui.train import lesson_part

PAGE = "class"
StepView = Callable[[Step, str, ClassStepData], None]
DeskView = Callable[[Step | None, ClassDeskData], None]


class ClassViews:
    """Builds them. Knows the room, the lessons and the runs."""

    def __init__(self, room: Room, hub: Hub) -> None:
        self.room, self.hub = room, hub
        self.steps: dict[str, StepView] = {}  # of other kinds: fills in what a person sees, "" on the screen
        self.desks: list[DeskView] = []  # and what the host does

    @property
    def lessons(self) -> Lessons:
        """All that can be asked from."""
        return self.hub.lessons

    def state(self, person: str | None, since: int | None, place: Place | None = None) -> ClassStateData:
        """Of one person; None has not joined, and sees only whether there is a class. `place`: where they are."""
        room = self.room
        version, is_open = room.version, bool(room.code)
        if person is None:
            return {"version": version, "is_open": is_open, "joined": False}
        room.see(person)
        self._note(person, place or Place())
        if since == version:
            return {"version": version, "is_open": is_open, "joined": True}
        step = self._step_now()
        lesson = self._lesson_at(step)
        return {
            "version": version,
            "is_open": is_open,
            "joined": True,
            "free": bool(room.fact("free", True)),
            "location": room.fact("location"),
            "step": self.step(step, person) if step else None,
            "lesson": lesson.name if lesson else "",
            "number": room.numbers().get(person, 0) + 1,
        }

    def _note(self, person: str, place: Place) -> None:
        """Keep where they are in the lesson that the class is at; of another one only whether help is asked for."""
        lesson = self._lesson_at(self._step_now()) if place.lesson else None
        inside = lesson is not None and lesson.name == place.lesson and place.step in lesson.steps
        self.room.places.note(person, place if inside else Place(help=place.help))

    def _lesson_at(self, step: Step | None) -> Lesson | None:
        return questions.lesson_of(step, self.lessons) if step and step.kind == "question" else None

    def _places(self, here: Sequence[str], lesson: Lesson | None) -> list[ClassPlaceData]:
        """Those who are stuck first."""
        name, steps = (lesson.name, lesson.steps) if lesson else ("", ())
        numbers = self.room.numbers()
        rows: list[ClassPlaceData] = [
            {"number": numbers[who] + 1, "step": at.step, "tries": at.tries, "minutes": minutes, "stuck": stuck}
            for who, at, minutes, stuck in self.room.places.of(here, name, steps)
            if who in numbers
        ]
        return sorted(rows, key=lambda row: (not row["stuck"], row["number"]))

    def desk(self, addresses: list[str], *, screen: bool) -> ClassDeskData:
        """What the host sees; on the screen in front without what is answered before it is shown."""
        room = self.room
        step, code = self._step_now(), room.code
        address = f"{addresses[0].rstrip('/')}/{PAGE}?code={code}" if addresses and code else ""
        item = step.round if step and step.kind == "question" else None
        here = room.present()
        shown: ClassDeskData = {
            "version": room.version,
            "code": code,
            "address": address,
            "addresses": [f"{one.rstrip('/')}/{PAGE}" for one in addresses],
            "qr": qr_rows(address) if address else [],
            "present": len(here),
            "joined": room.joined(),
            "answered": room.answered(step, item) if step else 0,
            "free": bool(room.fact("free", True)),
            "location": room.fact("location"),
            "step": self.step(step, "") if step else None,
            "front": str(room.fact("front", "")),
            "damaged": room.file.damaged,
            "over": not code and bool(room.fact("last_code", "")),
        }
        if not screen:
            shown["live"] = self.results(step) if step and step.kind == "question" else None
            shown["steps"] = [self._row(one) for one in room.steps()]
            shown["runs"], shown["going"] = self._runs(step)
            shown["places"] = self._places(here, self._lesson_at(step))
            shown["shown_run"] = str(step.data.get("run", "")) if step else ""
            for fill in self.desks:
                fill(step, shown)
        return shown

    def _step_now(self) -> Step | None:
        """The step that everyone is at; none, if it is of a lesson that is gone."""
        step = self.room.step()
        with contextlib.suppress(LessonNotFound):
            if step and step.kind == "question":
                questions.lesson_of(step, self.lessons)
            return step
        return None

    def step(self, step: Step, person: str) -> ClassStepData:
        """A step as one person sees it; "" is no one's, as on the screen."""
        mine = self.room.answers(step, person) if person else []
        shown: ClassStepData = {
            "id": step.id,
            "kind": step.kind,
            "state": step.state,
            "round": step.round,
            "mine": {str(answer.item): answer.value for answer in mine},
        }
        if step.kind == "question":
            shown["question"] = self.question(step)
            shown["results"] = self.results(step) if step.state == "shown" else None
        elif step.kind in self.steps:
            self.steps[step.kind](step, person, shown)
        return shown

    def question(self, step: Step) -> ClassQuestionData:
        """As it is asked. Raises: LessonNotFound."""
        predict, options, ask = questions.prediction_of(step, self.lessons)
        lesson = questions.lesson_of(step, self.lessons)
        form: PredictionData = (
            lesson_part.prediction_data(predict)
            if predict is not None
            else {**EMPTY, "ask": ask, "options": [{"say": say} for say in options]}
        )
        is_prediction = lesson is not None and predict is not None
        return {
            "title": lesson.title if lesson else "",
            "lesson": lesson.name if lesson and is_prediction else "",
            "situation": lesson.situation if lesson and is_prediction else "",
            "predict": form,
        }

    def results(self, step: Step) -> ClassResultsData:
        """What was answered, and what is so."""
        found = questions.rounds_of(step, self.room.answers(step), self.lessons)
        lesson = questions.lesson_of(step, self.lessons)
        last = lesson.transfer.options if lesson and step.data["what"] == "transfer" else ()
        right = next((at for at, option in enumerate(last) if option.right), None)
        told = self._reveal(step, lesson) if lesson and step.data["what"] == "prediction" else None
        return {
            "rounds": [one._asdict() for one in found],
            "right": told["held"] if told else right,
            "whys": [option.why for option in last],
            "reveal": told,
        }

    def _runs(self, step: Step | None) -> tuple[list[ClassRunData], list[ClassRunData]]:
        """Of its lesson, the oldest first, one that was deleted is none; and those of other lessons that go on."""
        own: list[ClassRunData] = []
        going: list[ClassRunData] = []
        for made in self.room.fact("runs", []):
            with contextlib.suppress(PlaygroundError):
                run = self.hub.find(made["run"])
                status = run.status()
                row: ClassRunData = {
                    "run": made["run"],
                    "index": made["index"],
                    "state": status.state,
                    "ended": status.ended and status.state not in ("failed", "interrupted"),
                    "going": not status.ended,
                    "title": run.title(run.config()),
                    "words": "" if status.ended else how_far(run, status),
                }
                if step and step.kind == "question" and made["lesson"] == step.data.get("lesson"):
                    own.append(row)
                elif not status.ended:
                    going.append(row)
        return own, going

    def _reveal(self, step: Step, lesson: Lesson) -> RevealData | None:
        """None without a run, or where it is gone or cannot be read: the answers are shown all the same."""
        if run_id := step.data.get("run"):
            with contextlib.suppress(PlaygroundError):
                return lesson_part.reveal_data(reveal(lesson, 0, self.hub.find(run_id)), lesson)
        return None

    def _row(self, step: Step) -> ClassStepRowData:
        return {
            "id": step.id,
            "kind": step.kind,
            "state": step.state,
            "title": self.title(step),
            "answered": self.room.answered(step),
        }

    def title(self, step: Step) -> str:
        """What a step is called in a list."""
        if step.kind != "question":
            return str(step.data.get("title", step.kind))
        try:
            lesson = questions.lesson_of(step, self.lessons)
        except LessonNotFound:
            return "A question of a lesson that is gone"
        return lesson.title if lesson else str(step.data["ask"])


EMPTY: PredictionData = {
    "ask": "",
    "kind": "choice",
    "options": [],
    "unit": "",
    "low": 0.0,
    "high": 0.0,
    "step": 1.0,
    "near": 0.0,
    "column": "",
    "shapes": [],
}


def how_far(run: RunDirectory, status: Status) -> str:
    """Of a run that goes on: what it waits for, or where it is, and about how long that takes."""
    first = None
    if status.state == "queued":
        first = launcher.in_the_way(run.path.parent, queue.slot_held(run), besides=run)
    looked_at = first.status() if first else status
    left = all_left([looked_at], time.time())
    about = f", about {describe.duration(sum(left) / 2)} more" if left else ""
    if first:
        return f"for \u201c{first.title(first.config())}\u201d{about}"
    if status.update:
        return f"update {status.update} of {status.num_updates}{about}"
    return status.phase


@functools.lru_cache(maxsize=8)  # desk and screen ask every few seconds
def qr_rows(address: str) -> list[str]:
    """The QR code of an address: "1" is dark, with the quiet zone of four squares that readers need."""
    import segno  # takes some time: only where a class is open

    found = segno.make(address, error="m", micro=False)
    return ["".join("1" if dark else "0" for dark in row) for row in found.matrix_iter(border=4)]
