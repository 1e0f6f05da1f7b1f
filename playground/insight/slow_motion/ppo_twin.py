"""`playground.ppo` once more in numpy, for who may not load torch: the same functions under the same names.

A test holds each of them equal to its twin on random batches. Arrays are [B, C] and masks boolean, True = a real
completion token, left-aligned; meaning, shapes and sources stand there. `what_if` calls them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def token_rewards(token_kl: Array, scores: Array, mask: Mask, kl_coef: float) -> Array:
    """-beta * KL of every token, plus the score on the last real one."""
    rewards = np.where(mask, -kl_coef * token_kl, 0.0)
    lengths = mask.sum(1)
    rows = np.flatnonzero(lengths > 0)
    rewards[rows, lengths[rows] - 1] += scores[rows]
    return rewards


def generalised_advantages(
    rewards: Array, values: Array, mask: Mask, gamma: float, gae_lambda: float
) -> tuple[Array, Array]:
    """delta_t = r_t + gamma V_{t+1} - V_t;  A_t = delta_t + gamma lambda A_{t+1};  returns = A + V."""
    rewards, values = np.where(mask, rewards, 0.0), np.where(mask, values, 0.0)
    advantages = np.zeros_like(rewards)
    following_advantage, following_value = np.zeros(len(rewards)), np.zeros(len(rewards))
    for t in reversed(range(rewards.shape[1])):
        delta = rewards[:, t] + gamma * following_value - values[:, t]
        following_advantage = np.where(mask[:, t], delta + gamma * gae_lambda * following_advantage, 0.0)
        following_value = values[:, t]
        advantages[:, t] = following_advantage
    return advantages, advantages + values


def group_advantages(returns: Array, group_size: int, *, standardise: bool = False) -> Array:
    """How much more each episode [B] earned than the others of its prompt."""
    groups = returns.reshape(-1, group_size)
    centred = groups - groups.mean(1, keepdims=True)
    if standardise:
        spread = np.sqrt((centred**2).mean(1, keepdims=True))
        centred = np.divide(centred, spread, out=centred.copy(), where=spread > 0)
    else:
        centred = centred * group_size / (group_size - 1)
    return np.asarray(centred).reshape(-1)


def masked_mean(values: Array, mask: Mask) -> float:
    """Mean of what is not masked."""
    return float(values[mask].mean())


def masked_variance(values: Array, mask: Mask) -> float:
    """Population variance of what is not masked."""
    return float(values[mask].var())


def whiten(values: Array, mask: Mask, *, epsilon: float = 1e-8) -> Array:
    """To mean 0 and variance 1 over the whole batch; 0 where masked."""
    scaled = (values - masked_mean(values, mask)) / np.sqrt(masked_variance(values, mask) + epsilon)
    return np.where(mask, scaled, 0.0)


def policy_loss(log_ratio: Array, advantages: Array, clip_range: float) -> Array:
    """-min(r A, clip(r, 1 - eps, 1 + eps) A) of tokens."""
    ratio = np.exp(log_ratio)
    return -np.minimum(ratio * advantages, ratio.clip(1 - clip_range, 1 + clip_range) * advantages)


def clipped_tokens(log_ratio: Array, advantages: Array, clip_range: float) -> Mask:
    """True where that has no gradient."""
    ratio = np.exp(log_ratio)
    found: Mask = ((advantages > 0) & (ratio > 1 + clip_range)) | ((advantages < 0) & (ratio < 1 - clip_range))
    return found


def value_loss(values: Array, old_values: Array, returns: Array, clip_range: float | None = None) -> Array:
    """Half the squared error to the returns; with a clip range the worse of the free and the clipped estimate."""
    loss = (values - returns) ** 2
    if clip_range is not None:
        clipped = old_values + (values - old_values).clip(-clip_range, clip_range)
        loss = np.maximum(loss, (clipped - returns) ** 2)
    return 0.5 * loss
