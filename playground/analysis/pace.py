"""How much time a run still needs. Pure; the command line and the page call it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from playground.runs.folder.records import Status

NEWEST = 20  # updates whose pace counts: texts grow or shrink while a model learns, and machines get busy
LEAST, FIRST = 0.4, 1.0  # how far off it may be: of a long evaluation, and so much more of the first update


class Range(NamedTuple):
    """Seconds, from the likely least to the likely most."""

    low: float
    high: float


def seconds_left(updates: Sequence[int], seconds: Sequence[float | None], num_updates: int) -> Range | None:
    """Seconds that the remaining updates take at the pace of the newest ones, evaluations included; None if unknown
    yet. Asked after each update of the recorded runs, the range holds what was then left 8 times in 10."""
    moments = [(update, at) for update, at in zip(updates, seconds, strict=False) if at is not None][-NEWEST - 1 :]
    if len(moments) < 2 or moments[-1][0] <= moments[0][0]:
        return None
    (first, began), (last, now) = moments[0], moments[-1]
    num_seen = last - first
    left = max(0.0, now - began) / num_seen * max(0, num_updates - last)
    factor = 1 + LEAST + FIRST / (num_seen + 1)
    return Range(left / factor, left * factor)


def all_left(statuses: Sequence[Status], now: float) -> Range | None:
    """Seconds until the last of some runs has ended, at the pace of their updates so far, loading and evaluations
    included, if as many of them train at a time as now; None before the first update of any."""
    running = [status for status in statuses if status.update]
    if not running:
        return None
    updates = sum(status.update for status in running)
    each = sum(status.seconds_at_work(now) for status in running) / updates
    going = [status for status in statuses if not status.ended]
    at_once = max(1, sum(status.state != "queued" for status in going))
    lefts = [each * max(0, status.num_updates - status.update) for status in going]
    left = max([sum(lefts) / at_once, *lefts])
    factor = 1 + LEAST + FIRST / (updates + 1)
    return Range(left / factor, left * factor)
