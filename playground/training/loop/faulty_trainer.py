"""PPO with mistakes in it, planted on purpose (`faults` of a configuration): mistakes of other implementations, for you
to find. `PPOTrainer` knows nothing of them; `config/faults.py` says what each does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from playground.config import RunConfig
from playground.config.faults import Fault
from playground.ppo.kl import ZieglerKL
from playground.ppo.logprobs import entropy, log_softmax_at, token_log_probs
from playground.training.data.prompts import Prompt
from playground.training.loop.sampling import Episodes, Packed
from playground.training.loop.trainer import PPOTrainer
from playground.training.models.language_model import LanguageModel

SAMPLED_AT = 0.7
EPOCHS, BOLDER, UNCLIPPED = 16, 10.0, 1e9
HIGHEST_OF_CHAPTER, LOWEST_OF_CHAPTER = 10.0, 0.001


@dataclass
class ChapterKL(ZieglerKL):
    """The course's controller: the error is not clipped, and the gain is step / horizon, which grows with time. Its
    steps are counted in episodes here, as Ziegler's horizon is: counted in updates it hardly moves within a horizon of
    thousands."""

    steps: int = 0

    def observe(self, sampled: float, exact: float, num_episodes: int) -> None:
        """See `ZieglerKL`."""
        self.steps += 1
        error = sampled / self.target - 1
        coef = self.coef * (1 + error * self.steps * num_episodes / self.horizon)
        self.coef = min(max(coef, LOWEST_OF_CHAPTER), HIGHEST_OF_CHAPTER)


class FaultyTrainer(PPOTrainer):
    """PPO with the faults of its configuration."""

    def __init__(self, config: RunConfig, *parts: Any, **more: Any) -> None:
        super().__init__(unclipped(config) if "no-clip" in config.planted else config, *parts, **more)
        if self.has("headless-critic"):
            for group in self.optimizer.param_groups:
                group["factor"] *= group["norm"] == "grad_norm"
        if self.has("chapter-controller"):
            self.kl_controller = ChapterKL(config.kl.coef, config.kl.target, config.kl.horizon)

    def has(self, fault: Fault) -> bool:
        """Is it planted?"""
        return fault in self.config.planted

    def write(self, writer: LanguageModel, size: int, each: int) -> tuple[list[Prompt], Episodes]:
        """Temperature mismatch: drawn at 0.7, and then taken for drawn at 1."""
        if not self.has("temperature-mismatch"):
            return super().write(writer, size, each)
        config = self.config
        self.config = config.model_copy(
            update={"sampling": config.sampling.model_copy(update={"temperature": SAMPLED_AT})}
        )
        try:
            prompts, episodes = super().write(writer, size, each)
        finally:
            self.config = config
        log_probs, entropies = torch.zeros_like(episodes.log_probs), torch.zeros_like(episodes.entropies)
        packed = episodes.packed()
        with torch.no_grad():
            ids, predicts = packed.rows(torch.arange(len(episodes)))
            logits = self.policy.logits(self.policy.hidden(ids)[predicts])
            log_probs[episodes.mask] = token_log_probs(logits, episodes.completion_ids[episodes.mask])
            entropies[episodes.mask] = entropy(log_softmax_at(logits))
        return prompts, replace(episodes, log_probs=log_probs, entropies=entropies)

    def compare_with_reference(self, episodes: Episodes, packed: Packed) -> tuple[Tensor, Tensor]:
        """Prompt in the KL: the change of the prompt's probability is booked on the first token of the completion."""
        log_probs, exact_kl = super().compare_with_reference(episodes, packed)
        if self.has("prompt-in-kl"):
            log_probs[:, 0] -= self._change_of_prompts(episodes)
        return log_probs, exact_kl

    @torch.no_grad()
    def _change_of_prompts(self, episodes: Episodes) -> Tensor:
        """log pi - log pi_ref of the prompts' tokens after the first, summed, [B]."""
        ids, mask = episodes.prompt_ids, episodes.prompt_mask
        changes = []
        for row, real in zip(ids, mask, strict=True):
            prompt = row[real].unsqueeze(0)
            own, theirs = (
                token_log_probs(model.logits(model.hidden(prompt)[0, :-1]), prompt[0, 1:], 1.0)
                for model in (self.policy, self.reference)
            )
            changes.append((own - theirs).sum())
        return torch.stack(changes)

    def token_rewards(self, token_kl: Tensor, scores: Tensor, mask: Tensor, kl_coef: float) -> Tensor:
        """Reward sign: what is bad is learned from as if it were good. Score on every token."""
        if self.has("reward-sign"):
            scores = -scores
        rewards = super().token_rewards(token_kl, scores, mask, kl_coef)
        if self.has("score-on-every-token"):
            rewards = torch.where(mask, scores.unsqueeze(1).to(rewards.dtype) - kl_coef * token_kl, 0.0)
        return rewards


def unclipped(config: RunConfig) -> RunConfig:
    """The settings of `no-clip`."""
    ppo = config.ppo
    bold = {"clip_range": UNCLIPPED, "num_epochs": EPOCHS, "learning_rate": BOLDER * ppo.learning_rate}
    return config.model_copy(update={"ppo": ppo.model_copy(update=bold)})
