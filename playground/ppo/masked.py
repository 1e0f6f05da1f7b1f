"""Statistics over the real tokens of a ragged batch."""

from __future__ import annotations

import torch
from torch import Tensor

EPSILON = 1e-8  # so that values that are all alike can be whitened


def masked_sum(values: Tensor, mask: Tensor) -> Tensor:
    """Sum of `values` where `mask` is True. Values under a False mask may be anything, NaN included."""
    return torch.where(mask, values, torch.zeros_like(values)).sum()


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of `values` where `mask` is True; NaN when the mask is empty."""
    return masked_sum(values, mask) / mask.sum()


def masked_variance(values: Tensor, mask: Tensor) -> Tensor:
    """Population variance (divides by n) of `values` where `mask` is True."""
    return masked_mean((values - masked_mean(values, mask)) ** 2, mask)


def spread_of_sums(values: Tensor, mask: Tensor) -> Tensor:
    """Population standard deviation, over the rows [B], of each row's sum of `values` [B, C] where `mask` is True."""
    return torch.where(mask, values, torch.zeros_like(values)).sum(-1).std(correction=0)


def whiten(values: Tensor, mask: Tensor) -> Tensor:
    """Shift the masked values to mean 0 and scale them to variance 1.

    Args:
        values, mask: [B, C]. The whole batch at once, so that every episode is measured with the same rule.

    Returns:
        [B, C]; 0 where the mask is False.

    Source: openai/lm-human-preferences, `utils.whiten`.
    """
    mean = masked_mean(values, mask)
    scaled = (values - mean) * torch.rsqrt(masked_variance(values, mask) + EPSILON)
    return torch.where(mask, scaled, torch.zeros_like(scaled))


def explained_variance(predicted: Tensor, actual: Tensor, mask: Tensor) -> Tensor:
    """1 - Var[actual - predicted] / Var[actual] over the real tokens: 1 perfect, 0 no better than a constant, below 0 worse.

    NaN when `actual` does not vary.
    """  # noqa: E501
    variance = masked_variance(actual, mask)
    residual = masked_variance(actual - predicted, mask)
    return torch.where(variance > 0, 1 - residual / variance, torch.full_like(variance, float("nan")))
