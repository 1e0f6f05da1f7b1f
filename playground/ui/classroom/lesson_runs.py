"""Runs of lessons that the class looks at: started or played at the desk, shown in front, stopped."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from playground.analysis.pace import all_left
from playground.errors import PlaygroundError
from playground.lessons.records import Lesson
from playground.runs import launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status
from playground.setup import describe
from playground.ui.auth.access import Caller
from playground.ui.classroom.records import ClassLedData, ClassLocation, ClassRun
from playground.ui.classroom.room import Room, Step, is_whole
from playground.ui.classroom.room_file import NoClass
from playground.ui.classroom.steps import DeskCommand, Handler
from playground.ui.feed.feed import Hub
from playground.ui.train.lesson_part import LessonStarts

RUNS = "runs"  # the fact of the room: {run, lesson, index}


class LessonRuns:
    """Knows the room, which keeps what was made, and the runs."""

    def __init__(self, room: Room, hub: Hub, starts: LessonStarts) -> None:
        self.room, self.hub, self._starts = room, hub, starts

    @property
    def commands(self) -> dict[str, Handler]:
        """What the host can do with them, by name."""
        return {"run": self.make, "stop_run": self.stop, "front": self.show_in_front}

    def make(self, command: DeskCommand, caller: Caller) -> ClassLedData:
        """Start a run of a lesson, {lesson, index, request}, or with {recorded} take its recording, and have the class
        look at it."""
        self.room.require_open()
        lesson = self.hub.lessons.find(command.lesson)
        answer: ClassLedData = {"error": ""}
        if command.recorded:
            answer["run"] = self._recording(lesson, command.index)
        else:
            started = self._starts.start_lesson({**command.model_dump(), "values": {}}, caller)
            if started["error"]:
                return {"error": started["error"]}
            answer |= {"run": started["run"], "sentence": started.get("sentence", "")}
        run = answer["run"]
        rows = [row for row in self._rows() if row["run"] != run]
        self.room.set_fact(RUNS, [*rows, {"run": run, "lesson": lesson.name, "index": command.index}])
        lead_to_run(self.room, run)
        return answer

    def stop(self, command: DeskCommand, caller: Caller) -> None:
        """Stop a run of this class, {run}, or take it out of the queue."""
        self._require_made(command.run)
        launcher.stop(self.hub.find(command.run))

    def show_in_front(self, command: DeskCommand, caller: Caller) -> None:
        """Show a run of this class on the screen in front, {run}, in the place of the step; "": the step again."""
        if command.run:
            self._require_made(command.run)
            lead_to_run(self.room, command.run)
        self.room.set_fact("front", command.run)

    def listed(self, step: Step | None) -> tuple[list[ClassRun], list[ClassRun]]:
        """Of the step's lesson, the oldest first, one that was deleted is none; and those of other lessons that go
        on."""
        lesson = None
        if step and step.kind == "question":
            lesson = step.data.get("lesson")
        own, going = [], []
        for row in self._rows():
            with contextlib.suppress(PlaygroundError):
                run = self._run(row)
                if row["lesson"] == lesson:
                    own.append(run)
                elif run.going:
                    going.append(run)
        return own, going

    def _run(self, row: dict[str, Any]) -> ClassRun:
        run = self.hub.find(row["run"])
        status, words = run.status(), ""
        if not status.ended:
            words = how_far(run, status)
        return ClassRun(
            run=row["run"],
            index=row["index"],
            state=status.state,
            ended=status.ended and status.state not in ("failed", "interrupted"),
            going=not status.ended,
            title=run.title(run.config()),
            words=words,
        )

    def _rows(self) -> list[dict[str, Any]]:
        return list(self.room.fact(RUNS, []))

    def _require_made(self, run: str) -> None:
        """Raises: NoClass, if it was not started or played at this desk."""
        if run not in [row["run"] for row in self._rows()]:
            raise NoClass("The class has no such run. Load the page again.")

    def _recording(self, lesson: Lesson, index: Any) -> str:
        """The id of the recording of exactly this run. Raises: NoClass, if there is none."""
        if is_whole(index, 0, len(lesson.runs) - 1) and lesson.runs[index].twin:
            for run, folder in self.hub.recorded.items():
                if folder.name == lesson.runs[index].preset:
                    return run
        raise NoClass("There is no recording of this run. Start it.")


def lead_to_run(room: Room, run: str) -> None:
    """Have those who follow the host look at a run."""
    room.lead_to(ClassLocation(f"tab=train&run={run}"))


def how_far(run: RunDirectory, status: Status) -> str:
    """Of a run that goes on: what it waits for, or where it is, and about how long that takes."""
    first = None
    if status.state == "queued":
        first = launcher.in_the_way(run.path.parent, queue.slot_held(run), besides=run)
    seconds = all_left([first.status() if first else status], time.time())
    about = ""
    if seconds:
        about = f", about {describe.duration(sum(seconds) / 2)} more"
    if first:
        return f"for \u201c{first.title(first.config())}\u201d{about}"
    if status.update:
        return f"update {status.update} of {status.num_updates}{about}"
    return status.phase
