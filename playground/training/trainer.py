"""PPO for language models, step by step: one call of `PPOTrainer.update` writes a batch, scores it and learns from it.

Reads from top to bottom: collect -> score -> advantages -> optimise. The maths is in `playground.ppo`, the models in
models.py, sampling in sampling.py. Knows nothing of run directories, processes or pages: the worker, tests and
notebooks drive the same object.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import numpy as np
import psutil
import torch
from torch import Tensor

from playground.config import RunConfig
from playground.errors import TrainingDiverged
from playground.pocket.text import distinct_n
from playground.ppo.advantages import generalised_advantages, token_rewards
from playground.ppo.kl import AdaptiveKL, FixedKL, k3
from playground.ppo.logprobs import entropy, log_softmax_at, token_log_probs
from playground.ppo.losses import clipped_tokens, policy_loss, value_loss
from playground.ppo.masked import explained_variance, masked_mean, masked_sum, whiten
from playground.runs.records import UpdateMetrics
from playground.training.models import LanguageModel, Tokens, ValueHead
from playground.training.prompts import Prompt, prompt_batch
from playground.training.sampling import Episodes, Packed, sample
from playground.training.scoring import Scorer, Scores
from playground.training.streams import generator

ADAM_EPSILON = 1e-5  # as in OpenAI's and Ziegler's PPO; PyTorch's 1e-8 makes the first steps too bold
VALUE_LEARNING_RATE_FACTOR = 30.0  # the head is one linear map on features that change slowly; it must keep up
MOST_SKIPPED_IN_A_ROW = 3


@dataclass
class Rollout:
    """One batch of episodes with everything that PPO needs to know about it. All tensors [B, C] or [B]."""

    prompts: list[Prompt]
    completions: list[str]
    episodes: Episodes
    packed: Packed
    reference_log_probs: Tensor
    seconds: float


class PPOTrainer:
    """Policy, value head, reference and optimizer of one run.

    Args:
        prompts: what to train on. between: called between micro-batches and tokens; may raise to break off.
    """

    def __init__(
        self,
        config: RunConfig,
        policy: LanguageModel,
        reference: LanguageModel,
        tokens: Tokens,
        prompts: list[Prompt],
        scorer: Scorer,
        between: Callable[[], None] = lambda: None,
    ) -> None:
        self.config = config
        self.policy, self.reference, self.tokens = policy, reference, tokens
        self.prompts, self.scorer, self.between = prompts, scorer, between
        self.value_head = ValueHead(policy.hidden_size).to(policy.device)
        policy_parameters = [parameter for parameter in policy.parameters() if parameter.requires_grad]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": policy_parameters, "factor": 1.0},
                {"params": list(self.value_head.parameters()), "factor": VALUE_LEARNING_RATE_FACTOR},
            ],
            lr=config.ppo.learning_rate,
            eps=ADAM_EPSILON,
            weight_decay=0.0,
        )
        self.kl_controller = (
            AdaptiveKL(config.kl.coef, config.kl.target, config.kl.horizon)
            if config.kl.controller == "adaptive"
            else FixedKL(config.kl.coef)
        )
        self.updates_done = 0
        self.tokens_done = 0
        self.warnings: list[str] = []  # of the latest update, for the worker to record
        self._skipped_in_a_row = 0
        self._started = time.perf_counter()

    def update(self) -> UpdateMetrics:
        """One PPO update: collect, score, advantages, optimise.

        Raises:
            TrainingDiverged: after three optimizer steps in a row whose loss or gradient was not finite.
            RewardFailed: if a reward function misbehaves. Whatever `between` raises.
        """
        self.warnings = []
        rollout = self.collect()

        clock = time.perf_counter()
        scores = self.score(rollout)
        seconds_score = time.perf_counter() - clock

        clock = time.perf_counter()
        kl_coef = self.kl_controller.coef
        advantages, returns = self.advantages(rollout, scores, kl_coef)
        learning_rate = self.learning_rate()
        steps = self.optimise(rollout, advantages, returns, learning_rate)
        seconds_update = time.perf_counter() - clock

        self.updates_done += 1
        self.tokens_done += int(rollout.episodes.mask.sum())
        metrics = self.measure(rollout, scores, returns, steps, kl_coef, learning_rate, seconds_score, seconds_update)
        if metrics.kl_to_reference is not None:
            self.kl_controller.observe(metrics.kl_to_reference, len(rollout.episodes))
        return metrics

    def change(self, config: RunConfig, fields: Collection[str]) -> None:
        """Go on with other live settings from the next update.

        Args:
            fields: what was set, for example `kl.coef`: beta is set even where the controller has moved it meanwhile.
        """
        self.config = config
        if "kl.coef" in fields:
            self.kl_controller.coef = config.kl.coef
        if isinstance(self.kl_controller, AdaptiveKL):
            self.kl_controller.target = config.kl.target

    # -- collect ------------------------------------------------------------------------------------------------------

    def collect(self) -> Rollout:
        """Sample a completion for each prompt of the batch; log-probs of the reference for the same tokens."""
        clock = time.perf_counter()
        sampling, size = self.config.sampling, self.config.ppo.batch_size
        prompts = prompt_batch(self.prompts, size, self.updates_done, self.config.seed)
        draws = torch.rand(
            size,
            sampling.max_new_tokens,
            generator=generator(self.config.seed, "sampling", self.updates_done),
            dtype=torch.float64,
        )
        episodes = sample(
            self.policy, self.value_head, self.tokens, [prompt.ids for prompt in prompts], draws,
            sampling.temperature, self.between,
        )  # fmt: skip
        packed = episodes.packed()
        reference_log_probs = score_tokens(
            self.reference, episodes, packed, sampling.temperature, self.config.ppo.micro_batch_size, self.between
        )
        completions = episodes.texts(self.tokens)
        return Rollout(prompts, completions, episodes, packed, reference_log_probs, time.perf_counter() - clock)

    # -- score --------------------------------------------------------------------------------------------------------

    def score(self, rollout: Rollout) -> Scores:
        """One normalised number for each completion."""
        prompts = [prompt.text for prompt in rollout.prompts]
        return self.scorer(prompts, rollout.completions, rollout.episodes.ended.tolist())

    # -- advantages ---------------------------------------------------------------------------------------------------

    def advantages(self, rollout: Rollout, scores: Scores, kl_coef: float) -> tuple[Tensor, Tensor]:
        """Token rewards -> whitened advantages and value targets, both [B, C]."""
        episodes, ppo = rollout.episodes, self.config.ppo
        log_ratio = episodes.log_probs - rollout.reference_log_probs
        score = torch.tensor(scores.scores, device=log_ratio.device)
        rewards = token_rewards(log_ratio, score, episodes.mask, kl_coef)
        advantages, returns = generalised_advantages(rewards, episodes.values, episodes.mask, ppo.gamma, ppo.gae_lambda)
        return whiten(advantages, episodes.mask), returns

    # -- optimise -----------------------------------------------------------------------------------------------------

    def learning_rate(self) -> float:
        """Of this update: constant, or falling linearly to 0 after the last one."""
        ppo = self.config.ppo
        if ppo.schedule == "constant":
            return ppo.learning_rate
        return ppo.learning_rate * max(0.0, 1 - self.updates_done / ppo.num_updates)

    def optimise(
        self, rollout: Rollout, advantages: Tensor, returns: Tensor, learning_rate: float
    ) -> dict[str, list[float]]:
        """The epochs of one update: exactly num_epochs x minibatches optimizer steps, unless stopped by the update KL.

        Returns:
            For each statistic its value in every optimizer step; `update_kl` of the last epoch only.
        """
        ppo = self.config.ppo
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate * group["factor"]
        steps: dict[str, list[float]] = defaultdict(list)
        for epoch in range(ppo.num_epochs):
            steps["update_kl"].clear()
            shuffle = generator(self.config.seed, "minibatches", self.updates_done, epoch)
            for rows in torch.randperm(ppo.batch_size, generator=shuffle).split(ppo.minibatch_size):
                for name, value in self.step(rollout, rows, advantages, returns).items():
                    steps[name].append(value)
            if ppo.update_kl_stop and np.mean(steps["update_kl"]) > ppo.update_kl_stop:
                break
        return steps

    def step(self, rollout: Rollout, rows: Tensor, advantages: Tensor, returns: Tensor) -> dict[str, float]:
        """One optimizer step on one minibatch, cut into micro-batches of similar length.

        The loss is the mean over the minibatch's tokens, so the cut changes memory and speed but not the gradient.
        """
        ppo, episodes = self.config.ppo, rollout.episodes
        num_tokens = episodes.mask[rows].sum()
        self.optimizer.zero_grad(set_to_none=True)
        sums: dict[str, Tensor] = defaultdict(lambda: torch.zeros((), device=advantages.device))
        for micro in micro_batches(rows, rollout.packed.totals, ppo.micro_batch_size):
            self.between()
            mask = episodes.mask[micro]
            log_probs, values, entropies = self.forward(rollout.packed, micro, episodes.completion_ids[micro][mask])
            log_ratio = log_probs - episodes.log_probs[micro][mask]
            advantage = advantages[micro][mask]
            losses = {
                "policy_loss": policy_loss(log_ratio, advantage, ppo.clip_range).sum(),
                "value_loss": value_loss(
                    values, episodes.values[micro][mask], returns[micro][mask], ppo.value_clip_range
                ).sum(),
            }
            loss = losses["policy_loss"] + ppo.value_coef * losses["value_loss"]
            if entropies is not None:
                loss = loss - ppo.entropy_coef * entropies.sum()
            (loss / num_tokens).backward()
            with torch.no_grad():
                for name, value in losses.items():
                    sums[name] += value.detach()
                sums["clip_fraction"] += clipped_tokens(log_ratio, advantage, ppo.clip_range).sum()
                sums["ratio_mean"] += log_ratio.exp().sum()
                sums["update_kl"] += k3(-log_ratio).sum()
                sums["ratio_max"] = torch.maximum(sums["ratio_max"], log_ratio.exp().max())
        grad_norm = self.apply_gradient(sums["policy_loss"] + sums["value_loss"])
        means = {name: float(value if name == "ratio_max" else value / num_tokens) for name, value in sums.items()}
        return {**means, "grad_norm": grad_norm}

    def forward(self, packed: Packed, rows: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Log-probs, values and (only if there is a bonus on it) entropies of the N completion tokens of some episodes.

        Only positions that predict a completion token go through the LM head.
        """
        temperature = self.config.sampling.temperature
        ids, predicts = packed.rows(rows)
        hidden = self.policy.hidden(ids)[predicts]
        logits = self.policy.lm_head(hidden)
        entropies = entropy(log_softmax_at(logits, temperature)) if self.config.ppo.entropy_coef else None
        return token_log_probs(logits, tokens, temperature), self.value_head(hidden), entropies

    def apply_gradient(self, loss: Tensor) -> float:
        """Clip the gradient and step, unless loss or gradient is not finite. Returns the norm before clipping."""
        parameters = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        grad_norm = torch.nn.utils.clip_grad_norm_(parameters, self.config.ppo.max_grad_norm)
        if bool(torch.isfinite(loss) & torch.isfinite(grad_norm)):
            self.optimizer.step()
            self._skipped_in_a_row = 0
        else:
            self._skipped_in_a_row += 1
            self.warnings.append("An optimizer step was skipped: its loss or gradient was not finite.")
            if self._skipped_in_a_row >= MOST_SKIPPED_IN_A_ROW:
                raise TrainingDiverged(
                    f"{MOST_SKIPPED_IN_A_ROW} optimizer steps in a row had a loss or gradient that is not finite. "
                    "Lower the learning rate, or raise beta."
                )
        return float(grad_norm)

    # -- measure ------------------------------------------------------------------------------------------------------

    def measure(
        self, rollout: Rollout, scores: Scores, returns: Tensor, steps: dict[str, list[float]], kl_coef: float,
        learning_rate: float, seconds_score: float, seconds_update: float,
    ) -> UpdateMetrics:  # fmt: skip
        """The numbers of this update, for the charts."""
        episodes = rollout.episodes
        mask = episodes.mask
        score = np.array(scores.scores)
        log_ratio = episodes.log_probs - rollout.reference_log_probs
        kl = float(masked_sum(log_ratio, mask)) / len(episodes)
        return UpdateMetrics(
            update=self.updates_done,
            episodes=self.updates_done * len(episodes),
            tokens=self.tokens_done,
            seconds=time.perf_counter() - self._started,
            seconds_rollout=rollout.seconds,
            seconds_score=seconds_score,
            seconds_update=seconds_update,
            score_mean=float(score.mean()),
            score_std=float(score.std()),
            score_p10=float(np.quantile(score, 0.1)),
            score_p50=float(np.quantile(score, 0.5)),
            score_p90=float(np.quantile(score, 0.9)),
            raw_score_mean=_mean(scores.raw),
            terms={name: _mean(values) for name, values in scores.terms.items()},
            kl_to_reference=kl,
            kl_per_token=float(masked_mean(log_ratio, mask)),
            penalised_reward=float(score.mean()) - kl_coef * kl,
            kl_coef=kl_coef,
            entropy=float(masked_mean(episodes.entropies, mask)),
            update_kl=_mean(steps["update_kl"]),
            clip_fraction=_mean(steps["clip_fraction"]),
            ratio_mean=_mean(steps["ratio_mean"]),
            ratio_max=max(steps["ratio_max"]),
            policy_loss=_mean(steps["policy_loss"]),
            value_loss=_mean(steps["value_loss"]),
            explained_variance=float(explained_variance(episodes.values, returns, mask)),
            grad_norm=_mean(steps["grad_norm"]),
            learning_rate=learning_rate,
            completion_length=float(episodes.lengths.float().mean()),
            eos_fraction=float(episodes.ended.float().mean()),
            distinct_2=distinct_n(rollout.completions, 2),
            perplexity_reference=_exp(-float(masked_mean(rollout.reference_log_probs, mask))),
            memory_gb=_memory_gb(self.policy.device),
        )


