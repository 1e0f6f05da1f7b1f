"""The losses of PPO and its relatives, per token. The caller sums them, since it knows how the batch was cut."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor


def policy_loss(
    log_ratio: Tensor, advantages: Tensor, clip_range: float, clip_range_high: float | None = None
) -> Tensor:
    """Clipped surrogate -min(r A, clip(r, 1 - eps, 1 + eps) A), r = pi / pi_old (Schulman et al. 2017, eq. 7).

    Args:
        log_ratio: log pi - log pi_old of the sampled tokens, any shape. advantages: same shape, constants.
        clip_range_high: the eps above 1, where it is another one (clip-higher, DAPO: Yu et al. 2025, eq. 8).

    Returns:
        Same shape; to be minimised. The gradient is 0 exactly where the ratio has already moved past the clip in the
        direction that the advantage wants.
    """
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - clip_range, 1 + (clip_range if clip_range_high is None else clip_range_high))
    return -torch.min(ratio * advantages, clipped * advantages)


def clipped_tokens(
    log_ratio: Tensor, advantages: Tensor, clip_range: float, clip_range_high: float | None = None
) -> Tensor:
    """True where the clip is active, that is, where `policy_loss` has no gradient."""
    ratio = log_ratio.exp()
    highest = 1 + (clip_range if clip_range_high is None else clip_range_high)
    return ((advantages > 0) & (ratio > highest)) | ((advantages < 0) & (ratio < 1 - clip_range))


def text_log_ratio(log_ratio: Tensor, mask: Tensor) -> Tensor:
    """For every token the mean log-ratio of its text: the logarithm of GSPO's ratio (Zheng et al. 2025, eq. 7).

    Args:
        log_ratio: [N], of the real tokens of n texts, one text behind the other. mask: [n, C], where they are.
    """
    lengths = mask.sum(1)
    of_text = torch.repeat_interleave(torch.arange(len(mask), device=mask.device), lengths)
    sums = torch.zeros(len(mask), dtype=log_ratio.dtype, device=log_ratio.device).index_add(0, of_text, log_ratio)
    return (sums / lengths.clamp(min=1))[of_text]


def compared_log_ratio(ratio: str, log_ratio: Tensor, mask: Tensor) -> Tensor:
    """What is clipped, [N]: the log-ratio of each token, or (`text`) of its text. `mask`: as in `text_log_ratio`."""
    return text_log_ratio(log_ratio, mask) if ratio == "text" else log_ratio


def token_weights(mask: Tensor, loss_mean: str, texts: int, tokens: Tensor, longest: int) -> Tensor:
    """How much each token counts, so that the sum over the minibatch divided by its `tokens` is the wanted mean.

    Args:
        mask: [n, C], the real tokens of some texts of the minibatch.
        loss_mean: `token`, the mean over all tokens (DAPO, eq. 8); `text`, over the tokens of a text and then over
            texts (GRPO: Shao et al. 2024, eq. 3); `constant`, the sum over tokens / (texts x longest) (Dr. GRPO).
        texts, tokens: how many the whole minibatch has. longest: tokens at which a text is cut off.

    Returns:
        [N], for the real tokens in order, or one number for all of them.
    """
    if loss_mean == "token":
        return torch.ones((), device=mask.device)
    if loss_mean == "constant":
        return tokens / (texts * longest)
    lengths = mask.sum(1)
    return torch.repeat_interleave(tokens / (lengths.clamp(min=1) * texts), lengths)


class Clipping(Protocol):
    """The settings that say what is compared, where it is clipped, and over what the loss is a mean."""

    @property
    def ratio(self) -> str:
        """`token`, or `text` (GSPO)."""

    @property
    def clip_range(self) -> float:
        """The eps below 1."""

    @property
    def clip_range_high(self) -> float | None:
        """The eps above 1; None: the same."""

    @property
    def loss_mean(self) -> str:
        """See `token_weights`."""


class Surrogate(NamedTuple):
    """Of the real tokens of some texts, [N] each: the log-ratio that is compared, the loss, where the clip holds it,
    and the weight of each token (or one for all), see `token_weights`."""

    log_ratio: Tensor
    losses: Tensor
    clipped: Tensor
    weights: Tensor


def surrogate(
    settings: Clipping, log_ratio: Tensor, advantages: Tensor, mask: Tensor, texts: int, tokens: Tensor, longest: int
) -> Surrogate:
    """What is learned from some texts of a minibatch: the sum of losses x weights, over its `tokens`, is the loss.

    Args:
        log_ratio, advantages: [N], of the real tokens in order. mask, texts, tokens, longest: as in `token_weights`.
    """
    compared = compared_log_ratio(settings.ratio, log_ratio, mask)
    clips = settings.clip_range, settings.clip_range_high
    return Surrogate(
        compared,
        policy_loss(compared, advantages, *clips),
        clipped_tokens(compared.detach(), advantages, *clips),
        token_weights(mask, settings.loss_mean, texts, tokens, longest),
    )


TRUNCATED_AT = 2.0  # times; the ratio from which a late token counts no more, and below 1 / of which it is masked


def late_weights(log_ratio: Tensor, correction: str) -> Tensor:
    """How much a token counts that an older policy wrote: the ratio r of the policy at the start of the update to the
    one that wrote it, cut at 2 (`truncated`: Yao et al. 2025), or 0 where r is outside 1/2 to 2 (`masked`).

    Args:
        log_ratio: log of r, any shape.
    """
    ratio = log_ratio.exp()
    if correction == "truncated":
        return ratio.clamp(max=TRUNCATED_AT)
    return torch.where((ratio <= TRUNCATED_AT) & (ratio >= 1 / TRUNCATED_AT), ratio, torch.zeros_like(ratio))


def value_loss(values: Tensor, old_values: Tensor, returns: Tensor, clip_range: float | None = None) -> Tensor:
    """Half the squared error to the returns; with a clip range the worse of the free and the clipped estimate.

    Source: baselines PPO2 and Ziegler et al. 2019: max((V - R)^2, (clip(V, V_old +- eps) - R)^2) / 2.
    """
    loss = (values - returns) ** 2
    if clip_range is not None:
        clipped = old_values + (values - old_values).clamp(-clip_range, clip_range)
        loss = torch.max(loss, (clipped - returns) ** 2)
    return 0.5 * loss
