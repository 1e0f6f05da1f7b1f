"""Small figures that both engines report in the same way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import psutil
import torch

from playground.pocket.wording import distinct_n
from playground.rewards.mixture import mean_known as mean_known
from playground.runs.folder.records import UpdateMetrics
from playground.train.loop.scoring import Scores


def of_steps(steps: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """The figures that are declared as a mean or a maximum over an update's optimizer steps."""
    declared = {name: about.steps for name, about in UpdateMetrics.about().items() if about.steps}
    return {
        name: mean_known(steps.get(name, ())) if how == "mean" else max(steps.get(name, ()), default=None)
        for name, how in declared.items()
    }


def of_completions(completions: Sequence[str], scores: Scores) -> dict[str, Any]:
    """What an update's texts and their scores say: how the scores are spread, and what each reward brings."""
    p10, p50, p90 = np.quantile(scores.scores, [0.1, 0.5, 0.9])
    return {
        "score_mean": float(np.mean(scores.scores)),
        "score_std": float(np.std(scores.scores)),
        "score_p10": float(p10),
        "score_p50": float(p50),
        "score_p90": float(p90),
        "raw_score_mean": mean_known(scores.raw),
        "terms": {name: mean_known(values) for name, values in scores.terms.items()},
        "contributions": {name: mean_known(values) for name, values in scores.contributions.items()},
        "distinct_2": distinct_n(completions, 2),
    }


def capped_exp(value: float) -> float:
    """exp(value), at most about 10^304, which a float can still hold."""
    return math.exp(min(value, 700.0))


def memory_gb(device: torch.device) -> float:
    """10^9 bytes: the peak of the GPU's allocator, or the resident set of this process now."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e9
    return psutil.Process().memory_info().rss / 1e9
