"""The room of a class, in one file of the outputs folder (room_file.py): its code, its people, its steps and their
answers. A person is a random token that only their browser has; here is its hash. Who is there right now is kept in
memory only."""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from playground.ui.classroom.places import Places
from playground.ui.classroom.records import ClassLocation, Kind, State
from playground.ui.classroom.room_file import NO_ROOM, Damaged, NoClass, RoomFile, put

LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"  # none that looks like a digit or like another one
CODE_LETTERS = 4
MOST_PEOPLE = 300
PRESENT_SECONDS = 20.0
MOST_VALUE = 4000  # characters of an answer
MOST_NUMBER = 1e300
WRONG_CODE = "This is not the code of the class. It has four letters and stands on the screen in front."
NOT_IN = "You are not in the class yet. Enter the code that stands on the screen in front."
OVER = "This is closed: your teacher has gone on."
FULL = f"The class is full: {MOST_PEOPLE} browsers have joined it. The teacher can open a new class."
STEPS = "SELECT id, kind, data, state, round FROM steps"


class Step(NamedTuple):
    """What the class is asked. `data` is as its kind has it; `round`: of a question that is asked again, from 1."""

    id: int
    kind: Kind
    data: dict[str, Any]
    state: State
    round: int


class Answer(NamedTuple):
    """`item`: the round of a question, the number of a pair of texts; else 1."""

    item: int
    person: str
    value: Any


class WrongCode(NoClass):
    """A code that is not the room's."""


