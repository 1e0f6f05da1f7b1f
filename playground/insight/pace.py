"""How fast a run goes and how long it still takes. Pure; the command line and the page call it."""

from __future__ import annotations

from collections.abc import Sequence

from playground.runs.folder.records import UpdateMetrics

RECENT_UPDATES = 10


def seconds_left(metrics: Sequence[UpdateMetrics], num_updates: int) -> float | None:
    """Seconds the remaining updates take at the pace of the latest ones, evaluations included; None if unknown yet."""
    recent = metrics[-RECENT_UPDATES - 1 :]
    if len(recent) < 2 or recent[-1].update <= recent[0].update:
        return None
    pace = (recent[-1].seconds - recent[0].seconds) / (recent[-1].update - recent[0].update)
    return pace * max(0, num_updates - recent[-1].update)
