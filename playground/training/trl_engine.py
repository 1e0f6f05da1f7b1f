"""`engine: trl`: TRL 1.12's own `PPOTrainer`, unchanged, run from our configuration.

The one file that knows TRL. Around TRL's loop it builds what that loop expects: a reward module that scores text with
our `Scorer`, a value model, a feed of our prompts; and it listens (a callback, and PyTorch's own hooks) to turn TRL's
log into `UpdateMetrics` and to break off when asked. It changes nothing inside the loop: docs/trl.md says how that loop
differs from ours, and engines.py which settings it cannot honour. Knows nothing of run directories or processes.
"""

from __future__ import annotations

import copy
import math
import tempfile
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PrinterCallback, TrainerCallback

from playground.config import RunConfig, engines
from playground.errors import InvalidConfig, Problem, RunNotResumable, TrainingDiverged
from playground.ppo.kl import FixedKL
from playground.runs.folder.records import UpdateMetrics
from playground.training.data.prompts import Prompt, prompt_batch
from playground.training.data.random_streams import derived_seed
from playground.training.loop.measures import capped_exp, mean_known, memory_gb, of_completions
from playground.training.loop.sampling import left_pad
from playground.training.loop.scoring import Scorer, Scores
from playground.training.models.language_model import LanguageModel, Tokens, ValueHead
from playground.training.trl_offline import quiet, rescale


@dataclass(frozen=True)
class SpecialTokens:
    """All that TRL's loop asks of a tokenizer. TRL's names; the pad id may be one that the tokenizer does not know."""

    pad_token_id: int
    eos_token_id: int


class PromptFeed:
    """Dataset and collator in one: hands TRL the prompts of each update, in the order of our own engine.

    TRL's sampler shuffles positions; which prompts make a batch does not depend on it. Long enough that TRL never
    reaches its end, where it would take extra optimizer steps.
    """

    def __init__(self, config: RunConfig, prompts: list[Prompt], tokens: Tokens) -> None:
        self._config, self._prompts, self._tokens = config, prompts, tokens
        self._handed_out = 0
        self.waiting: deque[tuple[Prompt, int]] = deque()  # (prompt, width of its batch), in the order of the rollout

    def __len__(self) -> int:
        return (self._config.ppo.num_updates + 1) * self._config.ppo.batch_size

    def __getitem__(self, position: int) -> int:
        return position

    def collate(self, positions: list[int]) -> dict[str, Tensor]:
        """The next batch, left-padded: {"input_ids": [B, P]}."""
        batch = prompt_batch(self._prompts, len(positions), self._handed_out, self._config.seed)
        self._handed_out += 1
        ids, _ = left_pad([prompt.ids for prompt in batch], self._tokens.pad_id, torch.device("cpu"))
        self.waiting.extend((prompt, ids.shape[1]) for prompt in batch)
        return {"input_ids": ids}


@dataclass
class Seen:
    """What went through the reward module in one update."""

    completions: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)  # sampled tokens, the end-of-sequence token included
    trained: list[int] = field(default_factory=list)  # tokens that TRL's masks leave in the loss
    ended: list[bool] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)  # without the penalty for not ending, which TRL subtracts itself
    raw: list[float | None] = field(default_factory=list)
    terms: dict[str, list[float | None]] = field(default_factory=dict)
    contributions: dict[str, list[float]] = field(default_factory=dict)
    width: int = 0
    seconds: float = 0.0
    finished_at: float = 0.0


class RewardModel(nn.Module):
    """Our scorer in the shape of the sequence classifier that TRL wants: token ids -> text -> one number per row.

    TRL calls the backbone, hands its last hidden state to `.score`, and picks one position of each row. So the backbone
    returns the row's score at every position, as a hidden state of size 1, and `.score` leaves it alone.
    """

    base_model_prefix = "backbone"

    def __init__(self, scorer: Scorer, tokens: Tokens, feed: PromptFeed, between: Callable[[], None]) -> None:
        super().__init__()
        self.backbone = ScoringBackbone(scorer, tokens, feed, between)
        self.score = nn.Identity()


