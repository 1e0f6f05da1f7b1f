"""`engine: trl`: TRL 1.12's own `PPOTrainer`, unchanged, run from our configuration.

Around TRL's loop it builds what that loop expects: a reward module that scores text with our `Scorer`, a value model, a
feed of our prompts. docs/trl.md says how that loop differs from ours, and engines.py which settings it cannot honour.
"""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import TrainerCallback
from transformers.modeling_outputs import BaseModelOutput

from playground.config import RunConfig, engines
from playground.errors import InvalidConfig, Problem
from playground.rewards.mixture import mean_known
from playground.runs.folder.records import UpdateMetrics, finite_or_null
from playground.runs.folder.rollout_records import ScoredTexts
from playground.training.data.prompts import Prompt, prompt_batch
from playground.training.data.random_streams import derived_seed
from playground.training.loop.measures import capped_exp, of_completions
from playground.training.loop.scoring import Scores
from playground.training.models.kv_cache import left_pad
from playground.training.models.language_model import Critic, LanguageModel
from playground.training.models.loading import checkpointing
from playground.training.trl_adapter import TRLAdapter, require_finite, special_tokens


@dataclass
class ScoredBatch:
    """What went through the reward module in one update, a list entry for each completion."""

    prompts: list[str] = field(default_factory=list)
    completions: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)  # sampled tokens, the end-of-sequence token included
    trained: list[int] = field(default_factory=list)  # tokens that TRL's masks leave in the loss
    ended: list[bool] = field(default_factory=list)
    scores: Scores = field(default_factory=lambda: Scores([], [], {}, {}))  # TRL itself subtracts for not ending
    width: int = 0
    seconds: float = 0.0
    finished_at: float = 0.0

    def add(self, more: Scores) -> None:
        """The scores of further completions."""
        self.scores.scores.extend(more.scores)
        self.scores.raw.extend(more.raw)
        for name, values in more.terms.items():
            self.scores.terms.setdefault(name, []).extend(values)
        for name, parts in more.contributions.items():
            self.scores.contributions.setdefault(name, []).extend(parts)


class TextRewardModule(nn.Module):
    """Our scorer in the shape of the sequence classifier that TRL wants: token ids -> text -> one number per row.

    TRL calls the backbone, hands its last hidden state to `.score`, and picks one position of each row. So this is its
    own backbone and returns the row's score at every position, which `.score` leaves alone.
    """

    base_model_prefix = "backbone"

    def __init__(self, trainer: TRLTrainer) -> None:
        super().__init__()
        self.score = nn.Identity()
        self._trainer = trainer
        self.seen = ScoredBatch()

    @property
    def backbone(self) -> TextRewardModule:
        """What TRL calls."""
        return self

    def take(self) -> ScoredBatch:
        """Everything since the last call."""
        seen, self.seen = self.seen, ScoredBatch()
        return seen

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **_: Any) -> BaseModelOutput:
        """[B, T] ids, prompts left-padded, everything behind the end-of-sequence token padding -> scores [B, T, 1]."""
        trainer, tokens = self._trainer, self._trainer.tokens
        trainer.between()
        clock, seen, pad_id = time.perf_counter(), self.seen, tokens.pad_id
        prompts, completions = [], []
        for ids, real in zip(input_ids.tolist(), attention_mask.bool().tolist(), strict=True):
            prompt, width = trainer.waiting.popleft()
            asked = [token for token, keep in zip(ids[:width], real[:width], strict=True) if keep]
            if asked != [token for token in prompt.ids if token != pad_id]:  # TRL takes every pad id for padding
                raise RuntimeError("TRL scored its rows in an order other than that of the prompts.")
            behind, kept = ids[width:], real[width:]
            trained = kept.index(False) if False in kept else len(kept)
            pad_is_eos = pad_id == tokens.eos_id
            ended = trained < len(kept) if pad_is_eos else (tokens.eos_id, True) in zip(behind, kept, strict=True)
            prompts.append(prompt.text)
            completions.append(tokens.decode(behind[:trained]))
            seen.trained.append(trained)
            seen.lengths.append(trained + (ended and pad_is_eos))
            seen.ended.append(ended)
            seen.width = max(seen.width, len(behind))
        scores = trainer.scorer(prompts, completions, [True] * len(prompts))  # TRL has its own penalty for not ending
        seen.prompts += prompts
        seen.completions += completions
        seen.add(scores)
        seen.finished_at = time.perf_counter()
        seen.seconds += seen.finished_at - clock
        column = torch.tensor(scores.scores, dtype=torch.float32, device=input_ids.device)
        return BaseModelOutput(hidden_states=(column[:, None, None].expand(-1, input_ids.shape[1], -1),))


class ValueModel(Critic):
    """The full separate value model that TRL trains: our separate critic, with the names that TRL asks for."""

    base_model_prefix = "trunk"

    def __init__(self, policy: LanguageModel) -> None:
        super().__init__(policy, separate=True)

    @property
    def score(self) -> nn.Linear:
        """From hidden states [..., H] to values [..., 1]."""
        return self.value_head.linear


