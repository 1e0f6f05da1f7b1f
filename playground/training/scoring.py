"""From completions to scores: the mixture, the scale fixed on the reference's samples, the penalty for not ending."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from playground.config import RewardConfig, RunConfig
from playground.rewards import rules
from playground.rewards.mixture import Mixture, Scale


class Scores(NamedTuple):
    """Of one batch: what PPO sees, the raw weighted sums, and each unweighted term. None = no opinion."""

    scores: list[float]
    raw: list[float | None]
    terms: dict[str, list[float | None]]


class Scorer:
    """Scores completions as one run does. `scale` is set once, from samples of the untrained model.

    Args:
        build: what makes a function of a reward entry; a run passes one that can load models.
    """

    def __init__(
        self,
        config: RunConfig,
        mixture: Mixture | None = None,
        scale: Scale | None = None,
        build: Callable[[RewardConfig], rules.Reward] = rules.build,
    ) -> None:
        self._mixture = mixture or Mixture.from_config(config.rewards, build)
        self._normalise = config.score.normalise == "reference"
        self._clip = config.score.clip
        self._missing_eos_penalty = config.sampling.missing_eos_penalty
        self.scale = scale or Scale(clip=self._clip)

    def fit_scale(self, prompts: Sequence[str], completions: Sequence[str]) -> Scale:
        """Fix the scale on samples of the reference. With `score.normalise: none` it stays mean 0, sd 1."""
        if self._normalise:
            self.scale = Scale.of(self._mixture(prompts, completions).totals, self._clip)
        return self.scale

    def __call__(self, prompts: Sequence[str], completions: Sequence[str], ended: Sequence[bool]) -> Scores:
        """Score a batch.

        Raises:
            RewardFailed: see `Mixture`.
        """
        raw, terms = self._mixture(prompts, completions)
        scores = self.scale(raw)
        scores = [score - self._missing_eos_penalty * (not end) for score, end in zip(scores, ended, strict=True)]
        return Scores(scores, raw, terms)
