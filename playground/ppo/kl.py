"""Kullback-Leibler divergence: estimators from log-ratios, and the controllers of its price beta.

With d = log pi(y) - log pi_ref(y) for y sampled from pi (Schulman 2020, "Approximating KL divergence"):
k1 = d is unbiased and may be negative; k2 = d^2 / 2 is biased and never negative; k3 = exp(-d) - 1 + d is unbiased and
never negative. Inside the reward only k1 has the gradient of KL(pi || pi_ref).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


def k1(log_ratio: Tensor) -> Tensor:
    """The log-ratio itself."""
    return log_ratio


def k2(log_ratio: Tensor) -> Tensor:
    """Half its square."""
    return 0.5 * log_ratio**2


def k3(log_ratio: Tensor) -> Tensor:
    """exp(-d) - 1 + d."""
    return torch.expm1(-log_ratio) + log_ratio


def full_kl(log_probs: Tensor, reference_log_probs: Tensor) -> Tensor:
    """Exact KL(pi || pi_ref) of each position from whole distributions, [..., V] log-probabilities -> [...]."""
    return (log_probs.exp() * (log_probs - reference_log_probs)).nan_to_num(0.0).sum(-1)


SAMPLED_ESTIMATORS: dict[str, Callable[[Tensor], Tensor]] = {"k1": k1, "k2": k2, "k3": k3, "abs": torch.abs}


def token_kl(estimator: str, log_ratio: Tensor, exact: Tensor) -> Tensor:
    """The KL of each token by one of the estimators, of the same shape as what it comes from.

    Args:
        estimator: a name in `SAMPLED_ESTIMATORS`, or `full` for the exact KL of the position.
    """
    return exact if estimator == "full" else SAMPLED_ESTIMATORS[estimator](log_ratio)


LOWEST, HIGHEST = 1e-4, 1e3  # of an adaptive beta


@dataclass
class FixedKL:
    """Beta stays where it is."""

    coef: float

    def observe(self, kl_per_episode: float, num_episodes: int) -> None:
        """Nothing to learn from the KL of an update."""


@dataclass
class AdaptiveKL:
    """Integral control of beta towards a target KL (Ziegler et al. 2019, section 2.2).

    error = clip(KL / target - 1, -0.2, 0.2);  beta <- beta * (1 + error * min(n / horizon, 1))

    Without that bound a batch of five horizons turns beta negative. Beta also stays between `LOWEST` and `HIGHEST`,
    from where it can come back when the KL does.

    Attributes:
        coef: beta, per nat, above 0. target: nats per episode (the SUM over its tokens, averaged over episodes).
        horizon: in episodes.
    """

    coef: float
    target: float
    horizon: int

    def observe(self, kl_per_episode: float, num_episodes: int) -> None:
        """Adjust beta once per update, from that update's own episodes.

        Args:
            kl_per_episode: mean over episodes of the summed k1, finite. num_episodes: n, over all ranks.
        """
        error = min(max(kl_per_episode / self.target - 1, -0.2), 0.2)
        coef = self.coef * (1 + error * min(num_episodes / self.horizon, 1))
        self.coef = min(max(coef, LOWEST), HIGHEST)
