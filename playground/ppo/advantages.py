"""From scores and log-ratios to token rewards, and from token rewards to advantages: by a critic's values, or by the
other completions of the same prompt."""

from __future__ import annotations

import torch
from torch import Tensor


def token_rewards(token_kl: Tensor, scores: Tensor, mask: Tensor, kl_coef: float) -> Tensor:
    """-beta * KL of every token, plus the score on the last real one (Ziegler et al. 2019, eq. 2).

    Args:
        token_kl: [B, C], log pi - log pi_ref of the sampled tokens (k1), or another estimator as an experiment.
        scores: [B]. mask: [B, C], left-aligned. kl_coef: beta, in units of score per nat.

    Returns:
        [B, C]; 0 where the mask is False. An episode without tokens has nowhere to put its score.
    """
    rewards = torch.where(mask, -kl_coef * token_kl, torch.zeros_like(token_kl))
    lengths = mask.sum(1)
    rows = torch.nonzero(lengths > 0).squeeze(1)
    rewards[rows, lengths[rows] - 1] += scores[rows].to(rewards.dtype)
    return rewards


def generalised_advantages(
    rewards: Tensor, values: Tensor, mask: Tensor, gamma: float, gae_lambda: float
) -> tuple[Tensor, Tensor]:
    """GAE(gamma, lambda) over the real tokens only (Schulman et al. 2016, eq. 16).

    delta_t = r_t + gamma V_{t+1} - V_t;  A_t = delta_t + gamma lambda A_{t+1};  the value after the last token is 0.

    Args:
        rewards, values: [B, C]. mask: [B, C], left-aligned; anything under False is ignored.

    Returns:
        advantages [B, C] and returns = advantages + values [B, C], both 0 where the mask is False.
    """
    rewards = torch.where(mask, rewards, torch.zeros_like(rewards))
    values = torch.where(mask, values, torch.zeros_like(values))
    advantages = torch.zeros_like(rewards)
    following_advantage = torch.zeros_like(rewards[:, 0])
    following_value = torch.zeros_like(rewards[:, 0])
    for t in reversed(range(rewards.shape[1])):
        delta = rewards[:, t] + gamma * following_value - values[:, t]
        following_advantage = torch.where(mask[:, t], delta + gamma * gae_lambda * following_advantage, 0.0)
        following_value = values[:, t]
        advantages[:, t] = following_advantage
    return advantages, advantages + values


def group_advantages(returns: Tensor, group_size: int, *, standardise: bool = False) -> Tensor:
    """How much more each episode earned than the others of its prompt: R_i - mean of R_j over j != i.

    That mean does not depend on episode i, so as a baseline it leaves the expected gradient as it is (Kool et al. 2019;
    RLOO: Ahmadian et al. 2024, eq. 8).

    Args:
        returns: [B], score less the price of the KL, of whole episodes; `group_size` of one prompt in a row.
        standardise: (R_i - mean) / sd of the group instead (GRPO: Shao et al. 2024, eq. 21; n in the variance, as in
            `whiten`): prompts whose answers earn nearly the same weigh as much as those where it matters, a bias.

    Returns:
        [B]; 0 in a group whose episodes all earned the same.
    """
    groups = returns.view(-1, group_size)
    centred = groups - groups.mean(1, keepdim=True)
    if standardise:
        spread = centred.square().mean(1, keepdim=True).sqrt()
        return torch.where(spread > 0, centred / spread, centred).flatten()
    return (centred * group_size / (group_size - 1)).flatten()
