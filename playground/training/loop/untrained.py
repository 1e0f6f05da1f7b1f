"""The two methods that train nothing.

`best_of_n`: of n answers to each prompt the best-scoring one is kept. `steer`: a vector in the residual stream moves
the model towards better-scoring texts: contrastive activation addition (Panickssery et al. 2023, arXiv 2312.06681); its
pairs are the start model's texts for one prompt. The updates turn the dial from 0 to `steering.strength`.
"""

from __future__ import annotations

import time
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from playground.errors import RewardFailed
from playground.rewards.best_answers import best_rows, expected_curve
from playground.runs.folder.records import UpdateMetrics
from playground.setup import catalog
from playground.training.data.prompts import Prompt
from playground.training.data.random_streams import derived_seed
from playground.training.loop import evaluation
from playground.training.loop.evaluation import Generation
from playground.training.loop.passes import micro_batches
from playground.training.loop.sampling import Episodes, Packed
from playground.training.loop.trainer import Rollout, Trainer
from playground.training.models.steering_vector import SteeringVector, layer_of


class BestOfN(Trainer):
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
        assert self.scored is not None, "`measure` has set it"
        self.scored = self.scored._replace(kls=None)  # a text is the start model's own; what is far is the choice
        assert metrics.completion_length is not None, "these are texts of our own"
        kl = expected_curve(scores.scores, each).kl[-1]
        far = {"kl_to_reference": kl, "kl_per_token": kl / metrics.completion_length}
        of_all: dict[str, Any] = {"kl_estimates": {}, "kl_spreads": {}, "penalised_reward": None}  # before the choice
        return metrics.model_copy(update=far | of_all)


def of_rows(rollout: Rollout, rows: list[int]) -> Rollout:
    """Some episodes of a rollout; what only learning needs is left out."""
    tensors = {}
    for field in fields(Episodes):
        if field.name not in ("hidden", "allowed"):
            tensors[field.name] = getattr(rollout.episodes, field.name)[rows]
    episodes = Episodes(**tensors)
    prompts = [rollout.prompts[row] for row in rows]
    completions = [rollout.completions[row] for row in rows]
    reference, kl = rollout.reference_log_probs[rows], rollout.full_kl[rows]
    return Rollout(prompts, completions, episodes, episodes.packed(), reference, kl)


class Steered(Trainer):
    """Writes as PPO does, learns nothing: an update is a batch of texts at the next strength. Raises: InvalidConfig."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.layer = layer_of(self.policy.trunk, self.config.steering.layer)
        self.found: dict[str, Any] = {}  # what is known of the vector, once it is found

    def update(self) -> UpdateMetrics:
        """One batch at the next strength. Raises: RewardFailed. Whatever `between` raises."""
        self.warnings, self.skipped, wanted = [], False, self.config.steering.strength
        vector = self.policy.steering or self.find()
        strength = wanted * (self.updates_done + 1) / self.config.ppo.num_updates
        self.policy.steer(vector._replace(strength=strength))
        rollout = self.collect()
        scores = self.score(rollout)
        self.count_skipped()
        self.count(int(rollout.episodes.mask.sum()))
        metrics = self.measure(rollout, scores)
        return metrics.model_copy(update={"penalised_reward": None, "steering_strength": strength})

    def find(self) -> SteeringVector:
        """The vector, from texts of the model as it is: see `difference`."""
        config, seed, clock = self.config, self.config.seed, time.perf_counter()
        each, size = config.ppo.samples_per_prompt, config.ppo.batch_size
        asked = [self.prompts[n % len(self.prompts)] for n in range(config.steering.num_prompts) for _ in range(each)]
        how = Generation(self.tokens, config.sampling.in_training, config.ppo.micro_batch_size, self.between)
        means, scores, norms = [], [], []
        for first in range(0, len(asked), size):
            prompts = asked[first : first + size]
            seeds = [derived_seed(seed, "steering", first + row) for row in range(len(prompts))]
            episodes, _ = evaluation.answer(self.policy, None, prompts, seeds, how)
            self.tokens_done += int(episodes.mask.sum())
            texts = [prompt.text for prompt in prompts], episodes.texts(self.tokens)
            scores += self.scorer(*texts, episodes.ended.tolist()).scores
            mean, norm = self.read(episodes.packed())
            means.append(mean)
            norms.append(norm)
        values = difference(torch.cat(means), torch.tensor(scores), each)
        lengths = {"norm": float(values.norm()), "residual_norm": float(torch.cat(norms).mean())}
        cost = {"texts": len(asked), "tokens": self.tokens_done, "seconds": time.perf_counter() - clock}
        self.found = {"layer": self.layer, **lengths, **cost}
        return SteeringVector(self.layer, values, 0.0)

    def read(self, packed: Packed) -> tuple[Tensor, Tensor]:
        """The mean residual stream over the completion of each text [B, H], and its mean norm there [B]."""
        size = len(packed.ids)
        wrote = torch.nn.functional.pad(packed.predicts[:, :-1], (1, 0))  # only there do texts for one prompt differ
        means = torch.zeros(size, self.policy.residual_size, device=packed.ids.device)
        norms = torch.zeros(size, device=packed.ids.device)
        at_once, overhead = self.config.ppo.micro_batch_size, self.policy.call_overhead_tokens
        for micro in micro_batches(torch.arange(size), packed.totals, at_once, overhead):
            self.between()
            residual, mask = self.policy.residual(packed.ids[micro], self.layer).float(), wrote[micro].unsqueeze(-1)
            tokens = mask.sum(1)
            means[micro] = (residual * mask).sum(1) / tokens
            norms[micro] = (residual.norm(dim=-1, keepdim=True) * mask).sum(1)[:, 0] / tokens[:, 0]
        return means, norms


def difference(means: Tensor, scores: Tensor, each: int) -> Tensor:
    """The mean difference between the better and the worse of two texts for a prompt, [H]; `each` in a row are of one.
    Raises: RewardFailed, if no prompt has a better and a worse text.

    Over all pairs i, j of a prompt's texts, each weighted by how much the better one's score is higher: sum of
    (s_i - s_j) (h_i - h_j) over sum of |s_i - s_j|. The numerator is n times the sum of (s_i - mean s) h_i.
    """
    grouped = scores.to(means.device, torch.float64).view(-1, each)
    weights = each * (grouped - grouped.mean(1, keepdim=True)).flatten()
    total = (grouped.unsqueeze(1) - grouped.unsqueeze(2)).abs().sum() / 2
    if not total:
        raise RewardFailed(
            "rewards: every prompt's texts have the same score, so there is no better or worse text to steer between. "
            "Choose a reward that differs between texts of one prompt, or raise steering.num_prompts."
        )
    return (weights.unsqueeze(1) * means.double()).sum(0).div(total).to(means.dtype)
