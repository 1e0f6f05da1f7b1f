"""A time limit on a stranger's programs: a tokenizer's rules, a chat template, a model's configuration.

`limited` wraps what may not come to an end. A process of its own (`runs.end.watchdog`) keeps the time, since a loop
inside the interpreter can hold off everything in this one; it is started when it is first needed and ends with this
process. What ships with the playground is not limited. The workers and the model service say how an end is to be told;
in any other process `limited` does nothing. Knows no torch.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from playground.runs.end import watchdog
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog

SECONDS = 30.0
ANSWER_SECONDS = 20.0  # in the model service: before who asks gives it up for want of a sign of life
PROBE = "Review of the film: the 2nd half wasn't bad, " + "a" * 200  # a rule that runs away does so on a long word


class _Watch:
    """How this process is watched. `ending`: the watchdog's arguments, none where nobody watches."""

    def __init__(self) -> None:
        self.ending: list[str] = []
        self.kept_open: tuple[int, ...] = ()
        self.question: Any = None
        self.inside = False
        self.process: subprocess.Popen[bytes] | None = None

    def tell(self, message: dict[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", watchdog.__file__, str(os.getpid()), *self.ending],
                stdin=subprocess.PIPE, bufsize=0, pass_fds=self.kept_open, env={},
            )  # fmt: skip
        assert self.process.stdin is not None
        self.process.stdin.write(line)


_watch = _Watch()


def watch_run(run: RunDirectory, lock: IO[bytes]) -> None:
    """From now on, what does not come to an end ends the run with the reason `model`. The watchdog holds `lock` too, so
    that nobody takes the run for dead before it has said why."""
    _watch.ending, _watch.kept_open = ["run", str(run.path.resolve())], (lock.fileno(),)


def dismiss() -> None:
    """The run has told its end itself: the watchdog goes, and with it its hold on the lock."""
    process, _watch.process, _watch.ending, _watch.kept_open = _watch.process, None, [], ()
    if process is not None:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def watch_answers() -> None:
    """In the model service: what does not come to an end is the answer to the question."""
    _watch.ending = ["answer"]


def answering(question: Any) -> None:
    """In the model service: which question is being answered now."""
    _watch.question = question


@contextlib.contextmanager
def limited(what: str, folder: Path | str | None = None, seconds: float | None = None) -> Iterator[None]:
    """End this process if the body takes longer than `seconds`, by default what its kind of process has.

    Args:
        what: the beginning of a sentence such as "Cannot load the tokenizer in ...". folder: where the program comes
            from; what ships with the playground is not limited.
    """
    ours = folder is not None and Path(folder).is_relative_to(catalog.POCKET_MODELS)
    if not _watch.ending or _watch.inside or ours:
        yield
        return
    seconds = seconds or (ANSWER_SECONDS if _watch.ending == ["answer"] else SECONDS)
    message = f"{what}: it did not come to an end within {seconds:g} seconds."
    _watch.tell({"seconds": seconds, "message": message, "question": _watch.question})
    _watch.inside = True
    try:
        yield
    finally:
        _watch.inside = False
        with contextlib.suppress(OSError):
            _watch.tell({})
