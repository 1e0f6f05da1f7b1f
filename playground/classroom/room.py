"""The room of a class, in one SQLite file of the outputs folder: its code, its people, its steps and their answers.

Everything is written at once (write-ahead log, synced), so that the end of the server loses nothing. A person is a
random token that only their browser has; here is its hash. Who is there right now is kept in memory only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeGuard

from playground.errors import PlaygroundError
from playground.runs.folder.files import private

FILE = "classroom.sqlite3"
LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"  # none that looks like a digit or like another one
CODE_LETTERS = 4
MOST_PEOPLE = 300
PRESENT_SECONDS = 20.0
BUSY_SECONDS = 10.0  # to wait for another process that writes
MOST_VALUE = 4000  # characters of an answer
MOST_NUMBER = 1e300
NO_ROOM = "There is no class here now. Your teacher opens it."
WRONG_CODE = "This is not the code of the class. It has four letters and stands on the screen in front."
NOT_IN = "You are not in the class yet. Enter the code that stands on the screen in front."
OVER = "This is closed: your teacher has gone on."
FULL = f"The class is full: {MOST_PEOPLE} browsers have joined it. The teacher can open a new class."
SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS people (person TEXT PRIMARY KEY, number INTEGER NOT NULL, joined REAL NOT NULL);
CREATE TABLE IF NOT EXISTS steps (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, data TEXT NOT NULL, state TEXT NOT NULL,
    round INTEGER NOT NULL, opened REAL NOT NULL);
CREATE TABLE IF NOT EXISTS answers (
    step INTEGER NOT NULL, item INTEGER NOT NULL, person TEXT NOT NULL, value TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (step, item, person)) WITHOUT ROWID;
"""

Kind = Literal["question", "vote", "game"]
State = Literal["open", "closed", "shown"]


class NoClass(PlaygroundError):
    """There is no room, or one is not in it, or what one answers is closed."""


class NotKept(NoClass):
    """The file cannot be read or written now: it may be possible later."""


class Step(NamedTuple):
    """What the class is asked. `data` is as its kind has it; `round`: of a question that is asked again, from 1."""

    id: int
    kind: Kind
    data: dict[str, Any]
    state: State
    round: int


