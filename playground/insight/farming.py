"""Which reward the policy lives on: how much of the gain over the reference each term of the score brings.

Pure arithmetic on the `contributions` of update metrics. The page calls it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

WINDOW = 5  # updates that are averaged: single batches are noisy
SMALLEST_GAIN = 0.1  # of the score's unit; shares of less than this say nothing


class Part(NamedTuple):
    """One term: its label, and what it adds to the score above the reference's average."""

    label: str
    gain: float


def recent(columns: Mapping[str, Sequence[float | None]], window: int = WINDOW) -> list[Part]:
    """The mean of each term's contribution over the newest updates; label -> contributions by update."""
    found = []
    for label, values in columns.items():
        known = [value for value in values[-window:] if value is not None]
        if known:
            found.append(Part(label, math.fsum(known) / len(known)))
    return found


def sentence(parts: Sequence[Part], unit: str) -> str:
    """Where the gain comes from, in words; empty where there are fewer than two terms."""
    if len(parts) < 2:
        return ""
    ordered = sorted(parts, key=lambda part: part.gain, reverse=True)
    gain = math.fsum(part.gain for part in parts)
    givers = [part for part in ordered if part.gain >= SMALLEST_GAIN / 2]
    takers = [part for part in reversed(ordered) if part.gain <= -SMALLEST_GAIN / 2]
    taken = [f"{part.label} takes {-part.gain:.2g} {unit} away" for part in takers]
    if not givers or (gain < SMALLEST_GAIN and not takers):
        lost = f", and {' and '.join(taken)}" if taken else ""
        return f"In the newest training batches no reward brings a gain yet{lost}."
    given = math.fsum(part.gain for part in givers)
    shares = [f"{100 * part.gain / given:.0f} %" for part in givers]
    if len(givers) == 1:
        text = f"all of the gain comes from {givers[0].label} (+{givers[0].gain:.2g} {unit})"
    else:
        rest = [f"{share} from {part.label}" for share, part in zip(shares[1:], givers[1:], strict=True)]
        text = f"{shares[0]} of the gain comes from {givers[0].label}, {' and '.join(rest)}"
    return f"In the newest training batches {text}{'; ' if taken else ''}{' and '.join(taken)}."
