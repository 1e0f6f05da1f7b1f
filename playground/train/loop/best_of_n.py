"""`method: best_of_n`: no training at all. Each question is answered n times, and the best-scored answer is given.

The thing to beat: it costs nothing beforehand and n times as much for every answer.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch

from playground.rewards.best_answers import best_rows, expected_curve
from playground.runs.folder.records import UpdateMetrics
from playground.setup import catalog
from playground.train.data.prompts import Prompt
from playground.train.loop.sampling import Episodes
from playground.train.loop.trainer import Collector, Rollout


class BestOfN(Collector):
    """Writes as PPO does and learns nothing: an update is a batch of texts of which the best of each prompt is kept."""

    def compared(self, prompts: list[Prompt], episodes: Episodes) -> Rollout:
        """The policy is the model that it started as, so where that is the reference there is nothing to compare."""
        if self.config.reference.source != catalog.START:
            return super().compared(prompts, episodes)
        same, none = episodes.log_probs, torch.zeros_like(episodes.log_probs)
        return Rollout(prompts, episodes.texts(self.tokens), episodes, episodes.packed(), same, none)

    def update(self) -> UpdateMetrics:
        """One batch: write, score, keep the best. Raises: RewardFailed. Whatever `between` raises."""
        self.warnings, each = [], self.config.ppo.samples_per_prompt
        rollout = self.collect()
        scores = self.score(rollout)
        self.count(int(rollout.episodes.mask.sum()))
        rows = best_rows(scores.scores, each)
        metrics = self.measure(of_rows(rollout, rows), scores.of_rows(rows))
        kl = expected_curve(scores.scores, each).kl[-1]
        far = {"kl_to_reference": kl, "kl_per_token": kl / metrics.completion_length}
        of_all: dict[str, Any] = {"kl_estimates": {}, "kl_spreads": {}, "penalised_reward": None}  # before the choice
        return metrics.model_copy(update=far | of_all)


def of_rows(rollout: Rollout, rows: list[int]) -> Rollout:
    """Some episodes of a rollout; what only learning needs is left out."""
    names = [field.name for field in fields(Episodes) if field.name not in ("hidden", "allowed")]
    episodes = Episodes(**{name: getattr(rollout.episodes, name)[rows] for name in names})
    texts = [rollout.prompts[row] for row in rows], [rollout.completions[row] for row in rows]
    return Rollout(*texts, episodes, episodes.packed(), rollout.reference_log_probs[rows], rollout.full_kl[rows])
