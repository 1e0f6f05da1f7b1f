"""How often, and how many times at once, one address may ask: one limiter for everything that is counted.

Pure bookkeeping, thread-safe and of bounded size; knows nothing of requests. `access` holds it, `middleware` asks too.
"""

from __future__ import annotations

import collections
import contextlib
import threading
import time
from collections.abc import Iterator

SECONDS = 60.0
MAX_KEYS = 50_000
PER_MINUTE = {
    "wrong tokens": 10,
    "questions": 60,  # starts, uploads and questions to models
    "form": 600,  # what the form asks while it is filled in, and what is done to their own runs
    "class": 3_000,  # joins, answers and votes: a hundred people behind one address vote on a pair every two seconds
    "answers of one person": 120,
    "questions of one person": 6,  # of a class, to models
    # Of 279,841 codes that there are, less than one in a hundred is tried in a lesson of 90 minutes.
    "wrong codes": 30,
    # Whatever is called, also in vain. A class may be behind one address: a hundred pages ask some 40 a minute each.
    "calls": 1_500,  # with a body, of Gradio
    "views": 12_000,  # handlers and routes of ours
}
AT_ONCE = {
    # Questions to models that are answered or wait, so that others find one of `model_service.MOST_QUESTIONS` places.
    "answers": 8,
    # A page holds two streams and a third while it asks something, six while it loads. A whole class may be behind one
    # address: a school's on a Space, Docker's or a proxy's in a classroom.
    "requests": 250,
    # Each may announce a whole file, for which room is then kept until it has come: a tenth of all there is.
    "uploads": 10,
    # Functions that programs have called by name and that are at work; no request need be open meanwhile. Each takes
    # one of the 40 places of Gradio's queue, and most of them read a whole run.
    "programs": 12,
    # Programs that wait for a run: they take such a place for long, and questions wait there too.
    "followers": 4,
    "replays": 2,  # that are made or wait: each takes up to half a minute, and one is made after the other
    "all followers": 20,  # of all addresses together
}


class Limiter:
    """Counts of each kind and address. `per_minute` and `at_once`: kind -> the most of one address."""

    def __init__(self) -> None:
        self.per_minute, self.at_once = dict(PER_MINUTE), dict(AT_ONCE)
        self.held: collections.Counter[tuple[str, str]] = collections.Counter()  # (kind, address)
        self._times: collections.OrderedDict[tuple[str, str], collections.deque[float]] = collections.OrderedDict()
        self._lock = threading.Lock()

    def add(self, kind: str, address: str) -> bool:
        """Count one of this minute; False if it was one too many."""
        with self._lock:
            times = self._of_this_minute(kind, address)
            fits = len(times) < self.per_minute[kind]
            if fits:
                times.append(time.monotonic())
            return fits

    def has_room(self, kind: str, address: str) -> bool:
        """Whether one more would not be too many; counts nothing."""
        with self._lock:
            return len(self._of_this_minute(kind, address)) < self.per_minute[kind]

    def _of_this_minute(self, kind: str, address: str) -> collections.deque[float]:
        times = self._times.setdefault((kind, address), collections.deque())
        self._times.move_to_end((kind, address))
        if len(self._times) > MAX_KEYS:
            self._times.popitem(last=False)
        while times and times[0] < time.monotonic() - SECONDS:
            times.popleft()
        return times

    @contextlib.contextmanager
    def holding(self, address: str, *kinds: str) -> Iterator[bool]:
        """While something of these kinds goes on; yields False, and counts nothing, if it is one too many of any."""
        keys = [(kind, address) for kind in kinds]
        with self._lock:
            fits = all(self.held[key] < self.at_once[key[0]] for key in keys)
            if fits:
                self.held.update(keys)
        try:
            yield fits
        finally:
            if fits:
                with self._lock:
                    self.held.subtract(keys)
                    self.held += collections.Counter()  # forgets those that hold none
