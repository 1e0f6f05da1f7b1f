"""What a reward model is worth on pairs it has not seen: accuracy with its interval, margins, calibration.

Pure functions of numbers; no torch. A margin is score(chosen) - score(rejected). `trainer` calls `report`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np

from playground.rewards import agreement
from playground.texts.preferences import Pair

MARGIN_BINS = 24
CALIBRATION_BINS = 10


def report(pairs: Sequence[Pair], chosen: Sequence[float], rejected: Sequence[float]) -> dict[str, Any]:
    """Everything about the held-out part, as plain data.

    Args:
        chosen, rejected: the scores of each pair's two completions.
    """
    margins = [high - low for high, low in zip(chosen, rejected, strict=True)]
    right = [right_of(margin) for margin in margins]
    accuracy = fmean(right)
    low, high = agreement.wilson(accuracy, _worth(pairs, right))
    mean, sd = agreement.mean_and_sd([*chosen, *rejected])
    known = [(margin, pair.better) for margin, pair in zip(margins, pairs, strict=True) if pair.better is not None]
    truly = [right_of(margin if better else -margin) for margin, better in known]
    buckets = calibration(pairs, margins)
    return {
        "num_pairs": len(pairs),
        "accuracy": accuracy,
        "accuracy_low": low,
        "accuracy_high": high,
        "true_accuracy": fmean(truly) if truly else None,
        "loss": float(np.logaddexp(0, -np.array(margins)).mean()),
        "margin_mean": fmean(margins),
        "margins": histogram(margins),
        "calibration": buckets,
        "calibration_error": calibration_error(buckets),
        "score_mean": mean,
        "score_sd": sd,
    }


def histogram(values: Sequence[float], bins: int = MARGIN_BINS) -> dict[str, list[Any]]:
    """Counts in equal bins over what occurs; 0 is always an edge, so that right and wrong never share a bin."""
    largest = max((abs(value) for value in values), default=0.0) or 1.0
    half = bins // 2
    below = math.ceil(half * max(-min(values, default=0.0) / largest, 0))
    above = math.ceil(half * max(max(values, default=0.0) / largest, 0))
    edges = [largest * step / half for step in range(-below, above + 1)]
    counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0].tolist() if len(edges) > 1 else []
    return {"edges": edges, "counts": counts}


def calibration(pairs: Sequence[Pair], margins: Sequence[float], bins: int = CALIBRATION_BINS) -> list[dict[str, Any]]:
    """How often the model is right where it says so with probability sigma(margin).

    Every pair is looked at from the side that the model prefers, so probabilities run from 0.5 to 1; which of the two
    completions comes first is nobody's choice. `observed`: share of pairs in which that side was chosen. `known`: mean
    probability with which the annotator would choose it, where that is known (pocket annotators).
    """
    groups: list[list[tuple[float, float, float | None, Pair]]] = [[] for _ in range(bins)]
    for pair, margin in zip(pairs, margins, strict=True):
        probability = 1 / (1 + math.exp(-min(abs(margin), 500)))
        share = None if pair.share is None else pair.share if margin >= 0 else 1 - pair.share
        groups[min(int((probability - 0.5) * 2 * bins), bins - 1)].append((probability, right_of(margin), share, pair))
    found = []
    for group in filter(None, groups):
        shares = [share for _, _, share, _ in group if share is not None]
        rights = [right for _, right, _, _ in group]
        observed = fmean(rights)
        low, high = agreement.wilson(observed, _worth([pair for *_, pair in group], rights))
        found.append(
            {
                "count": len(group),
                "predicted": fmean(probability for probability, *_ in group),
                "observed": observed,
                "low": low,
                "high": high,
                "known": fmean(shares) if shares else None,
            }
        )
    return found


def calibration_error(bins: Sequence[dict[str, Any]]) -> float:
    """Mean distance of what was promised from what was observed, weighted by pairs (ECE, Naeini et al. 2015)."""
    total = sum(item["count"] for item in bins)
    return math.fsum(item["count"] * abs(item["predicted"] - item["observed"]) for item in bins) / total


def _worth(pairs: Sequence[Pair], right: Sequence[float]) -> float:
    """How many pairs of different prompts would tell the share as well: those of one prompt are alike."""
    by_prompt: dict[str, list[float]] = defaultdict(list)
    for pair, value in zip(pairs, right, strict=True):
        by_prompt[pair.prompt].append(value)
    return agreement.effective(list(by_prompt.values())) or len(by_prompt)


def right_of(margin: float) -> float:
    """1 for a pair in the right order, 0 for the wrong one; equal scores are a coin."""
    return 0.5 if margin == 0 else float(margin > 0)
