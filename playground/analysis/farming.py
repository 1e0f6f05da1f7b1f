"""Which reward the policy lives on: how much of the gain over the reference each term of the score brings.

Pure arithmetic on the `contributions` of update metrics. Only what is more than chance is said: Student's 95 % interval
over the newest updates lies on one side of 0. The page calls it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from playground.analysis.intervals import interval
from playground.setup.describe import two_digits

WINDOW = 5  # updates that are averaged: single batches are noisy
SMALLEST_GAIN = 0.1  # of the score's unit; shares of less than this say nothing


class TermGain(NamedTuple):
    """One term: its label, and what it adds to the score above the reference's average in each of some updates."""

    label: str
    gains: Sequence[float]

    @property
    def gain(self) -> float:
        return fmean(self.gains)


def recent(columns: Mapping[str, Sequence[float | None]], window: int = WINDOW) -> list[TermGain]:
    """Each term's contributions in the newest updates, those in which all terms have one; label -> contributions by
    update."""
    newest = {label: values[-window:] for label, values in columns.items()}
    newest = {label: values for label, values in newest.items() if any(value is not None for value in values)}
    rows = [[gain for gain in row if gain is not None] for row in zip(*newest.values(), strict=True)]
    whole = [row for row in rows if len(row) == len(newest)]
    return [TermGain(label, [row[place] for row in whole]) for place, label in enumerate(newest) if whole]


def sentence(parts: Sequence[TermGain], unit: str) -> str:
    """Where the gain comes from, in words; empty where there are fewer than two terms, or one update."""
    if len(parts) < 2 or len(parts[0].gains) < 2:
        return ""
    ordered = sorted(parts, key=lambda part: part.gain, reverse=True)
    net = [math.fsum(gains) for gains in zip(*(part.gains for part in parts), strict=True)]
    givers = [part for part in ordered if part.gain >= SMALLEST_GAIN / 2]
    takers = [part for part in reversed(ordered) if part.gain <= -SMALLEST_GAIN / 2 and _sign(part.gains) < 0]
    taken = " and ".join(f"{part.label} takes {two_digits(-part.gain)} {unit} away" for part in takers)
    if not givers or _sign(net) <= 0 or (fmean(net) < SMALLEST_GAIN and not takers):
        sure = [f"{part.label} brings {two_digits(part.gain)} {unit}" for part in givers if _sign(part.gains) > 0]
        text = " and ".join(sure) if sure and takers else "no reward brings a gain that can be told from chance"
        between = "; " if sure else ", and "
    else:
        given = math.fsum(part.gain for part in givers)
        shares = [f"{100 * part.gain / given:.0f} % from {part.label}" for part in givers]
        first = shares[0].replace(" from", " of the gain comes from", 1)
        alone = f"all of the gain comes from {givers[0].label} (+{two_digits(givers[0].gain)} {unit})"
        text = alone if len(givers) == 1 else f"{first}, {' and '.join(shares[1:])}"
        between = "; "
    return f"In the newest training batches {text}{between if taken else ''}{taken}."


def _sign(values: Sequence[float]) -> int:
    """1 or -1 where the mean is above or below 0 by more than chance, else 0."""
    found = interval(values)
    half = found.half or 0.0  # None: all alike
    return (found.mean > half) - (found.mean < -half)