@torch.no_grad()
def score_tokens(
    model: LanguageModel,
    episodes: Episodes,
    packed: Packed,
    temperature: float,
    micro_batch_size: int,
    between: Callable[[], None] = lambda: None,
) -> Tensor:
    """log-probs [B, C] that `model` gives to the sampled tokens at the sampling temperature; 0 where masked."""
    log_probs = torch.zeros_like(episodes.log_probs)
    for rows in micro_batches(torch.arange(len(episodes)), packed.totals, micro_batch_size):
        between()
        ids, predicts = packed.rows(rows)
        mask = episodes.mask[rows]
        logits = model.lm_head(model.hidden(ids)[predicts])
        row_log_probs = torch.zeros_like(log_probs[rows])
        row_log_probs[mask] = token_log_probs(logits, episodes.completion_ids[rows][mask], temperature)
        log_probs[rows] = row_log_probs
    return log_probs


def micro_batches(rows: Tensor, lengths: Tensor, size: int) -> Iterator[Tensor]:
    """Cut episodes into groups of similar length, so that little is padding."""
    order = torch.argsort(lengths[rows].cpu(), stable=True)
    yield from rows[order].split(size)


def _mean(values: list[float | None] | list[float]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _exp(value: float) -> float:
    return math.exp(min(value, 700.0))


def _memory_gb(device: torch.device) -> float:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e9
    return psutil.Process().memory_info().rss / 1e9
