"""What the host does with a class: open it, ask, close, show, ask again, start a run of a lesson, show a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playground.classroom import questions
from playground.classroom.room import Room, Step, is_whole
from playground.classroom.room_file import NoClass
from playground.errors import PlaygroundError
from playground.lessons.records import Lesson
from playground.runs import launcher
from playground.ui.auth.access import Caller
from playground.ui.feed.feed import Hub
from playground.ui.payloads.classroom import ClassLedData, ClassLocationData
from playground.ui.train.lesson_part import LessonStarts

MOST_QUERY = 600  # characters of an address
MOST_UPDATE = 1_000_000
DONE: ClassLedData = {"error": ""}
Command = Callable[[dict[str, Any], Caller], ClassLedData]


class Lead:
    """The commands, by name. Other parts of the class add theirs to `commands`."""

    def __init__(self, room: Room, hub: Hub, starts: LessonStarts) -> None:
        self.room, self.hub, self._starts = room, hub, starts
        self.commands: dict[str, Command] = {
            "open": self.open,
            "end": self.end,
            "go_on": self.go_on,
            "back": self.back,
            "ask": self.ask,
            "close": self.close,
            "reopen": self.reopen,
            "again": self.again,
            "show": self.show,
            "run": self.run,
            "stop_run": self.stop_run,
            "front": self.front,
            "counts": self.count,
            "free": self.free,
            "location": self.locate,
        }

    def act(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Do what `do` says. Raises: PlaygroundError, with a sentence for the host."""
        command = self.commands.get(str(asked.get("do")))
        if command is None:
            raise PlaygroundError("The desk does not know how to do this. Load the page again.")
        return command(asked, caller)

    def open(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """A new class, empty."""
        return {**DONE, "made": self.room.open()}

    def end(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """No one joins or answers any more."""
        self.room.close()
        return DONE

    def go_on(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """The class that was ended, with its code, people and steps."""
        self.room.go_on()
        return DONE

    def back(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """To an earlier step: {step}."""
        self.room.back_to(self.room.find(asked.get("step")))
        return DONE

    def ask(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Open a question: {lesson, what: prediction or transfer}, or {ask, options}."""
        if asked.get("lesson"):
            data = questions.of_lesson(self.hub.lessons, asked["lesson"], asked.get("what"))
        else:
            data = questions.typed(asked.get("ask"), asked.get("options"))
        self.room.begin("question", data)
        return DONE

    def close(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """No more answers to the open step."""
        self.room.set_state(self._open_step(asked), "closed")
        return DONE

    def reopen(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Answers to it again, beside those that there are."""
        self.room.set_state(self._open_step(asked), "open")
        return DONE

    def again(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """The same question once more, in a round of its own."""
        step = self._open_step(asked)
        if step.kind != "question":
            raise NoClass("Only a question can be asked again.")
        self.room.ask_again(step)
        return DONE

    def show(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Close it, and show what was answered; {run}: and what this run says of its lesson."""
        step, data = self._open_step(asked), None
        if run := asked.get("run"):
            self.hub.find(str(run))
            data = {**step.data, "run": str(run)}
        self.room.set_state(step, "shown", data)
        return DONE

    def run(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Start a run of a lesson, {lesson, index, request}, or with {recorded} take its recording, and have the class
        look at it."""
        self.room.require_open()
        lesson, index = self.hub.lessons.find(str(asked.get("lesson"))), asked.get("index")
        run, sentence = self._recording(lesson, index) if asked.get("recorded") is True else "", ""
        if not run:
            started = self._starts.start_lesson({**asked, "values": {}}, caller)
            if started["error"]:
                return {"error": started["error"]}
            run, sentence = started["run"], started.get("sentence", "")
        made = [one for one in self.room.fact("runs", []) if one["run"] != run]
        self.room.set_fact("runs", [*made, {"run": run, "lesson": lesson.name, "index": index}])
        self.room.lead_to(location_of(f"tab=train&run={run}", None, None))
        return {**DONE, "run": run, "sentence": sentence}

    def stop_run(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Stop a run of this class, {run}, or take it out of the queue."""
        launcher.stop(self.hub.find(self._made(asked.get("run"))))
        return DONE

    def front(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Show a run of this class on the screen in front, {run}, in the place of the step; "": the step again."""
        run = self._made(asked["run"]) if asked.get("run") else ""
        self.room.set_fact("front", run)
        if run:
            self.room.lead_to(location_of(f"tab=train&run={run}", None, None))
        return DONE

    def _made(self, run: Any) -> str:
        """One that was started or played at this desk. Raises: NoClass."""
        found = next((str(one["run"]) for one in self.room.fact("runs", []) if one["run"] == run), None)
        if found is None:
            raise NoClass("The class has no such run. Load the page again.")
        return found

    def _recording(self, lesson: Lesson, index: Any) -> str:
        """The id of the recording of exactly this run. Raises: NoClass, if there is none."""
        plain = is_whole(index, 0, len(lesson.runs) - 1)
        preset = lesson.runs[index].preset if plain and lesson.runs[index].twin else None
        found = next((run for run, folder in self.hub.recorded.items() if folder.name == preset), None)
        if found is None:
            raise NoClass("There is no recording of this run. Start it.")
        return found

    def count(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Keep the hands that were raised in this round, {step, counts}, where phones do not reach the page."""
        step = self._open_step(asked)
        if step.kind != "question":
            raise NoClass("Hands are counted for a question.")
        self.room.set_state(step, step.state, questions.with_hands(step, asked.get("counts"), self.hub.lessons))
        return DONE

    def free(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Whether the class may look around: {free}."""
        self.room.set_fact("free", asked.get("free") is True)
        return DONE

    def locate(self, asked: dict[str, Any], caller: Caller) -> ClassLedData:
        """Where the host is on the page: {query, update, text, played}; an empty query: nowhere that one follows."""
        query = str(asked.get("query") or "")[:MOST_QUERY]
        found = location_of(query, asked.get("update"), asked.get("text"), asked.get("played")) if query else None
        self.room.lead_to(found)
        return DONE

    def _open_step(self, asked: dict[str, Any]) -> Step:
        """The step that the desk shows, if the class is there still: a slow desk does nothing to another one."""
        step = self.room.step()
        if step is None or step.id != asked.get("step"):
            raise NoClass("The class is at another step by now. Look again.")
        return step


def location_of(query: str, update: Any, text: Any, played: Any = None) -> ClassLocationData:
    """Plain numbers, or none."""

    def number(value: Any) -> int | None:
        return value if is_whole(value, 0, MOST_UPDATE) else None

    return {"query": query, "update": number(update), "text": number(text), "played": number(played)}
