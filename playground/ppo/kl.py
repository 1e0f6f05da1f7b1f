"""Kullback-Leibler divergence: estimators from log-ratios, and the controllers of beta, the coefficient of the KL
penalty.

With d = log pi(y) - log pi_ref(y) for y sampled from pi (Schulman 2020, "Approximating KL divergence"):
k1 = d is unbiased and may be negative; k2 = d^2 / 2 is biased and never negative; k3 = exp(-d) - 1 + d is unbiased and
never negative. Inside the reward only k1 has the gradient of KL(pi || pi_ref).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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


CORRECTED = "k3_corrected"


def loss_kl(estimator: str, log_ratio: Tensor, exact: Tensor, step_log_ratio: Tensor) -> Tensor:
    """The KL of each token as a part of the loss, with a gradient. Of one number per token only `k2` and the corrected
    k3 have the gradient of KL(pi || pi_ref); k1's is 0 on average (Tang and Munos 2025; arXiv 2510.01555).

    Args:
        estimator: as in `token_kl`, or `k3_corrected`: k3 times the ratio to the policy that wrote the token.
        log_ratio: log pi - log pi_ref of the sampled tokens. exact: the exact KL of the position (`full`).
        step_log_ratio: log pi - log pi_old of the same tokens.
    """
    if estimator == CORRECTED:
        return step_log_ratio.exp() * k3(log_ratio)
    return token_kl(estimator, log_ratio, exact)


def token_kl(estimator: str, log_ratio: Tensor, exact: Tensor) -> Tensor:
    """The KL of each token by one of the estimators, of the same shape as what it comes from.

    Args:
        estimator: a name in `SAMPLED_ESTIMATORS`, or `full` for the exact KL of the position.
    """
    return exact if estimator == "full" else SAMPLED_ESTIMATORS[estimator](log_ratio)


LOWEST, HIGHEST = 1e-4, 1e3  # of a beta that moves

KL_MEMORY, SLOPE_MEMORY = 0.4, 0.5  # what stays, from one update to the next, of the running KL and of its slope
AHEAD, AHEAD_IN_FALL = 8, 3  # updates that are foreseen; the second where the KL falls from `FAR` above its target
FAR = 1.25  # times the target
LEAST_FORESEEN = 1 / 50  # of the target
GAIN = 0.25
MOST_DOWN, MOST_UP = 0.18, 0.4  # of the logarithm of beta, in one update
FIRST = 6  # updates in which the KL is small whatever beta is


@dataclass
class FixedKL:
    """Beta stays where it is."""

    coef: float

    def observe(self, sampled: float, exact: float, num_episodes: int) -> None:
        """Nothing to learn from the KL of an update."""

    def state(self) -> dict[str, float | None]:
        """What the next update depends on, as it stands in a checkpoint."""
        return {"kl_coef": self.coef, "kl_target": None}

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Go on from a `state`. Raises: KeyError, ValueError, TypeError: if it is the state of something else."""
        self.coef = float(facts["kl_coef"])


@dataclass
class TargetKL(FixedKL):
    """Beta moves with the KL of each update, so that the KL goes to a target.

    Attributes:
        target: nats per episode (the SUM over its tokens, averaged over episodes).
    """

    target: float

    def state(self) -> dict[str, float | None]:
        """Beta, and the target that it is steered to."""
        return {"kl_coef": self.coef, "kl_target": self.target}

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Go on from a `state`."""
        super().restore(facts)
        self.target = float(facts["kl_target"])


@dataclass
class ZieglerKL(TargetKL):
    """Integral control of beta towards a target KL (Ziegler et al. 2019, section 2.2).

    error = clip(KL / target - 1, -0.2, 0.2);  beta <- beta * (1 + error * min(n / horizon, 1))

    Without that bound a batch of five horizons turns beta negative. Beta also stays between `LOWEST` and `HIGHEST`,
    from where it can come back when the KL does.

    Attributes:
        coef: beta, per nat, above 0. horizon: in episodes.
    """

    horizon: int

    def observe(self, sampled: float, exact: float, num_episodes: int) -> None:
        """Adjust beta once per update, from that update's own episodes.

        Args:
            sampled: mean over episodes of the summed k1, finite. num_episodes: n, over all ranks.
        """
        error = min(max(sampled / self.target - 1, -0.2), 0.2)
        coef = self.coef * (1 + error * min(num_episodes / self.horizon, 1))
        self.coef = min(max(coef, LOWEST), HIGHEST)


@dataclass
class AdaptiveKL(TargetKL):
    """Control of beta towards a target KL that looks ahead: it acts on where the KL is going, not on where it is.

    The policy answers to beta only over many updates. So what counts is the KL of some updates later, if it goes on as
    it does now:

        kl <- running mean of the KL;  slope <- running mean of the change of kl
        foreseen = max(kl + AHEAD * slope, LEAST_FORESEEN * target)
        log beta <- log beta + clip(GAIN * log(foreseen / target), -MOST_DOWN, MOST_UP)

    The logarithm makes twice the target as wrong as half of it. A KL that comes down from far above its target slows
    down on its way, so it is foreseen over fewer updates. Over the first updates `MOST_DOWN` grows from 0: there a
    small KL says nothing of beta. Beta stays between `LOWEST` and `HIGHEST`.

    Attributes:
        coef: beta, per nat, above 0. smoothed: kl of the latest update; None before the first. slope: nats per update.
        seen: updates until now.
    """

    smoothed: float | None = None
    slope: float = 0.0
    seen: int = 0

    def observe(self, sampled: float, exact: float, num_episodes: int) -> None:
        """Adjust beta once per update, from that update's own episodes.

        Args:
            exact: mean over episodes of the exact KL, summed over positions; finite. It has a fraction of the sampled
                KL's noise.
        """
        before = exact if self.smoothed is None else self.smoothed
        self.smoothed = KL_MEMORY * before + (1 - KL_MEMORY) * exact
        self.slope = SLOPE_MEMORY * self.slope + (1 - SLOPE_MEMORY) * (self.smoothed - before)
        ahead = AHEAD_IN_FALL if self.slope < 0 and self.smoothed > FAR * self.target else AHEAD
        foreseen = max(self.smoothed + ahead * self.slope, LEAST_FORESEEN * self.target)
        most_down = MOST_DOWN * min(self.seen / FIRST, 1)
        step = min(max(GAIN * math.log(foreseen / self.target), -most_down), MOST_UP)
        self.coef = min(max(self.coef * math.exp(step), LOWEST), HIGHEST)
        self.seen += 1

    def state(self) -> dict[str, float | None]:
        """Beta, the target that it is steered to, and how the KL has been going."""
        return {**super().state(), "kl_smoothed": self.smoothed, "kl_slope": self.slope, "kl_seen": self.seen}

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Go on from a `state`; from one of another controller, with the KL of the next update."""
        super().restore(facts)
        smoothed = facts.get("kl_smoothed")
        self.smoothed = None if smoothed is None else float(smoothed)
        self.slope, self.seen = float(facts.get("kl_slope", 0.0)), int(facts.get("kl_seen", 0))