class Given(NamedTuple):
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
        self.path = outputs / FILE
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._seen: dict[str, float] = {}  # person -> when, by the monotonic clock

    # --- the room

    def open(self) -> str:
        """A new room, empty: what the last class answered is deleted. Returns its code."""
        code = "".join(secrets.choice(LETTERS) for _ in range(CODE_LETTERS))
        with self._change(make=True) as write:
            for table in ("facts", "people", "steps", "answers"):
                write.execute(f"DELETE FROM {table}")
            _put(write, "code", code)
            _put(write, "opened", time.time())
        with self._lock:
            self._seen.clear()
        return code

    def close(self) -> None:
        """No one can join or answer any more, or is led anywhere. What was answered stays, for the host to read."""
        with self._change() as write:
            if code := self.code:
                _put(write, "last_code", code)
            _put(write, "code", "")
            _put(write, "location", None)

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

    def fact(self, name: str, otherwise: Any = None) -> Any:
        """Something kept of the room: `code`, `version`, `location`, `free`, `runs`, `at` (a step), `front` (a run)."""
        rows = self._read("SELECT value FROM facts WHERE name = ?", name)
        return json.loads(rows[0][0]) if rows else otherwise

    def set_fact(self, name: str, value: Any) -> None:
        """Keep something of the room, for everyone to see."""
        with self._change() as write:
            _put(write, name, value)

    def lead_to(self, location: Any) -> None:
        """Where those who follow go; without a class no one does."""
        if self.code and location != self.fact("location"):
            self.set_fact("location", location)

    @property
    def version(self) -> int:
        """Higher after every change that everyone sees: not after an answer."""
        return int(self.fact("version", 0))

    # --- people

    def join(self, code: str) -> str:
        """A new person's token, for their browser to keep. Raises: NoClass, WrongCode."""
        wanted = self.code
        if not wanted:
            raise NoClass(NO_ROOM)
        if not secrets.compare_digest(code.strip().upper().encode(errors="replace"), wanted.encode()):
            raise WrongCode(WRONG_CODE)
        token = secrets.token_urlsafe(24)
        with self._change(seen=False) as write:
            count = write.execute("SELECT COUNT(*) FROM people").fetchone()[0]
            if count >= MOST_PEOPLE:
                raise NoClass(FULL)
            write.execute("INSERT INTO people VALUES (?, ?, ?)", (hash_of(token), count, time.time()))
        self.see(hash_of(token))
        return token

    def person(self, token: str) -> str | None:
        """Who has this token; None who is not in this room."""
        person = hash_of(token)
        return person if token and self._read("SELECT 1 FROM people WHERE person = ?", person) else None

    def taking_part(self, token: str) -> str | None:
        """The same while the class is open."""
        return self.person(token) if token and self.code else None

    def numbers(self) -> dict[str, int]:
        """Of every person, how many had joined before."""
        return dict(self._read("SELECT person, number FROM people"))

    def see(self, person: str) -> None:
        """They are there."""
        with self._lock:
            self._seen[person] = time.monotonic()

    def present(self) -> int:
        """How many were there in the last seconds."""
        with self._lock:
            now = time.monotonic()
            return sum(now - at < PRESENT_SECONDS for at in self._seen.values())

    def joined(self) -> int:
        """How many have joined."""
        return int(self._read("SELECT COUNT(*) FROM people")[0][0]) if self.path.exists() else 0

    # --- steps

    def step(self) -> Step | None:
        """The step that everyone is at: the newest, unless the host has gone back to an earlier one."""
        asked = "SELECT id, kind, data, state, round FROM steps ORDER BY id = ? DESC, id DESC LIMIT 1"
        rows = self._read(asked, self.fact("at", 0))
        return _step(rows[0]) if rows else None

    def steps(self) -> list[Step]:
        """All of them, the oldest first."""
        return [_step(row) for row in self._read("SELECT id, kind, data, state, round FROM steps ORDER BY id")]

    def find(self, number: Any) -> Step:
        """Raises: NoClass, if there is no such step."""
        known = is_whole(number, 1, 2**53 - 1)
        rows = self._read("SELECT id, kind, data, state, round FROM steps WHERE id = ?", number) if known else []
        if not rows:
            raise NoClass("The class has no such step. Load the page again.")
        return _step(rows[0])

    def begin(self, kind: Kind, data: dict[str, Any]) -> Step:
        """Open a step; the one before it is closed. Raises: NoClass, without a room."""
        if not self.code:
            raise NoClass("Open the class first.")
        with self._change() as write:
            write.execute("UPDATE steps SET state = 'closed' WHERE state = 'open'")
            row = (kind, json.dumps(data), "open", 1, time.time())
            write.execute("INSERT INTO steps (kind, data, state, round, opened) VALUES (?, ?, ?, ?, ?)", row)
            _put(write, "at", 0)
            _put(write, "front", "")
        found = self.step()
        assert found is not None
        return found

    def back_to(self, step: Step) -> None:
        """Have everyone at an earlier step again, as it was left; the one that they leave is closed."""
        with self._change() as write:
            write.execute("UPDATE steps SET state = 'closed' WHERE state = 'open' AND id != ?", (step.id,))
            _put(write, "at", step.id)
            _put(write, "front", "")

    def set_state(self, step: Step, state: State, data: dict[str, Any] | None = None) -> None:
        """Close it, show what came of it, or open it again; `data`: with more in it."""
        with self._change() as write:
            write.execute(
                "UPDATE steps SET state = ?, data = ? WHERE id = ?", (state, json.dumps(data or step.data), step.id)
            )
            if state != "closed":
                _put(write, "front", "")  # the step is to be seen

    def ask_again(self, step: Step) -> None:
        """The same question in a new round."""
        with self._change() as write:
            write.execute("UPDATE steps SET state = 'open', round = round + 1 WHERE id = ?", (step.id,))
            _put(write, "front", "")

    # --- answers

    def answer(self, person: str, step: Step, item: int, value: Any) -> None:
        """Keep it: a person has one for each item, and the newest counts while the step is open. Raises: NoClass."""
        text = json.dumps(value, allow_nan=False)
        if len(text) > MOST_VALUE:
            raise NoClass("This answer is too long.")
        with self._change(seen=False) as write:
            row = write.execute("SELECT state, round FROM steps WHERE id = ?", (step.id,)).fetchone()
            if row is None or row[0] != "open" or (step.kind == "question" and row[1] != item):
                raise NoClass(OVER)
            write.execute(
                "INSERT INTO answers VALUES (?, ?, ?, ?, ?) ON CONFLICT (step, item, person) "
                "DO UPDATE SET value = excluded.value, at = excluded.at",
                (step.id, item, person, text, time.time()),
            )
        self.see(person)

    def answers(self, step: Step, person: str | None = None) -> list[Given]:
        """Of a step, in the order of items and people's tokens; of one person, if one is given."""
        asked = "SELECT item, person, value FROM answers WHERE step = ?" + (" AND person = ?" if person else "")
        rows = self._read(f"{asked} ORDER BY item, person", step.id, *([person] if person else []))
        return [Given(item, who, json.loads(value)) for item, who, value in rows]

    def answered(self, step: Step, item: int | None = None) -> int:
        """How many people have answered: this item, or any."""
        more, given = (" AND item = ?", [item]) if item is not None else ("", [])
        asked = f"SELECT COUNT(DISTINCT person) FROM answers WHERE step = ?{more}"
        return int(self._read(asked, step.id, *given)[0][0])

    # --- the file

    def end(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _open(self, make: bool) -> sqlite3.Connection | None:
        if self._connection is None and (make or self.path.exists()):
            if make:
                open(self.path, "ab", opener=private).close()  # for the server alone, as all that it keeps
            connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(SCHEMA)
            self._connection = connection
        return self._connection

    def _read(self, asked: str, *given: Any) -> list[Any]:
        with self._lock, _in_words():
            connection = self._open(make=False)
            return connection.execute(asked, given).fetchall() if connection else []

    @contextlib.contextmanager
    def _change(self, make: bool = False, seen: bool = True) -> Iterator[sqlite3.Connection]:
        """All of it, or nothing. `seen`: whether everyone is to hear of it."""
        with self._lock, _in_words():
            connection = self._open(make)
            if connection is None:
                raise NoClass(NO_ROOM)
            connection.execute("BEGIN IMMEDIATE")
            try:
                before = connection.execute("SELECT value FROM facts WHERE name = 'version'").fetchone()
                yield connection
                if seen:
                    _put(connection, "version", (int(before[0]) if before else 0) + 1)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise


@contextlib.contextmanager
def _in_words() -> Iterator[None]:
    """Raises: NotKept in the place of SQLite's errors and the system's: a full disk, a file that is none."""
    try:
        yield
    except (sqlite3.DatabaseError, OSError) as error:
        sentence = (
            f"The answers of the class cannot be kept in {FILE}: {error}. Free some space, or move that file away."
        )
        raise NotKept(sentence) from error


def hash_of(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()[:32]


def is_whole(value: Any, least: float = -math.inf, most: float = math.inf) -> TypeGuard[int]:
    """Whether something that was sent is a whole number from `least` to `most`."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def finite(value: Any) -> float | None:
    """A number of an answer; None if it is none."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < MOST_NUMBER
    return float(value) if good else None


def _step(row: Any) -> Step:
    return Step(row[0], row[1], json.loads(row[2]), row[3], row[4])


def _put(write: sqlite3.Connection, name: str, value: Any) -> None:
    write.execute(
        "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, json.dumps(value)),
    )
