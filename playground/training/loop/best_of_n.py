"""`method: best_of_n`: no training at all. Each question is answered n times, and the best-scored answer is given.

The thing to beat: it costs nothing beforehand and n times as much for every answer.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import torch

from playground.rewards.best_answers import best_rows, expected_curve
from playground.runs.folder.records import UpdateMetrics
from playground.setup import catalog
from playground.training.data.prompts import Prompt
from playground.training.loop.sampling import Episodes
from playground.training.loop.scoring import Scores
from playground.training.loop.trainer import Collector, Rollout


class BestOfN(Collector):
    """Writes as PPO does and learns nothing: an update is a batch of texts of which the best of each prompt is kept."""

    def compared(self, prompts: list[Prompt], episodes: Episodes, clock: float) -> Rollout:
        """The policy is the model that it started as, so where that is the reference there is nothing to compare."""
        if self.config.reference.source != catalog.START:
            return super().compared(prompts, episodes, clock)
        same, none = episodes.log_probs, torch.zeros_like(episodes.log_probs)
        texts, packed = episodes.texts(self.tokens), episodes.packed()
        return Rollout(prompts, texts, episodes, packed, same, none, time.perf_counter() - clock)

    def update(self) -> UpdateMetrics:
        """One batch: write, score, keep the best. Raises: RewardFailed. Whatever `between` raises."""
        self.warnings, each = [], self.config.ppo.samples_per_prompt
        rollout = self.collect()
        clock = time.perf_counter()
        scores = self.score(rollout)
        seconds_score = time.perf_counter() - clock
        self.updates_done += 1
        self.tokens_done += int(rollout.episodes.mask.sum())
        rows = best_rows(scores.scores, each)
        metrics = self.measure(of_rollout(rollout, rows), of_scores(scores, rows), seconds_score)
        kl = expected_curve(scores.scores, each).kl[-1]
        far = {"kl_to_reference": kl, "kl_per_token": kl / metrics.completion_length}
        of_all: dict[str, Any] = {"kl_estimates": {}, "kl_spreads": {}, "penalised_reward": None}  # before the choice
        return metrics.model_copy(update=far | of_all)


def of_rollout(rollout: Rollout, rows: list[int]) -> Rollout:
    """Some episodes of a rollout; what only learning needs is left out."""
    episodes = rollout.episodes
    names = ("prompt_ids", "prompt_mask", "completion_ids", "mask", "log_probs", "values", "entropies", "ended")
    some = replace(episodes, **{name: getattr(episodes, name)[rows] for name in names}, hidden=None, allowed=None)
    return replace(
        rollout,
        prompts=[rollout.prompts[row] for row in rows],
        completions=[rollout.completions[row] for row in rows],
        episodes=some,
        packed=some.packed(),
        reference_log_probs=rollout.reference_log_probs[rows],
        full_kl=rollout.full_kl[rows],
    )


def of_scores(scores: Scores, rows: list[int]) -> Scores:
    """Some rows of what a scorer said."""
    return Scores(
        [scores.scores[row] for row in rows],
        [scores.raw[row] for row in rows],
        {name: [values[row] for row in rows] for name, values in scores.terms.items()},
        {name: [values[row] for row in rows] for name, values in scores.contributions.items()},
    )