class TRLTrainer(TRLAdapter):
    """TRL's PPO for one run. Raises: InvalidConfig, with a setting that TRL cannot honour, or without TRL 1.12."""

    critic: ValueModel

    def __init__(self, config: RunConfig, *parts: Any) -> None:
        reason = engines.availability()
        problems = [Problem("engine", reason)] if reason else engines.unsupported(config)
        if problems:
            raise InvalidConfig(problems)
        super().__init__(config, *parts)
        self.batches = 0  # of prompts that TRL was given
        self.waiting: deque[tuple[Prompt, int]] = deque()  # (prompt, width of its batch), in the order of the rollout
        self.reward_model = TextRewardModule(self)
        self.critic = ValueModel(self.policy)
        self.warnings = engines.notes(config)
        if self.tokens.stop_ids:
            self.warnings.append(
                f"This model ends its texts with any of {len(self.tokens.ends)} tokens; TRL takes only one of them, "
                f"number {self.tokens.eos_id}, for an end."
            )
        self.optimizer_steps = 0
        self._grad_norms: list[float] = []

    def build(self, folder: str, listener: TrainerCallback) -> Any:
        """TRL's `PPOTrainer` with its own `PPOConfig`, for this configuration and these models."""
        from trl.experimental.ppo import PPOConfig, PPOTrainer

        self.policy.model.generation_config.pad_token_id = self.tokens.pad_id  # else `generate` warns at each batch
        use_cpu = self.policy.device.type == "cpu"
        settings = {**engines.trl_settings(self.config), **checkpointing(False), "report_to": "none"}
        made: Any = PPOTrainer(
            args=PPOConfig(output_dir=folder, use_cpu=use_cpu, **settings),
            processing_class=special_tokens(self.tokens),
            model=self.policy.model,
            ref_model=self.reference.model,
            reward_model=self.reward_model,
            value_model=self.critic,
            train_dataset=range((self.config.ppo.num_updates + 1) * self.config.ppo.batch_size),  # of positions
            data_collator=self.collate,
            callbacks=[listener],
        )
        made.optimizer.optimizer.register_step_pre_hook(self._before_step)
        np.random.seed(derived_seed(self.config.seed, "trl") % 2**32)  # the micro-batches' order, unseeded by TRL
        return made

    def collate(self, positions: list[int]) -> dict[str, Tensor]:
        """The prompts of an update in the order of our own engine, left-padded: {"input_ids": [B, P]}. There are more
        positions than are read: where TRL reaches the end of its dataset it takes extra optimizer steps."""
        batch = prompt_batch(self.prompts, len(positions), self.batches, self.config.seed)
        self.batches += 1
        ids, _ = left_pad([prompt.ids for prompt in batch], self.tokens.pad_id, torch.device("cpu"))
        self.waiting.extend((prompt, ids.shape[1]) for prompt in batch)
        return {"input_ids": ids}

    def close(self) -> None:
        """See `TRLAdapter.close`."""
        self.running.dataloader.end()  # accelerate would remember it as unfinished
        super().close()

    def _before_step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        self._grad_norms.append(require_finite(optimizer))
        self.optimizer_steps += 1
        self.rate = float(optimizer.param_groups[0]["lr"])

    def reads(self, field: str) -> bool:
        """See `TRLAdapter.reads`."""
        return field in ("kl.coef", "ppo.clip_range", "ppo.learning_rate")

    def set_live(self, config: RunConfig) -> None:
        """See `TRLAdapter.set_live`: TRL reads these again in each update."""
        self.running.args.kl_coef = config.kl.coef
        self.running.args.cliprange = config.ppo.clip_range

    def finish(self, logs: dict[str, float]) -> UpdateMetrics:
        """TRL's log of one update, and what went through the reward module -> our metrics. TRL divides the statistics
        of the optimisation by the number of minibatches, and averages some over padding too; both are undone."""
        now, ppo, k1 = time.perf_counter(), self.config.ppo, self.config.kl.estimator == "k1"
        seen = self.reward_model.take()
        penalised = np.array(seen.scores.scores) - self.config.sampling.missing_eos_penalty * ~np.array(seen.ended)
        minibatches, trained = ppo.batch_size // ppo.minibatch_size, sum(seen.trained) or math.nan
        per_token = len(seen.trained) / trained
        over_cells = len(seen.trained) * seen.width / trained
        ratio = logs["val/ratio"] * minibatches  # padding counts as ratio 1
        negative_log_prob = logs["objective/entropy"] * per_token
        kl_per_token = logs["objective/kl"] * per_token
        rollout = seen.finished_at - self.update_started - seen.seconds
        update = now - self.update_started - rollout - seen.seconds
        self.spent = {"rollout": rollout, "score": seen.seconds, "update": update}
        self.count(sum(seen.lengths))
        spread = of_completions(seen.completions, seen.scores._replace(scores=penalised.tolist()))
        self.scored = ScoredTexts(seen.prompts, seen.completions, penalised.tolist(), None)
        grad_norms, self._grad_norms = self._grad_norms, []
        return UpdateMetrics(
            **self.totals(),
            **spread | {"score_mean": logs["objective/scores"]},
            kl_to_reference=logs["objective/kl"] if k1 else None,
            kl_per_token=finite_or_null(kl_per_token) if k1 else None,
            kl_estimates={self.config.kl.estimator: logs["objective/kl"]},
            penalised_reward=logs["objective/rlhf_reward"],
            kl_coef=self.running.args.kl_coef,
            entropy=finite_or_null(negative_log_prob),  # in expectation the entropy of the policy that wrote the tokens
            update_kl=finite_or_null(logs["policy/approxkl_avg"] * minibatches * over_cells),
            clip_fraction=logs["policy/clipfrac_avg"] * minibatches,
            ratio_mean=finite_or_null(1 + (ratio - 1) * over_cells),
            ratio_max=None,
            policy_loss=logs["loss/policy_avg"] * minibatches,
            value_loss=logs["loss/value_avg"] * minibatches,
            explained_variance=None,
            grad_norm=mean_known(grad_norms),
            learning_rate=self.rate,
            completion_length=float(np.mean(seen.lengths)),
            eos_fraction=float(np.mean(seen.ended)),
            perplexity_reference=finite_or_null(capped_exp(negative_log_prob + kl_per_token)) if k1 else None,
        )