class ScoringBackbone(nn.Module):
    """See `RewardModel`. Keeps what it has `seen` since the last `take`."""

    def __init__(self, scorer: Scorer, tokens: Tokens, feed: PromptFeed, between: Callable[[], None]) -> None:
        super().__init__()
        self._scorer, self._tokens, self._feed, self._between = scorer, tokens, feed, between
        self.seen = Seen()

    def take(self) -> Seen:
        """Everything since the last call."""
        seen, self.seen = self.seen, Seen()
        return seen

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **_: Any) -> BackboneOutput:
        """[B, T] ids, prompts left-padded, everything behind the end-of-sequence token padding -> scores [B, T, 1]."""
        self._between()
        clock = time.perf_counter()
        prompts, completions, seen = [], [], self.seen
        for ids, real in zip(input_ids.tolist(), attention_mask.bool().tolist(), strict=True):
            prompt, width = self._feed.waiting.popleft()
            asked = [token for token, keep in zip(ids[:width], real[:width], strict=True) if keep]
            if asked != self._without_pad(prompt):
                raise RuntimeError("TRL scored its rows in another order than it was given the prompts.")
            behind, kept = ids[width:], real[width:]
            trained = kept.index(False) if False in kept else len(kept)
            pad_is_eos = self._tokens.pad_id == self._tokens.eos_id
            ended = trained < len(kept) if pad_is_eos else (self._tokens.eos_id, True) in zip(behind, kept, strict=True)
            prompts.append(prompt.text)
            completions.append(self._tokens.decode(behind[:trained]))
            seen.trained.append(trained)
            seen.lengths.append(trained + (ended and pad_is_eos))
            seen.ended.append(ended)
            seen.width = max(seen.width, len(behind))
        scores = self._scorer(prompts, completions, [True] * len(prompts))  # TRL has its own penalty for not ending
        self._remember(completions, scores, time.perf_counter() - clock)
        column = torch.tensor(scores.scores, dtype=torch.float32, device=input_ids.device)
        return BackboneOutput((column[:, None, None].expand(-1, input_ids.shape[1], -1),))

    def _without_pad(self, prompt: Prompt) -> list[int]:
        """A prompt as TRL sees it: it takes every pad id for padding, also one that belongs to the prompt."""
        return [token for token in prompt.ids if token != self._tokens.pad_id]

    def _remember(self, completions: list[str], scores: Scores, seconds: float) -> None:
        seen = self.seen
        seen.completions += completions
        seen.scores += scores.scores
        seen.raw += scores.raw
        for name, values in scores.terms.items():
            seen.terms.setdefault(name, []).extend(values)
        for name, parts in scores.contributions.items():
            seen.contributions.setdefault(name, []).extend(parts)
        seen.seconds += seconds
        seen.finished_at = time.perf_counter()


@dataclass
class BackboneOutput:
    """The one field of a model output that TRL reads."""

    hidden_states: tuple[Tensor, ...]


class ValueModel(nn.Module):
    """The full separate value model that TRL trains: a copy of the policy's trunk, and a head that starts at 0."""

    base_model_prefix = "trunk"

    def __init__(self, policy: LanguageModel) -> None:
        super().__init__()
        self.trunk = copy.deepcopy(policy.trunk)
        self.score = ValueHead(policy.hidden_size).linear.to(policy.device)

    @torch.no_grad()
    def forward(self, ids: Tensor, predicts: Tensor, policy_hidden: Tensor) -> Tensor:
        """For a look at the fixed prompts, see `Critic`; TRL calls trunk and score by themselves."""
        hidden = self.trunk(input_ids=ids, use_cache=False, return_dict=True).last_hidden_state
        return self.score(hidden[predicts].float()).squeeze(-1)


