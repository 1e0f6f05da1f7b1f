"""The model service in a thread of this process, which has imported everything: the real client and the real answers,
with pipes between them, and no process that imports PyTorch first."""

import functools
import os
import threading
from types import SimpleNamespace

from playground.runs.model_service import ModelService

IDLE_SECONDS = 60


class ServiceHere(ModelService):
    """Used like a `ModelService`; the fixture `service_here` puts it in the place of those that others make."""

    def _ensure_started(self):
        from playground.training.service import questions

        if self._process:
            return
        (lines, ask), (answers, say) = (
            (os.fdopen(theirs), os.fdopen(ours, "w")) for theirs, ours in (os.pipe(), os.pipe())
        )
        answering = threading.Thread(
            target=questions.serve, args=(lines, functools.partial(questions.say_to, say), IDLE_SECONDS), daemon=True
        )
        answering.start()
        threading.Thread(target=self._pump, args=(answers, self._answers), daemon=True).start()
        self._process = SimpleNamespace(stdin=ask, kill=ask.close, wait=answering.join, pid=os.getpid())
