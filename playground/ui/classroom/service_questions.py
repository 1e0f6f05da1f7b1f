"""What the desk asks the model service, which takes longer than a page waits for an answer: one question at a time, in
the background. The desk says how it goes."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from playground.errors import PlaygroundError, in_words
from playground.runs.model_service import ModelService
from playground.setup import describe
from playground.ui.classroom.room_file import NoClass

PATIENCE_SECONDS = 300.0
FIRST = "It takes about a minute."


class ServiceQuestions:
    """`doing`: what is asked for now, in words, and `about` which reward model; `problem`: why the last one failed."""

    def __init__(self, service: ModelService) -> None:
        self._service = service
        self.doing = self.about = self.problem = ""
        self._lock = threading.RLock()

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Within it `ask` may be called. Raises: NoClass, while something else is asked for."""
        with self._lock:
            if self.doing:
                raise NoClass(f"One thing after the other. {self.doing}")
            yield

    def ask(
        self,
        kind: str,
        question: dict[str, Any],
        doing: str,
        keep: Callable[[dict[str, Any]], None],
        fail: Callable[[], None] = lambda: None,
        about: str = "",
    ) -> None:
        """Ask, and `keep` the answer, or `fail`."""

        def work() -> None:
            began = time.monotonic()
            try:
                answer: dict[str, Any] = {}
                for answer in self._service.ask(kind, question, PATIENCE_SECONDS):
                    if answer.get("done"):
                        self.doing = f"{doing} {_so_far(answer['done'], answer['of'], time.monotonic() - began)}"
                keep(answer)
            except (PlaygroundError, OSError) as error:
                self.problem = in_words(error)
                fail()
            finally:
                self.doing = self.about = ""

        self.doing, self.about, self.problem = f"{doing} {FIRST}", about, ""
        threading.Thread(target=work, daemon=True).start()


def _so_far(done: int, of: int, seconds: float) -> str:
    left = ""
    if done < of:
        left = f", {describe.roughly(seconds / done * (of - done))} left"
    return f"{done} of {of} so far{left}."
