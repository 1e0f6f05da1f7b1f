"""Small figures that both engines report in the same way."""

from __future__ import annotations

import math

import psutil
import torch

from playground.rewards.mixture import mean_known as mean_known


def capped_exp(value: float) -> float:
    """exp(value), at most about 10^304, which a float can still hold."""
    return math.exp(min(value, 700.0))


def memory_gb(device: torch.device) -> float:
    """10^9 bytes: the peak of the GPU's allocator, or the resident set of this process now."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e9
    return psutil.Process().memory_info().rss / 1e9
