"""How good a reward model is on pairs it has not seen: accuracy with its interval, and margins, which are
score(chosen) - score(rejected). Pure functions of numbers; `pair_trainer` calls `report`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray

from playground.data.preferences import Pair
from playground.rewards import agreement

MARGIN_BINS = 24  # on both sides of 0 together
Numbers = NDArray[np.float64]


def report(pairs: Sequence[Pair], chosen: Sequence[float], rejected: Sequence[float]) -> dict[str, Any]:
    """Everything about the held-out part, as plain data. `chosen`, `rejected`: scores of each pair's completions."""
    margins = np.subtract(chosen, rejected)
    right = pandas.Series(right_of(margins))
    # several pairs of one prompt are alike, so the interval is wider than that of as many prompts
    by_prompt = [group.tolist() for _, group in right.groupby([pair.prompt for pair in pairs])]
    accuracy = float(right.mean())
    low, high = agreement.wilson(accuracy, agreement.effective(by_prompt) or len(by_prompt))
    mean, sd = agreement.mean_and_sd([*chosen, *rejected])
    better = np.array([pair.better for pair in pairs], dtype=float)  # not a number where nothing is known
    truly = right_of(margins * np.sign(better - 0.5))[~np.isnan(better)]
    return {
        "num_pairs": len(pairs),
        "accuracy": accuracy,
        "accuracy_low": low,
        "accuracy_high": high,
        "true_accuracy": float(truly.mean()) if len(truly) else None,
        "loss": float(np.logaddexp(0, -margins).mean()),
        "margin_mean": float(margins.mean()),
        "margins": histogram(margins),
        "score_mean": mean,
        "score_sd": sd,
    }


def right_of(margins: Numbers) -> Numbers:
    """1 for a pair in the right order, 0 for the wrong one; equal scores are a coin, 1/2."""
    return (np.sign(margins) + 1) / 2


def histogram(values: Numbers) -> dict[str, list[Any]]:
    """Counts in equal bins over what occurs; 0 is always an edge, so that right and wrong never share a bin."""
    half = MARGIN_BINS // 2
    largest = float(np.abs(values).max()) or 1.0
    edges = largest * np.arange(-half, half + 1) / half
    counts, _ = np.histogram(values, edges)
    filled = np.flatnonzero(counts)
    first = min(filled[0], half)
    last = max(filled[-1] + 1, half)
    return {"edges": edges[first : last + 1].tolist(), "counts": counts[first:last].tolist()}
