"""How long a run still takes. Pure; the command line and the page call it."""

from __future__ import annotations

from collections.abc import Sequence


def seconds_left(
    updates: Sequence[int], seconds: Sequence[float], num_updates: int, waited: float = 0.0
) -> float | None:
    """Seconds that the remaining updates take at the pace of these, evaluations included; None if unknown yet.

    Args:
        updates, seconds: numbers of updates, and the run's clock after each of them.
        waited: how much of that time was spent in pauses.
    """
    if len(updates) < 2 or updates[-1] <= updates[0]:
        return None
    pace = max(0.0, seconds[-1] - seconds[0] - waited) / (updates[-1] - updates[0])
    return pace * max(0, num_updates - updates[-1])
