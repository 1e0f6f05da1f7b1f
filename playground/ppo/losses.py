"""The two losses of PPO, per token. The caller takes sums and means, since it knows how the batch was cut."""

from __future__ import annotations

import torch
from torch import Tensor


def policy_loss(log_ratio: Tensor, advantages: Tensor, clip_range: float) -> Tensor:
    """Clipped surrogate -min(r A, clip(r, 1 - eps, 1 + eps) A), r = pi / pi_old (Schulman et al. 2017, eq. 7).

    Args:
        log_ratio: log pi - log pi_old of the sampled tokens, any shape. advantages: same shape, constants.

    Returns:
        Same shape; to be minimised. The gradient is 0 exactly where the ratio has already moved past the clip in the
        direction that the advantage wants.
    """
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.min(ratio * advantages, clipped * advantages)


def clipped_tokens(log_ratio: Tensor, advantages: Tensor, clip_range: float) -> Tensor:
    """True where the clip is active, that is, where `policy_loss` has no gradient."""
    ratio = log_ratio.exp()
    return ((advantages > 0) & (ratio > 1 + clip_range)) | ((advantages < 0) & (ratio < 1 - clip_range))


def value_loss(values: Tensor, old_values: Tensor, returns: Tensor, clip_range: float | None = None) -> Tensor:
    """Half the squared error to the returns; with a clip range the worse of the free and the clipped estimate.

    Source: baselines PPO2 and Ziegler et al. 2019: max((V - R)^2, (clip(V, V_old +- eps) - R)^2) / 2.
    """
    loss = (values - returns) ** 2
    if clip_range is not None:
        clipped = old_values + (values - old_values).clamp(-clip_range, clip_range)
        loss = torch.max(loss, (clipped - returns) ** 2)
    return 0.5 * loss
