"""From scores and log-ratios to token rewards, and from token rewards to advantages: by a critic's values, by the other
completions of the same prompt, or by nothing but their own size."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from playground.ppo.masked import whiten

SAME_SCORE = 1e-6  # apart; a learned reward reads a text a little differently in another batch
OVERLONG_SHARE = 5  # of the longest text: its last fifth costs something (DAPO takes 4,096 of 20,480 tokens)


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


def rewards_to_go(rewards: Tensor) -> Tensor:
    """What each token and those after it are paid, [B, C] -> [B, C]: REINFORCE without a baseline."""
    return rewards.flip(1).cumsum(1).flip(1)


def group_advantages(
    returns: Tensor, group_size: int, *, standardise: bool = False, leave_one_out: bool = True
) -> Tensor:
    """How much more each episode earned than the others of its prompt: R_i - mean of R_j over j != i.

    That mean does not depend on episode i, so as a baseline it leaves the expected gradient as it is (Kool et al. 2019;
    RLOO: Ahmadian et al. 2024, eq. 8).

    Args:
        returns: [B], score less the price of the KL, of whole episodes; `group_size` of one prompt in a row.
        standardise: (R_i - mean) / sd of the group instead (GRPO: Shao et al. 2024, section 4.1.2; n in the variance,
            as in `whiten`): prompts whose answers earn nearly the same weigh as much as those where it matters, a bias.
        leave_one_out: False for R_i - mean of all R_j, which is (n - 1) / n of it (Dr. GRPO: Liu et al. 2025).

    Returns:
        [B]; 0 in a group whose episodes all earned the same.
    """
    groups = returns.view(-1, group_size)
    centred = groups - groups.mean(1, keepdim=True)
    if standardise:
        spread = centred.square().mean(1, keepdim=True).sqrt()
        return torch.where(spread > 0, centred / spread, centred).flatten()
    if not leave_one_out:
        return centred.flatten()
    return (centred * group_size / (group_size - 1)).flatten()


def groups_that_differ(scores: Tensor, group_size: int) -> Tensor:
    """Which episodes, [B] -> [B], are of a prompt whose texts do not all score the same: the others teach a group
    baseline nothing (dynamic sampling, DAPO: Yu et al. 2025, eq. 11)."""
    groups = scores.view(-1, group_size)
    return (groups.amax(1) - groups.amin(1) > SAME_SCORE).repeat_interleave(group_size)


class Crediting(Protocol):
    """The settings that say how tokens get their credit."""

    @property
    def baseline(self) -> str:
        """`value` (GAE), `leave_one_out`, `group`, or `none` (REINFORCE++: Hu 2025, with the scale `batch`)."""

    @property
    def advantage_scale(self) -> str:
        """`batch` whitens over the batch, behind the spread of its group where the baseline is `group`; `group` divides
        by that spread alone; `none` leaves them."""

    @property
    def samples_per_prompt(self) -> int:
        """How many episodes of one prompt are in a row."""

    @property
    def gamma(self) -> float:
        """The discount."""

    @property
    def gae_lambda(self) -> float:
        """The lambda of GAE."""


class Advantages(NamedTuple):
    """Of every token, [B, C] each: before and after scaling; `returns` are the value targets, 0 without a critic."""

    unscaled: Tensor
    scaled: Tensor
    returns: Tensor


def advantages_of(
    settings: Crediting, rewards: Tensor, values: Tensor, mask: Tensor, learned: Tensor | None = None
) -> Advantages:
    """Token rewards -> advantages.

    Args:
        rewards, values: [B, C]. mask: [B, C], left-aligned.
        learned: [B, C], the tokens that are learned from, where not all are; the others get 0.
    """
    baseline, scale = settings.baseline, settings.advantage_scale
    if baseline == "value":
        unscaled, returns = generalised_advantages(rewards, values, mask, settings.gamma, settings.gae_lambda)
    elif baseline == "none":
        unscaled, returns = rewards_to_go(rewards), torch.zeros_like(rewards)
    else:
        of_group = baseline == "group"
        of_episodes = group_advantages(
            rewards.sum(1),
            settings.samples_per_prompt,
            standardise=of_group and scale != "none",
            leave_one_out=not of_group,
        )
        unscaled, returns = of_episodes.unsqueeze(1).expand_as(rewards), torch.zeros_like(rewards)
    counted = mask if learned is None else learned
    scaled = whiten(unscaled, counted) if scale == "batch" else torch.where(counted, unscaled, 0.0)
    return Advantages(unscaled, scaled, returns)


def overlong_penalties(lengths: Tensor, longest: int) -> Tensor:
    """What a text loses for its length: 0 up to the last fifth of the longest text, then linearly down to -1 (soft
    overlong punishment, DAPO: Yu et al. 2025, eq. 13).

    Args:
        lengths: [B] tokens. longest: tokens at which a text is cut off.
    """
    costly = max(1, longest // OVERLONG_SHARE)
    return ((longest - costly - lengths) / costly).clamp(-1.0, 0.0)
