"""The SQLite file of a class. Everything is written at once (write-ahead log, synced), so that the end of the server
loses nothing; several processes may have it open."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playground.errors import PlaygroundError
from playground.runs.folder.files import private

FILE = "classroom.sqlite3"
BUSY_SECONDS = 10.0  # to wait for another process that writes
NOT_KEPT = f"The answers of the class cannot be kept in {FILE}: {{}}. Free some space, or move that file away."
DAMAGED = (
    f"What the last class has answered is lost: {FILE} is damaged ({{}}). Open a new class, which people join anew; "
    f"the damaged file is then kept as {FILE}.damaged."
)
NO_ROOM = "There is no class here now. Your teacher opens it."
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


class NoClass(PlaygroundError):
    """There is no room, or one is not in it, or what is sent or asked for is not for it."""


class NotKept(NoClass):
    """The file cannot be read or written now: it may be possible later."""


class Damaged(NotKept):
    """What the file has kept is lost, as far as SQLite can tell."""


class RoomFile:
    """Thread-safe.

    Args:
        outputs: the folder; the file is made with the first change that asks for it.
    """

    def __init__(self, outputs: Path) -> None:
        self.path = outputs / FILE
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._damaged: tuple[Any, str] = None, ""  # which file, and the sentence for it

    @property
    def damaged(self) -> str:
        """What the host is to know of a file that is damaged; "" where it is whole. It reads as if there were none."""
        which, sentence = self._damaged
        if which and which == self._which():
            return sentence
        return ""

    def _which(self) -> Any:
        with contextlib.suppress(FileNotFoundError):
            facts = os.stat(self.path)
            return facts.st_ino, facts.st_size, facts.st_mtime_ns
        return None

    def set_aside(self) -> None:
        """Move a damaged file out of the way; it is kept beside."""
        with self._held():
            for ending in ("", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.replace(f"{self.path}{ending}", f"{self.path}.damaged{ending}")

    def end(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _open(self, make: bool) -> sqlite3.Connection | None:
        if self.damaged:
            raise Damaged(self.damaged)
        if self._connection is None and (make or self.path.exists()):
            if make:
                open(self.path, "ab", opener=private).close()  # for the server alone, as all that it keeps
            connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            connection.row_factory = _row
            connection.text_factory = lambda text: text.decode(errors="replace")
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if verdict != "ok":
                raise sqlite3.DatabaseError(verdict)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(SCHEMA)
            self._connection = connection
        return self._connection

    def read(self, query: str, *values: Any) -> list[Any]:
        """The rows of a query, `value` and `data` as what their JSON says; none where there is no file."""
        with contextlib.suppress(Damaged), self._held():
            connection = self._open(make=False)
            if connection:
                return connection.execute(query, values).fetchall()
            return []
        return []

    @contextlib.contextmanager
    def change(self, make: bool = False, announce: bool = True) -> Iterator[sqlite3.Connection]:
        """All of it, or nothing. `announce`: whether everyone is to hear of it."""
        with self._held():
            connection = self._open(make)
            if connection is None:
                raise NoClass(NO_ROOM)
            connection.execute("BEGIN IMMEDIATE")
            try:
                before = connection.execute("SELECT value FROM facts WHERE name = 'version'").fetchone()
                yield connection
                if announce:
                    put(connection, "version", (int(before[0]) if before else 0) + 1)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """Raises: NotKept in the place of SQLite's errors and the system's, as on a full disk; Damaged."""
        with self._lock:
            try:
                yield
            except (sqlite3.DatabaseError, OSError) as error:
                if type(error) is not sqlite3.DatabaseError:  # those of its subclasses come from elsewhere
                    raise NotKept(NOT_KEPT.format(error)) from error
                self.end()
                self._damaged = self._which(), DAMAGED.format(error)
                raise Damaged(self.damaged) from error


def _row(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """What is kept as JSON is read. Raises: DatabaseError, where it is none."""
    try:
        columns = [column[0] for column in cursor.description]
        return tuple(
            json.loads(cell) if name in ("value", "data") else cell for name, cell in zip(columns, row, strict=True)
        )
    except (TypeError, ValueError) as error:
        raise sqlite3.DatabaseError(f"a value in it is none: {error}") from None


def put(write: sqlite3.Connection, name: str, value: Any) -> None:
    """Keep a fact of the room."""
    write.execute(
        "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, json.dumps(value)),
    )
