"""The process of the model service: `python -m playground.training.service.answering [--idle-seconds N]`.

It gives a sign of life every two seconds from its first moment on, while PyTorch is imported and while it computes; so
who asks knows a service that works for long from one that stands still. What it answers is `service`'s business. The
client is `playground.runs.model_service`.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from typing import IO, Any

ALIVE_SECONDS = 2.0


class Voice:
    """JSON lines to who asks; two threads may speak."""

    def __init__(self, out: IO[str]) -> None:
        self._out, self._lock = out, threading.Lock()

    def __call__(self, **message: Any) -> None:
        """Say one thing."""
        with self._lock:
            self._out.write(json.dumps(message) + "\n")
            self._out.flush()

    def go_on(self) -> None:
        """Signs of life, for ever."""
        while True:
            self(event="alive")
            time.sleep(ALIVE_SECONDS)


def main(arguments: list[str] | None = None) -> int:
    """Answer questions until idle for too long or until stdin closes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--idle-seconds", type=float, default=300)
    idle_seconds = parser.parse_args(arguments).idle_seconds
    say = Voice(sys.stdout)
    sys.stdout = sys.stderr  # whatever a library prints must not get between our lines
    threading.Thread(target=say.go_on, daemon=True).start()

    from playground.safety import redaction
    from playground.training.models import time_limit  # seconds of imports
    from playground.training.service import questions  # seconds of imports

    redaction.cover_streams()
    time_limit.begin(time_limit.ANSWER_SECONDS)
    return questions.serve(sys.stdin, say, idle_seconds)


if __name__ == "__main__":
    sys.exit(main())