class Room:
    """All of it. Thread-safe; several processes may have the same file.

    Args:
        outputs: the folder; the file is made when a room is opened.
    """

    def __init__(self, outputs: Path) -> None:
        self.file = RoomFile(outputs)
        self._lock = threading.Lock()
        self.places = Places()
        self._seen: dict[str, float] = {}  # person -> when, by the monotonic clock

    # --- the room

    def open(self) -> str:
        """A new room, empty: what the last class answered is deleted. Returns its code."""
        try:
            return self._open()
        except Damaged:
            self.file.set_aside()
            return self._open()

    def _open(self) -> str:
        code = "".join(secrets.choice(LETTERS) for _ in range(CODE_LETTERS))
        with self.file.change(make=True) as write:
            for table in ("facts", "people", "steps", "answers"):
                write.execute(f"DELETE FROM {table}")
            put(write, "code", code)
            put(write, "opened", time.time())
        with self._lock:
            self._seen.clear()
        self.places = Places()
        return code

    def close(self) -> None:
        """No one can join or answer any more, or is led anywhere. What was answered stays, for the host to read."""
        with self.file.change() as write:
            if code := self.code:
                put(write, "last_code", code)
            put(write, "code", "")
            put(write, "location", None)

    def go_on(self) -> None:
        """Open again what was closed, as it was. Raises: NoClass, where nothing was."""
        code = self.code or self.fact("last_code", "")
        if not code:
            raise NoClass(NO_ROOM)
        self.set_fact("code", code)

    @property
    def code(self) -> str:
        """Four letters; "" while there is no room."""
        return str(self.fact("code", ""))

    def require_open(self) -> None:
        """Raises: NoClass, while no class is open."""
        if not self.code:
            raise NoClass(self.file.damaged or "Open the class first.")

    def fact(self, name: str, otherwise: Any = None) -> Any:
        """Something kept of the room: `code`, `version`, `location`, `free`, `runs`, `at` (a step), `front` (a run)."""
        rows = self.file.read("SELECT value FROM facts WHERE name = ?", name)
        if not rows:
            return otherwise
        return rows[0][0]

    def set_fact(self, name: str, value: Any) -> None:
        """Keep something of the room, for everyone to see."""
        with self.file.change() as write:
            put(write, name, value)

    def lead_to(self, location: ClassLocation | None) -> None:
        """Where those who follow go; without a class no one does."""
        place = vars(location) if location else None
        if self.code and place != self.fact("location"):
            self.set_fact("location", place)

    @property
    def version(self) -> int:
        """Higher after every change that everyone sees: not after an answer."""
        return int(self.fact("version", 0))

    # --- people

    def join(self, code: str) -> str:
        """A new person's token, for their browser to keep. Raises: NoClass, WrongCode."""
        right_code = self.code
        if not right_code:
            raise NoClass(self.file.damaged or NO_ROOM)
        if not secrets.compare_digest("".join(code.split()).upper().encode(errors="replace"), right_code.encode()):
            raise WrongCode(WRONG_CODE)
        token = secrets.token_urlsafe(24)
        with self.file.change(announce=False) as write:
            count = write.execute("SELECT COUNT(*) FROM people").fetchone()[0]
            if count >= MOST_PEOPLE:
                raise NoClass(FULL)
            write.execute("INSERT INTO people VALUES (?, ?, ?)", (hash_of(token), count, time.time()))
        self.see(hash_of(token))
        return token

    def person(self, token: str) -> str | None:
        """Who has this token; None who is not in this room."""
        person = hash_of(token)
        if token and self.file.read("SELECT 1 FROM people WHERE person = ?", person):
            return person
        return None

    def taking_part(self, token: str) -> str | None:
        """The same while the class is open."""
        if token and self.code:
            return self.person(token)
        return None

    def numbers(self) -> dict[str, int]:
        """Of every person, how many had joined before."""
        return dict(self.file.read("SELECT person, number FROM people"))

    def see(self, person: str) -> None:
        """They are there."""
        with self._lock:
            self._seen[person] = time.monotonic()

    def present(self) -> list[str]:
        """Who was there in the last seconds."""
        with self._lock:
            now = time.monotonic()
            return [person for person, at in self._seen.items() if now - at < PRESENT_SECONDS]

    def joined(self) -> int:
        """How many have joined."""
        return sum(number for (number,) in self.file.read("SELECT COUNT(*) FROM people"))

    # --- steps

    def step(self) -> Step | None:
        """The step that everyone is at: the newest, unless the host has gone back to an earlier one."""
        rows = self.file.read(f"{STEPS} ORDER BY id = ? DESC, id DESC LIMIT 1", self.fact("at", 0))
        if not rows:
            return None
        return Step(*rows[0])

    def steps(self) -> list[Step]:
        """All of them, the oldest first."""
        return [Step(*row) for row in self.file.read(f"{STEPS} ORDER BY id")]

    def find(self, number: int) -> Step:
        """Raises: NoClass, if there is no such step."""
        rows = self.file.read(f"{STEPS} WHERE id = ?", number)
        if not rows:
            raise NoClass("The class has no such step. Load the page again.")
        return Step(*rows[0])

    def begin(self, kind: Kind, data: dict[str, Any]) -> Step:
        """Open a step; the one before it is closed. Raises: NoClass, without a room."""
        self.require_open()
        with self.file.change() as write:
            write.execute("UPDATE steps SET state = 'closed' WHERE state = 'open'")
            row = (kind, json.dumps(data), "open", 1, time.time())
            write.execute("INSERT INTO steps (kind, data, state, round, opened) VALUES (?, ?, ?, ?, ?)", row)
            put(write, "at", 0)
            put(write, "front", "")
        step = self.step()
        assert step is not None
        return step

    def back_to(self, step: Step) -> None:
        """Have everyone at an earlier step again, as it was left; the one that they leave is closed."""
        with self.file.change() as write:
            write.execute("UPDATE steps SET state = 'closed' WHERE state = 'open' AND id != ?", (step.id,))
            put(write, "at", step.id)
            put(write, "front", "")

    def set_state(self, step: Step, state: State, data: dict[str, Any] | None = None) -> None:
        """Close it, show what came of it, or open it again; `data`: with more in it."""
        self.revise(step.id, lambda now: now._replace(state=state, data=data or now.data))

    def revise(self, number: int, revised: Callable[[Step], Step]) -> Step:
        """Change a step by what it is now, which another device of the host may have changed; returns it as it is then.
        What `revised` raises leaves it as it was."""
        with self.file.change() as write:
            new = revised(Step(*write.execute(f"{STEPS} WHERE id = ?", (number,)).fetchone()))
            write.execute(
                "UPDATE steps SET state = ?, data = ? WHERE id = ?", (new.state, json.dumps(new.data), number)
            )
            if new.state != "closed":
                put(write, "front", "")  # the step is to be seen
        return new

    def ask_again(self, step: Step) -> None:
        """The same question in a new round."""
        with self.file.change() as write:
            write.execute("UPDATE steps SET state = 'open', round = round + 1 WHERE id = ?", (step.id,))
            put(write, "front", "")

    # --- answers

    def answer(self, person: str, step: Step, item: int, value: Any) -> None:
        """Keep it: a person has one for each item, and the newest counts while the step is open. Raises: NoClass."""
        text = json.dumps(value, allow_nan=False)
        if len(text) > MOST_VALUE:
            raise NoClass("This answer is too long.")
        with self.file.change(announce=False) as write:
            row = write.execute("SELECT state, round FROM steps WHERE id = ?", (step.id,)).fetchone()
            if row is None or row[0] != "open" or (step.kind == "question" and row[1] != item):
                raise NoClass(OVER)
            write.execute(
                "INSERT INTO answers VALUES (?, ?, ?, ?, ?) ON CONFLICT (step, item, person) "
                "DO UPDATE SET value = excluded.value, at = excluded.at",
                (step.id, item, person, text, time.time()),
            )
        self.see(person)

    def answers(self, step: Step, person: str = "") -> list[Answer]:
        """Of a step, in the order of items and people's tokens; of one person, if one is given."""
        query = "SELECT item, person, value FROM answers WHERE step = ? AND ? IN (person, '') ORDER BY item, person"
        return [Answer(*row) for row in self.file.read(query, step.id, person)]

    def answered(self, step: Step, item: int = 0) -> int:
        """How many people have answered: this item, or any."""
        query = "SELECT COUNT(DISTINCT person) FROM answers WHERE step = ? AND ? IN (item, 0)"
        return sum(number for (number,) in self.file.read(query, step.id, item))

    def end(self) -> None:
        """Close the file."""
        self.file.end()


def hash_of(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()[:32]


def is_whole(value: Any, least: float = -math.inf, most: float = math.inf) -> TypeGuard[int]:
    """Whether something that was sent is a whole number from `least` to `most`."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def finite(value: Any) -> float | None:
    """A number of an answer; None if it is none."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < MOST_NUMBER:
        return float(value)
    return None