class TRLTrainer:
    """TRL's PPO for one run. Same arguments as our `PPOTrainer`; TRL's loop is one call, so `train` is too.

    Attributes:
        policy: trained in place. updates_done. warnings: what TRL does otherwise than the configuration asks.
        optimizer_steps: how many TRL has taken.

    Raises:
        InvalidConfig: with a setting that TRL cannot honour, or without TRL 1.12.
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
        reason = engines.availability()
        problems = [Problem("engine", reason)] if reason else engines.unsupported(config)
        if problems:
            raise InvalidConfig(problems)
        self.config, self.policy, self.reference, self.tokens = config, policy, reference, tokens
        self.scorer, self.between = scorer, between
        self.feed = PromptFeed(config, prompts, tokens)
        self.reward_model = RewardModel(scorer, tokens, self.feed, between)
        self.critic = ValueModel(policy)  # what a checkpoint keeps beside the policy
        self.kl_controller = FixedKL(config.kl.coef)
        self.warnings = engines.notes(config)
        if tokens.stop_ids:
            self.warnings.append(
                f"This model ends its texts with any of {len(tokens.ends)} tokens; TRL takes only one of them, "
                f"number {tokens.eos_id}, for an end."
            )
        self.updates_done = 0
        self.tokens_done = 0
        self.optimizer_steps = 0
        self._grad_norms: list[float] = []
        self._learning_rate = config.ppo.learning_rate  # of the latest optimizer step
        self._running: Any = None  # TRL's trainer, while it trains
        self._started = self._update_started = time.perf_counter()

    def train(
        self,
        after_update: Callable[[UpdateMetrics], None] = lambda metrics: None,
        before_update: Callable[[], None] = lambda: None,
    ) -> None:
        """Run all updates; `before_update` is called before each, `after_update` at its end.

        `between` is called before every pass of the policy (each sampled token, each micro-batch) and before every
        scoring. Both may raise; TRL's loop then ends there, with the weights of the last optimizer step.

        Raises:
            TrainingDiverged: before an optimizer step whose gradient is not finite. Whatever `between`,
            `after_update` or a reward raise.
        """
        listener = _Listener(self, before_update, after_update)
        generation = self.policy.model.generation_config
        pad_before = generation.pad_token_id
        generation.pad_token_id = self.tokens.pad_id  # or else `generate` warns of it for each batch
        watch = self.policy.model.register_forward_pre_hook(lambda *_: self.between())
        with tempfile.TemporaryDirectory(prefix="playground-trl-") as folder:
            self._running = trainer = build(self, folder, listener)
            steps = trainer.optimizer.optimizer.register_step_pre_hook(self._before_step)
            np.random.seed(derived_seed(self.config.seed, "trl") % 2**32)  # the micro-batches' order, unseeded by TRL
            try:
                before_update()
                self.next_update()
                trainer.train()
            finally:
                self._running = None
                watch.remove()
                steps.remove()
                generation.pad_token_id = pad_before
                trainer.dataloader.end()  # accelerate would remember it as unfinished
                trainer.accelerator.free_memory()
                for model in (self.policy, self.critic):
                    model.zero_grad(set_to_none=True)
                    model.eval()

    def state(self) -> tuple[None, dict[str, Any]]:
        """What a checkpoint says beside the weights. TRL's optimizer ends with its loop, and `train` takes no
        checkpoint: a run cannot be gone on with."""
        return None, {"kl_coef": self.kl_controller.coef, "tokens": self.tokens_done}

    def restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Raises: RunNotResumable."""
        raise RunNotResumable("TRL's PPOTrainer cannot go on from a checkpoint.")

    def _before_step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        norm = float(torch.nn.utils.get_total_norm(gradients))
        if not math.isfinite(norm):
            raise TrainingDiverged(
                "An optimizer step of TRL had a gradient that is not finite, and TRL would have taken it. "
                "Lower the learning rate, or raise beta."
            )
        self.optimizer_steps += 1
        self._grad_norms.append(norm)
        self._learning_rate = float(optimizer.param_groups[0]["lr"])

    def change(self, config: RunConfig, fields: Collection[str]) -> None:
        """Go on with other live settings from the next update, where TRL reads them anew in each.

        Args:
            fields: what was set, for example `kl.coef`.
        """
        before, self.config = self.config, config
        self.kl_controller.coef = config.kl.coef
        for name in set(fields) - {"kl.coef", "ppo.clip_range", "ppo.learning_rate"}:
            self.warnings.append(f"TRL does not know {name}: the change has no effect.")
        if self._running is None:
            return
        self._running.args.kl_coef = config.kl.coef
        self._running.args.cliprange = config.ppo.clip_range
        rescale(self._running, config.ppo.learning_rate / before.ppo.learning_rate)

    def measure(self, logs: dict[str, float]) -> UpdateMetrics:
        """TRL's log of one update, and what went through the reward module -> our metrics. Called once per update.

        TRL divides the statistics of the optimisation by the number of minibatches, and averages some of them over
        padding too; both are undone. What it does not tell is None.
        """
        now, estimator = time.perf_counter(), self.config.kl.estimator
        ppo, seen = self.config.ppo, self.reward_model.backbone.take()
        penalty = self.config.sampling.missing_eos_penalty
        score = np.array(seen.scores) - penalty * ~np.array(seen.ended)
        minibatches = ppo.batch_size // ppo.minibatch_size
        trained = sum(seen.trained)
        cells = len(seen.trained) * seen.width
        per_token = len(seen.trained) / trained if trained else math.nan
        over_cells = cells / trained if trained else math.nan
        ratio = logs["val/ratio"] * minibatches  # padding counts as ratio 1
        negative_log_prob = logs["objective/entropy"] * per_token
        kl_per_token = logs["objective/kl"] * per_token
        total = now - self._update_started
        seconds_rollout = seen.finished_at - self._update_started - seen.seconds
        self.updates_done += 1
        self.tokens_done += sum(seen.lengths)
        spread = of_completions(seen.completions, score, seen.raw, seen.terms, seen.contributions)
        metrics = UpdateMetrics(
            update=self.updates_done,
            episodes=self.updates_done * ppo.batch_size,
            tokens=self.tokens_done,
            seconds=now - self._started,
            seconds_rollout=seconds_rollout,
            seconds_score=seen.seconds,
            seconds_update=total - seconds_rollout - seen.seconds,
            **spread | {"score_mean": logs["objective/scores"]},
            kl_to_reference=logs["objective/kl"] if estimator == "k1" else None,
            kl_per_token=_finite(kl_per_token) if estimator == "k1" else None,
            kl_estimates={estimator: logs["objective/kl"]},
            penalised_reward=logs["objective/rlhf_reward"],
            kl_coef=self._running.args.kl_coef,
            entropy=_finite(negative_log_prob),  # in expectation the entropy of the policy that wrote the tokens
            update_kl=_finite(logs["policy/approxkl_avg"] * minibatches * over_cells),
            clip_fraction=logs["policy/clipfrac_avg"] * minibatches,
            ratio_mean=_finite(1 + (ratio - 1) * over_cells),
            ratio_max=None,
            policy_loss=logs["loss/policy_avg"] * minibatches,
            value_loss=logs["loss/value_avg"] * minibatches,
            explained_variance=None,
            grad_norm=mean_known(self._grad_norms),
            learning_rate=self._learning_rate,
            completion_length=float(np.mean(seen.lengths)),
            eos_fraction=float(np.mean(seen.ended)),
            perplexity_reference=_finite(capped_exp(negative_log_prob + kl_per_token)) if estimator == "k1" else None,
            memory_gb=memory_gb(self.policy.device),
        )
        self._grad_norms = []
        return metrics

    def rested(self, seconds: float) -> None:
        """As `PPOTrainer.rested`."""
        self._started += seconds

    def next_update(self) -> None:
        """The clock of the next update starts now: what ran in between (evaluation, saving) is not TRL's."""
        self._update_started = time.perf_counter()


