"""Limits of time and memory on a stranger's programs: a tokenizer's rules, a chat template, a model's configuration.

`limited` wraps what may not come to an end, or may swell. A process of its own (`runs.end.watchdog`) keeps the time and
looks at the memory, since a loop inside the interpreter can hold off everything in this one; it is started when it is
first needed and ends with this process. What ships with the playground is not limited. The workers and the model
service say how an end is to be told; in any other process nothing is limited. Knows no torch.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playground.errors import ModelNotFound
from playground.runs.end import watchdog
from playground.runs.folder import vitals
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog

SECONDS = 30.0
ANSWER_SECONDS = 20.0  # in the model service: before who asks gives it up for want of a sign of life
MORE_BYTES = 1_500_000_000  # than the process held before; the largest tokenizer's file, 64 MB, takes 0.9 GB
PANIC = "PanicException"
PROBE = "Review of the film: the 2nd half wasn't bad, " + "a" * 200  # a rule that runs away does so on a long word


class _Guard:
    """The watchdog of this process, once it was needed. `note`: where it leaves what it says of a run (attempt
    `attempt`); without one it answers the question. `on`: this process is one that is watched."""

    def __init__(self, on: bool = False, note: Path | None = None, attempt: int = 1) -> None:
        self.on, self.note, self.attempt = on, note, attempt
        self.question: Any = None
        self.inside = False
        self.process: subprocess.Popen[bytes] | None = None

    def words(self, message: str) -> str:
        """What the watchdog is to say, as who reads it wants it."""
        if self.note is None:
            return json.dumps({"id": self.question, "event": "error", "message": message})
        return vitals.Killed(attempt=self.attempt, reason="model", message=message).model_dump_json()

    def tell(self, **begun: Any) -> None:
        if self.process is None or self.process.poll() is not None:
            note = [] if self.note is None else [str(self.note.resolve())]
            command = [sys.executable, "-I", "-S", watchdog.__file__, str(os.getpid()), *note]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, bufsize=0, env={})
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(begun).encode() + b"\n")


_guard = _Guard()


def watch_run(run: RunDirectory, attempt: int) -> None:
    """From now on, what does not come to an end ends the run with the reason `model`."""
    global _guard
    _guard = _Guard(True, vitals.killed_path(run.path), attempt)


def watch_answers() -> None:
    """In the model service: what does not come to an end is the answer to the question."""
    global _guard
    _guard = _Guard(True)


def dismiss() -> None:
    """Nothing is limited any more, and the watchdog goes."""
    global _guard
    process, _guard = _guard.process, _Guard()
    if process is not None:
        process.communicate()  # its stdin closes


def answering(question: Any) -> None:
    """In the model service: which question is being answered now."""
    _guard.question = question


@contextlib.contextmanager
def limited(what: str, folder: Path | str | None = None, seconds: float | None = None) -> Iterator[None]:
    """End this process if the body takes longer than `seconds`, by default what its kind of process has, or takes more
    than MORE_BYTES of memory.

    Args:
        what: the beginning of a sentence such as "Cannot load the tokenizer in ...". folder: where the program comes
            from; what ships with the playground is not limited.

    Raises:
        ModelNotFound: a library in Rust has broken off, as with a regular expression that runs away.
    """
    ours = folder is not None and Path(folder).is_relative_to(catalog.POCKET_MODELS)
    if not _guard.on or _guard.inside or ours:
        with panics_told(what):
            yield
        return
    seconds = seconds or (SECONDS if _guard.note else ANSWER_SECONDS)
    held = watchdog.resident_bytes(str(os.getpid()))
    said = {
        "late": f"it did not come to an end within {seconds:g} seconds.",
        "large": f"it took more than {MORE_BYTES / 1e9:g} GB of memory.",
        "dead": "it ended the process that read it.",
    }
    words = {name: _guard.words(f"{what}: {why}") for name, why in said.items()}
    _guard.tell(seconds=seconds, bytes=held and held + MORE_BYTES, **words)
    _guard.inside = True
    try:
        with panics_told(what):
            yield
    finally:
        _guard.inside = False
        with contextlib.suppress(OSError):
            _guard.tell()


@contextlib.contextmanager
def panics_told(what: str) -> Iterator[None]:
    """What a library in Rust raises where it breaks off, which no `except Exception` catches -> a sentence."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != PANIC:
            raise
        raise ModelNotFound(f"{what}: {(str(error).splitlines() or ['it broke off'])[0][:200]}.") from None
