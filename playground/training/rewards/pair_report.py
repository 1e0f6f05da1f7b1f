"""What a reward model is worth on pairs it has not seen: accuracy with its interval, margins, calibration.

Pure functions of numbers; no torch. A margin is score(chosen) - score(rejected). `pair_trainer` calls `report`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray

from playground.rewards import agreement
from playground.texts.preferences import Pair

MARGIN_BINS = 24  # on both sides of 0 together
CALIBRATION_BINS = 10
Numbers = NDArray[np.float64]


def report(pairs: Sequence[Pair], chosen: Sequence[float], rejected: Sequence[float]) -> dict[str, Any]:
    """Everything about the held-out part, as plain data. `chosen`, `rejected`: scores of each pair's completions."""
    margins = np.subtract(chosen, rejected)
    tested = pandas.DataFrame({"prompt": [pair.prompt for pair in pairs], "right": right_of(margins)})
    accuracy, low, high = _share(tested)
    mean, sd = agreement.mean_and_sd([*chosen, *rejected])
    better = np.array([pair.better for pair in pairs], dtype=float)  # not a number where nothing is known
    truly = right_of(margins * np.sign(better - 0.5))[~np.isnan(better)]
    bins = calibration(pairs, margins)
    return {
        "num_pairs": len(pairs),
        "accuracy": accuracy,
        "accuracy_low": low,
        "accuracy_high": high,
        "true_accuracy": float(truly.mean()) if len(truly) else None,
        "loss": float(np.logaddexp(0, -margins).mean()),
        "margin_mean": float(margins.mean()),
        "margins": histogram(margins),
        "calibration": bins,
        # ECE, Naeini et al. 2015
        "calibration_error": sum(item["count"] * abs(item["predicted"] - item["observed"]) for item in bins)
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

    Every pair is taken from the side that the model prefers, so probabilities run from 0.5 to 1. `observed`: share of
    pairs in which that side was chosen. `known`: mean probability with which the annotator would choose it, where that
    is known (pocket annotators).
    """
    predicted, shares = 1 / (1 + np.exp(-np.abs(margins))), np.array([pair.share for pair in pairs], dtype=float)
    bins = np.minimum((predicted - 0.5) * 2 * CALIBRATION_BINS, CALIBRATION_BINS - 1).astype(int)
    known = np.where(margins >= 0, shares, 1 - shares)
    table = {"prompt": [pair.prompt for pair in pairs], "right": right_of(margins), "predicted": predicted}
    found = []
    for _, rows in pandas.DataFrame({**table, "known": known}).groupby(bins):
        observed, low, high = _share(rows)
        told = rows.known.dropna()
        found.append(
            {
                "count": len(rows),
                "predicted": float(rows.predicted.mean()),
                "observed": observed,
                "low": low,
                "high": high,
                "known": float(told.mean()) if len(told) else None,
            }
        )
    return found


def _share(tested: pandas.DataFrame) -> tuple[float, float, float]:
    """The share of right ones and its interval, which is wider where several pairs have one prompt: those are alike."""
    by_prompt = [group.tolist() for _, group in tested.groupby("prompt").right]
    share = float(tested.right.mean())
    return share, *agreement.wilson(share, agreement.effective(by_prompt) or len(by_prompt))