class _Listener(TrainerCallback):
    """Hears TRL's log of an update, and its end; TRL has no other place at which to look in."""

    def __init__(
        self,
        trainer: TRLTrainer,
        before_update: Callable[[], None],
        after_update: Callable[[UpdateMetrics], None],
    ) -> None:
        self._trainer, self._before_update, self._after_update = trainer, before_update, after_update
        self._metrics: UpdateMetrics | None = None

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        self._metrics = self._trainer.measure(logs or {})

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._metrics is not None:
            self._after_update(self._metrics)
        self._trainer.between()  # not before: an update that is counted is told
        if self._trainer.updates_done < self._trainer.config.ppo.num_updates:
            self._before_update()
        self._trainer.next_update()


def build(trainer: TRLTrainer, folder: str, *callbacks: TrainerCallback) -> Any:
    """TRL's `PPOTrainer` with its own `PPOConfig`, for `trainer`'s configuration and models."""
    quiet()
    from trl.experimental.ppo import PPOConfig, PPOTrainer

    on_cpu = trainer.policy.device.type == "cpu"
    arguments: dict[str, Any] = {
        "args": PPOConfig(output_dir=folder, use_cpu=on_cpu, **engines.trl_settings(trainer.config)),
        "processing_class": SpecialTokens(trainer.tokens.pad_id, trainer.tokens.eos_id),
        "model": trainer.policy.model,
        "ref_model": trainer.reference.model,
        "reward_model": trainer.reward_model,
        "value_model": trainer.critic,
        "train_dataset": trainer.feed,
        "data_collator": trainer.feed.collate,
        "callbacks": list(callbacks),
    }
    made = PPOTrainer(**arguments)
    made.remove_callback(PrinterCallback)  # prints every log line; they are in metrics.jsonl
    return made


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
