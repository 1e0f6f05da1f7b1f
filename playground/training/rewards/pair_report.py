"""What a reward model is worth on pairs it has not seen: accuracy with its interval, margins, calibration.

Pure functions of numbers; no torch. A margin is score(chosen) - score(rejected). `pair_trainer` calls `report`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playground.rewards import agreement
from playground.texts.preferences import Pair

MARGIN_BINS = 24  # on both sides of 0 together
CALIBRATION_BINS = 10
Numbers = NDArray[np.float64]


def report(pairs: Sequence[Pair], chosen: Sequence[float], rejected: Sequence[float]) -> dict[str, Any]:
    """Everything about the held-out part, as plain data.

    Args:
        chosen, rejected: the scores of each pair's two completions.
    """
    margins = np.subtract(chosen, rejected)
    accuracy, low, high = _share(pairs, right_of(margins))
    mean, sd = agreement.mean_and_sd([*chosen, *rejected])
    better = np.array([pair.better for pair in pairs], dtype=float)  # not a number where nobody knows
    truly = right_of(margins * np.sign(better - 0.5))[~np.isnan(better)]
    buckets = calibration(pairs, margins)
    return {
        "num_pairs": len(pairs),
        "accuracy": accuracy,
        "accuracy_low": low,
        "accuracy_high": high,
        "true_accuracy": float(truly.mean()) if len(truly) else None,
        "loss": float(np.logaddexp(0, -margins).mean()),
        "margin_mean": float(margins.mean()),
        "margins": histogram(margins),
        "calibration": buckets,
        # ECE, Naeini et al. 2015
        "calibration_error": sum(item["count"] * abs(item["predicted"] - item["observed"]) for item in buckets)
        / len(pairs),
        "score_mean": mean,
        "score_sd": sd,
    }


def right_of(margins: Numbers) -> Numbers:
    """1 for a pair in the right order, 0 for the wrong one; equal scores are a coin, 1/2."""
    return (np.sign(margins) + 1) / 2


def histogram(values: Numbers) -> dict[str, list[Any]]:
    """Counts in equal bins over what occurs; 0 is always an edge, so that right and wrong never share a bin."""
    half, largest = MARGIN_BINS // 2, float(np.abs(values).max()) or 1.0
    edges = largest * np.arange(-half, half + 1) / half
    counts = np.histogram(values, edges)[0]
    filled = np.flatnonzero(counts)
    first, last = min(filled[0], half), max(filled[-1] + 1, half)
    return {"edges": edges[first : last + 1].tolist(), "counts": counts[first:last].tolist()}


def calibration(pairs: Sequence[Pair], margins: Numbers) -> list[dict[str, Any]]:
    """How often the model is right where it says so with probability sigma(margin).

    Every pair is looked at from the side that the model prefers, so probabilities run from 0.5 to 1; which of the two
    completions comes first is nobody's choice. `observed`: share of pairs in which that side was chosen. `known`: mean
    probability with which the annotator would choose it, where that is known (pocket annotators).
    """
    right, predicted = right_of(margins), 1 / (1 + np.exp(-np.abs(margins)))
    shares = np.array([pair.share for pair in pairs], dtype=float)
    known = np.where(margins >= 0, shares, 1 - shares)
    bins = np.minimum((predicted - 0.5) * 2 * CALIBRATION_BINS, CALIBRATION_BINS - 1).astype(int)
    found = []
    for number in np.unique(bins):
        places = np.flatnonzero(bins == number)
        observed, low, high = _share([pairs[place] for place in places.tolist()], right[places])
        told = known[places][~np.isnan(known[places])]
        found.append(
            {
                "count": len(places),
                "predicted": float(predicted[places].mean()),
                "observed": observed,
                "low": low,
                "high": high,
                "known": float(told.mean()) if len(told) else None,
            }
        )
    return found


def _share(pairs: Sequence[Pair], right: Numbers) -> tuple[float, float, float]:
    """The share of right ones and its interval, which is wider where several pairs have one prompt: those are alike."""
    by_prompt: dict[str, list[float]] = defaultdict(list)
    for pair, value in zip(pairs, right.tolist(), strict=True):
        by_prompt[pair.prompt].append(value)
    share = float(right.mean())
    return share, *agreement.wilson(share, agreement.effective(list(by_prompt.values())) or len(by_prompt))
