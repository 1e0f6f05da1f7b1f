"""PPO for language models, step by step: one call of `PPOTrainer.update` writes a batch, scores it and learns from it.
Reads from top to bottom: collect -> score (`Trainer`) -> advantages -> optimise (`PPOTrainer`). The maths is in
`playground.ppo`, the models in `training/models/`, sampling in sampling.py. Knows nothing of runs or pages."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from playground.config import RunConfig
from playground.config.training_settings import KLConfig
from playground.errors import RewardNotFinite, TrainingDiverged
from playground.ppo.advantages import advantages_of, overlong_penalties, token_rewards
from playground.ppo.kl import (
    CORRECTED,
    SAMPLED_ESTIMATORS,
    AdaptiveKL,
    FixedKL,
    TargetKL,
    ZieglerKL,
    full_kl,
    k3,
    loss_kl,
    token_kl,
)
from playground.ppo.logprobs import entropy, log_softmax_at, token_log_probs
from playground.ppo.losses import (
    clipped_tokens,
    compared_log_ratio,
    late_weights,
    surrogate,
    value_loss,
)
from playground.ppo.masked import explained_variance, masked_mean, masked_sum, spread_of_sums
from playground.runs.folder.checkpoints import BEST_BY
from playground.runs.folder.records import UpdateMetrics
from playground.runs.folder.rollout_records import ScoredTexts
from playground.setup import catalog
from playground.training.data.prompts import Prompt, prompt_batch
from playground.training.data.random_streams import generator
from playground.training.loop.division import Undivided
from playground.training.loop.learned_texts import EarlierWeights, learned_from
from playground.training.loop.measures import (
    alike_groups,
    capped_exp,
    memory_gb,
    of_answers,
    of_completions,
    of_steps,
    same_score_groups,
)
from playground.training.loop.optimizer_state import (
    load_state_dict,
    made,
    state_dict,
    trained,
    undivided,
    whole_or_nothing,
)
from playground.training.loop.passes import compared, cuts, log_probs, micro_batches, put
from playground.training.loop.ranks import ALONE, Ranks
from playground.training.loop.sampling import Episodes, Keep, Packed, among, sample, whole_batch
from playground.training.loop.scoring import Scorer, Scores
from playground.training.models.language_model import Critic, LanguageModel, Tokens

# The head is one linear map on features that change slowly; it must keep up. Larger models have more of them.
VALUE_LEARNING_RATE_FACTOR, OF_LARGER_MODELS = 30.0, 3.0
MOST_SKIPPED_IN_A_ROW = 3  # updates
NOTHING_LEARNED: dict[str, Any] = {"learning_rate": 0.0, "tokens_trained": 0, "explained_variance": None} | of_steps({})
MOVED = "reference/"  # before the names of the weights of a reference that moves, in a checkpoint
MOST_LOOKED_BACK = 8  # completions of an update of one step that are read once more after it


@dataclass
class Rollout:
    """One batch of episodes beside the reference. All tensors [B, C]; `full_kl`: the exact KL of each position."""

    prompts: list[Prompt]
    completions: list[str]
    episodes: Episodes
    packed: Packed
    reference_log_probs: Tensor
    full_kl: Tensor
    at_start: Tensor | None = None  # log-probs of the policy at the start of the update, where late texts are corrected
    kept: Tensor | None = None  # [B], which episodes are learned from, where some are left out
    weights: dict[str, Tensor] | None = None  # all that is trained at the start of the update, where texts are late
    first_log_probs: Tensor | None = None  # of the reference that stays, where the other one moves

    @property
    def old_log_probs(self) -> Tensor:
        """What the ratio of a step is taken to, [B, C]."""
        return self.episodes.log_probs if self.at_start is None else self.at_start

    @property
    def log_ratio(self) -> Tensor:
        """log pi - log pi_ref of the sampled tokens, [B, C]."""
        return self.episodes.log_probs - self.reference_log_probs

    def token_kl(self, estimator: str) -> Tensor:
        """The KL of each token by one of the estimators, [B, C]; 0 where masked."""
        return torch.where(self.episodes.mask, token_kl(estimator, self.log_ratio, self.full_kl), 0.0)


def kl_controller(kl: KLConfig) -> FixedKL:
    """What moves beta, or does not, in a run of these settings."""
    if kl.controller == "ziegler":
        return ZieglerKL(kl.coef, kl.target, kl.horizon)
    return AdaptiveKL(kl.coef, kl.target) if kl.controller == "adaptive" else FixedKL(kl.coef)


class Credit(NamedTuple):
    """What each token of a batch is paid, and what comes of it; tensors are [B, C]."""

    rollout: Rollout
    scores: Scores
    kl_coef: float
    rewards: Tensor
    advantages: Tensor
    whitened: Tensor
    returns: Tensor


class Pass(NamedTuple):
    """Of the N completion tokens of some episodes, with a gradient."""

    log_ratio: Tensor  # log pi - log pi_old
    values: Tensor
    entropies: Tensor | None  # only if there is a bonus on them
    exact_kl: Tensor  # to the reference at each position, where the loss asks for it; else empty


class TraceHook:
    """Is shown what an update computes and ignores it; slow_motion.py has one that writes it down."""

    def credit(self, credit: Credit) -> None:
        """Before the first optimizer step."""

    def micro_batch(self, rows: Tensor, log_ratio: Tensor, values: Tensor) -> None:
        """A pass over the N tokens of some episodes: log pi - log pi_old [N] and values [N]."""

    def step(self, rows: Tensor, figures: Mapping[str, float], *, after: bool = False) -> None:
        """The micro-batches so far were one step on these episodes; or, `after` it, a look back at some of them."""


class Trainer:
    """What a worker asks of a method, ours or TRL's. This one writes batches of completions and scores them, and learns
    nothing. Of several `ranks` each writes its part of a batch; of everything between every one has the whole."""

    critic: Any = None  # what a checkpoint keeps beside the policy
    division = Undivided()

    def __init__(
        self,
        config: RunConfig,
        policy: LanguageModel,
        reference: LanguageModel,
        tokens: Tokens,
        prompts: list[Prompt],
        scorer: Scorer,
        ranks: Ranks = ALONE,
    ) -> None:
        self.config = config
        self.policy, self.reference, self.tokens = policy, reference, tokens
        self.first: LanguageModel | None = None  # the reference that stays, where `reference` moves
        self.prompts, self.scorer, self.ranks = prompts, scorer, ranks
        self.between: Callable[[], None] = lambda: None  # called between micro-batches and tokens; may raise
        self.kl_controller = kl_controller(config.kl)
        self.updates_done = 0
        self.tokens_done = 0
        self.warnings: list[str] = []  # of the latest update
        self.skipped = False  # whether anything of it was, because something was not finite
        self.spent = {"rollout": 0.0, "score": 0.0, "update": 0.0}  # seconds of the latest update
        self.scored: ScoredTexts | None = None  # what the figures of the latest update are of
        self._skipped_in_a_row = 0
        self._started = time.perf_counter()

    def train(
        self, after_update: Callable[[UpdateMetrics], None], before_update: Callable[[], None] = lambda: None
    ) -> None:
        """All updates that are left. Raises: see `update`."""
        while self.updates_done < self.config.ppo.num_updates:
            before_update()
            after_update(self.update())

    def update(self) -> UpdateMetrics:
        """One batch, and what is learned from it."""
        raise NotImplementedError

    def rested(self, seconds: float) -> None:
        """Of the time since the start, so much was a pause: no part of the seconds of training."""
        self._started += seconds

    def change(self, config: RunConfig, fields: Collection[str]) -> None:
        """Go on with other live settings from the next update. `fields`: what was set; with `kl.coef` beta is set even
        where the controller has moved it meanwhile."""
        self.config = config
        if "kl.coef" in fields:
            self.kl_controller.coef = config.kl.coef
        if isinstance(self.kl_controller, TargetKL):
            self.kl_controller.target = config.kl.target

    def state(self) -> tuple[dict[str, Tensor] | None, dict[str, Any]]:
        """All that the next update depends on beside weights, scales, configuration and the number of the update:
        tensors by name (None where training cannot go on from a checkpoint), and plain numbers."""
        return {}, {
            **self.kl_controller.state(),
            "tokens": self.tokens_done,
            "seconds": time.perf_counter() - self._started,
            "skipped_in_a_row": self._skipped_in_a_row,
        }

    def restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Go on where `state` was taken; the weights are there already. Raises: RunNotResumable; KeyError, ValueError,
        TypeError for the state of something else."""
        self.kl_controller.restore(facts)
        self.updates_done, self.tokens_done = int(facts["update"]), int(facts["tokens"])
        self._skipped_in_a_row = int(facts["skipped_in_a_row"])
        self._started = time.perf_counter() - float(facts["seconds"])

    @property
    def has_not_moved(self) -> bool:
        """True while the policy is known to be its own reference: in the first update."""
        config, steered = self.config, self.policy.steering is not None
        return config.reference.source == catalog.START and not (self.updates_done or config.planted or steered)

    # -- collect -------------------------------------------------------------------------------------------------------

    def collect(self) -> Rollout:
        """Sample completions for the prompts of the batch; log-probs of the reference for the same tokens."""
        clock, ppo = time.perf_counter(), self.config.ppo
        rollout = self.compared(*self.write(self.policy, ppo.batch_size, ppo.samples_per_prompt))
        self.spent["rollout"] = time.perf_counter() - clock
        return rollout

    def compared(self, prompts: list[Prompt], episodes: Episodes) -> Rollout:
        """What the policy wrote, beside the reference. `episodes`: this rank's share."""
        packed = episodes.packed()
        with self.division.comparing():
            reference_log_probs, exact_kl = self.compare_with_reference(episodes, packed)
            theirs = {"reference_log_probs": reference_log_probs, "full_kl": exact_kl}
            if self.first is not None:
                size, temperature = self.config.ppo.micro_batch_size, self.config.sampling.temperature
                theirs["first_log_probs"] = log_probs(self.first, episodes, temperature, size, self.between)
        if self.ranks.count > 1:
            ids = [prompt.ids for prompt in prompts]
            episodes, theirs = whole_batch(self.ranks, ids, self.tokens.pad_id, episodes, theirs)
            packed = episodes.packed()
        rollout = Rollout(
            prompts, episodes.texts(self.tokens), episodes, packed, theirs["reference_log_probs"], theirs["full_kl"]
        )
        rollout.first_log_probs = theirs.get("first_log_probs")
        return rollout

    def write(self, writer: LanguageModel, size: int, each: int) -> tuple[list[Prompt], Episodes]:
        """`size` completions for the next prompts, `each` of a prompt in a row; with values where the policy writes.
        Returns all prompts, and this rank's share of the episodes."""
        sampling = self.config.sampling.in_training
        critic = self.critic if writer is self.policy else None
        head = critic.value_head if critic is not None and not critic.separate else None
        different = prompt_batch(self.prompts, size // each, self.updates_done, self.config.seed)
        prompts = [prompt for prompt in different for _ in range(each)]
        luck = generator(self.config.seed, "sampling", self.updates_done)
        draws = torch.rand(size, sampling.max_new_tokens, generator=luck, dtype=torch.float64)
        mine = self.ranks.share
        ids = [prompt.ids for prompt in prompts[mine]]
        keep = Keep(head, hidden=True, allowed=True, entropies=True)
        episodes = sample(writer, self.tokens, ids, draws[mine], sampling, self.between, keep)
        steps = writer.captured_steps
        if steps is not None and steps.why_not and not steps.reported:
            self.warnings.append(f"Texts are written in plain steps, which takes longer: {steps.why_not}.")
            steps.reported = True
        return prompts, episodes

    @torch.no_grad()
    def compare_with_reference(self, episodes: Episodes, packed: Packed) -> tuple[Tensor, Tensor]:
        """Log-probs of the reference and the exact KL(pi || pi_ref) of each position, [B, C] both, 0 where masked.
        Fills in the values of a separate critic, and in low precision what the policy's own pass says."""
        log_probs, exact_kl = torch.zeros_like(episodes.log_probs), torch.zeros_like(episodes.log_probs)
        temperature, size = self.config.sampling.temperature, self.config.ppo.micro_batch_size
        reference = None if self.has_not_moved and not self.policy.is_small else self.reference
        passes = compared(self.policy, reference, episodes, packed, temperature, size, self.between)
        for rows, mask, ids, predicts, hidden, own, theirs in passes:
            chosen = episodes.completion_ids[rows][mask].unsqueeze(1)
            put(log_probs, rows, mask, theirs.gather(1, chosen)[:, 0])
            put(exact_kl, rows, mask, full_kl(own, theirs))
            if not self.policy.exact:
                put(episodes.log_probs, rows, mask, own.gather(1, chosen)[:, 0])
            if self.critic is not None and (self.critic.separate or not self.policy.exact):
                put(episodes.values, rows, mask, self.critic(ids, predicts, hidden))
        return log_probs, exact_kl

    # -- score ---------------------------------------------------------------------------------------------------------

    def score(self, rollout: Rollout) -> Scores:
        """One normalised number for each completion; NaN for all if a reward is not finite, which skips the update."""
        clock, prompts = time.perf_counter(), [prompt.text for prompt in rollout.prompts]
        try:
            scores = self.scorer(prompts, rollout.completions, rollout.episodes.ended.tolist())
        except RewardNotFinite as error:
            self.skip(f"Nothing was learned from update {self.updates_done + 1}. {error}")
            scores = Scores([math.nan] * len(prompts), [None] * len(prompts), {}, {})
        if self.config.ppo.overlong == "penalise":
            longest = self.config.sampling.max_new_tokens
            penalties = overlong_penalties(rollout.episodes.lengths, longest).tolist()
            lowered = [score + penalty for score, penalty in zip(scores.scores, penalties, strict=True)]
            scores = scores._replace(scores=lowered)
        self.spent["score"] = time.perf_counter() - clock
        return scores

    def skip(self, why: str) -> None:
        """Learn nothing more in this update."""
        self.warnings.append(why)
        self.skipped = True

    def count_skipped(self) -> None:
        """Give up when several updates in a row had to be skipped. Raises: TrainingDiverged."""
        self._skipped_in_a_row = self._skipped_in_a_row + 1 if self.skipped else 0
        if self._skipped_in_a_row >= MOST_SKIPPED_IN_A_ROW:
            raise TrainingDiverged(
                f"{MOST_SKIPPED_IN_A_ROW} updates in a row had a reward, loss or gradient that is not finite. "
                f"The last: {self.warnings[-1]} Lower the learning rate, or raise beta."
            )

    # -- measure -------------------------------------------------------------------------------------------------------

    def count(self, tokens: int) -> None:
        """One update more, and so many tokens."""
        self.updates_done += 1
        self.tokens_done += tokens

    def measure(
        self,
        rollout: Rollout,
        scores: Scores,
        kl_coef: float = 0.0,
        learned: Mapping[str, Any] = NOTHING_LEARNED,
    ) -> UpdateMetrics:
        """The figures of this update, those of what was `learned` among them."""
        episodes, mask, log_ratio = rollout.episodes, rollout.episodes.mask, rollout.log_ratio
        kl = float(masked_sum(log_ratio, mask)) / len(episodes)
        estimates = {name: rollout.token_kl(name) for name in (*SAMPLED_ESTIMATORS, "full")}
        spread = of_completions(rollout.completions, scores)
        spread |= of_answers(self.config.rewards, rollout.completions, scores)
        prompts, far = [prompt.text for prompt in rollout.prompts], rollout.full_kl.sum(1).tolist()
        to_first = None
        if rollout.first_log_probs is not None:
            to_first = float(masked_sum(episodes.log_probs - rollout.first_log_probs, mask)) / len(episodes)
        self.scored = ScoredTexts(prompts, rollout.completions, scores.scores, far)
        return UpdateMetrics(
            **self.totals(),
            **spread,
            kl_to_reference=kl,
            kl_per_token=float(masked_mean(log_ratio, mask)),
            kl_to_first=to_first,
            kl_estimates={name: float(masked_sum(kls, mask)) / len(episodes) for name, kls in estimates.items()},
            kl_spreads={name: float(spread_of_sums(kls, mask)) for name, kls in estimates.items()},
            penalised_reward=spread["score_mean"] - kl_coef * kl,
            kl_coef=kl_coef,
            entropy=float(masked_mean(episodes.entropies, mask)),
            surprisal=-float(masked_mean(episodes.log_probs, mask)),
            **learned,
            completion_length=float(episodes.lengths.float().mean()),
            eos_fraction=float(episodes.ended.float().mean()),
            perplexity_reference=capped_exp(-float(masked_mean(rollout.reference_log_probs, mask))),
        )

    def totals(self) -> dict[str, Any]:
        """How far the run is, and what it takes: figures of an update that need no episodes."""
        return {
            "ranks": self.ranks.count,
            "update": self.updates_done,
            "episodes": self.updates_done * self.config.ppo.batch_size,
            "tokens": self.tokens_done,
            "seconds": time.perf_counter() - self._started,
            **{f"seconds_{phase}": seconds for phase, seconds in self.spent.items()},
            "memory_gb": memory_gb(self.policy.device),
        }


class PPOTrainer(Trainer):
    """Policy, critic, reference and optimizer of one run."""

    critic: Critic

    def __init__(self, config: RunConfig, policy: LanguageModel, *parts: Any, **more: Any) -> None:
        super().__init__(config, policy, *parts, **more)
        if config.reference.every:
            self.first, self.reference = self.reference, policy.moving_copy()
        self.critic = Critic(policy, separate=config.separate_critic)
        self._to_divide: Mapping[str, Tensor] = {}  # what a checkpoint's optimizer remembers, until there is a division
        self._make_optimizer()
        self.trace_hook = TraceHook()  # another one here sees the next update
        self.mid_update = False  # True once an update was broken off between its optimizer steps and not undone
        self._paid: float | None = None  # in the latest update, to a completion on average
        self.earlier = EarlierWeights(config.ppo.staleness)

    def _make_optimizer(self) -> None:
        """One that remembers nothing yet, of the weights as they are now."""
        config, policy = self.config, self.policy
        # every parameter that the optimizer changes, by name
        self.trained = trained({"policy": policy, "critic": self.critic})
        faster = VALUE_LEARNING_RATE_FACTOR if policy.is_small else OF_LARGER_MODELS
        policy_weights = [parameter for parameter in policy.parameters() if parameter.requires_grad]
        groups: list[dict[str, Any]] = [
            {"norm": "grad_norm", "params": policy_weights, "factor": 1.0},
            {"norm": "value_grad_norm", "params": list(self.critic.value_head.parameters()), "factor": faster},
        ]
        if self.critic.trunk is not None:
            learns = [parameter for parameter in self.critic.trunk.parameters() if parameter.requires_grad]
            groups.append({"norm": "value_grad_norm", "params": learns, "factor": 1.0})
        self.optimizer = made(config.ppo, groups)

    def divide(self) -> None:
        """From now on each rank has a part of the states of training. For all ranks, which have the same weights."""
        from playground.training.loop.fsdp_division import FSDPDivision  # a second of imports

        division = FSDPDivision(self.ranks, self.policy, self.critic, self.reference, self.config.shard)
        self._make_optimizer()
        division.begin()
        load_state_dict(self.optimizer, self.trained, division.divided(self.trained, self._to_divide))
        self.division, self.ranks.divides, self._to_divide = division, True, {}

    def update(self) -> UpdateMetrics:
        """One PPO update: collect, score, advantages, optimise. Raises: TrainingDiverged after three updates in a row
        that were not finite, RewardFailed, whatever `between` raises."""
        self.warnings, self.skipped = [], False
        rollout = self.collect()
        scores = self.score(rollout)

        clock = time.perf_counter()
        kl_coef = self.kl_controller.coef
        advantages, returns = self.advantages(rollout, scores, kl_coef)
        learning_rate = self.learning_rate()
        whole = whole_or_nothing(self.optimizer, self.trained, cannot=self._broken_off)
        with self.division.learning(), whole:
            steps = self.optimise(rollout, advantages, returns, learning_rate)
        self.spent["update"] = time.perf_counter() - clock
        self.count_skipped()
        if not self.skipped and not any(text.strip() for text in rollout.completions):
            self.warnings.append(
                f"Every completion of update {self.updates_done + 1} was empty: the policy ends its texts at once. "
                "Raise beta, or reward something that needs text."
            )

        self.count(int(rollout.episodes.mask.sum()))
        if rollout.weights is not None:
            self.earlier.keep(rollout.weights)
        if self.config.reference.every and self.updates_done % self.config.reference.every == 0:
            self.reference.keep_weights_of(self.policy)
        learned: dict[str, Any] = {
            "reward_paid": self._paid,
            "explained_variance": float(explained_variance(rollout.episodes.values, returns, rollout.episodes.mask)),
            "learning_rate": learning_rate,
            **of_steps(steps),
        }
        if self.config.ppo.samples_per_prompt > 1 and self.config.ppo.baseline != "value":
            each = self.config.ppo.samples_per_prompt
            learned["groups_same_score"] = same_score_groups(scores.scores, each)
            learned |= alike_groups(self.config.rewards, scores, each)
        if rollout.kept is not None:
            learned["left_out"] = 1 - float(rollout.kept.float().mean())
        metrics = self.measure(rollout, scores, kl_coef, learned)
        sampled, exact = metrics.kl_to_reference, metrics.kl_estimates["full"]
        if sampled is not None and exact is not None:
            self.kl_controller.observe(sampled, exact, len(rollout.episodes))
        return metrics

    # -- state ---------------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """See `Trainer`: tensors are what the optimizer remembers, the weights that late texts are written with, and
        those of a reference that moves."""
        _, facts = super().state()
        broken_off = {"mid_update": True, BEST_BY: None} if self.mid_update else {}
        tensors = self.division.whole(state_dict(self.optimizer, self.trained)) | self.earlier.state()
        moved = {f"{MOVED}{name}": weight for name, weight in self.reference.earlier.items()}
        return tensors | moved, facts | broken_off

    def restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """See `Trainer`."""
        for name, weight in self.reference.earlier.items():
            self.reference.earlier[name] = tensors[f"{MOVED}{name}"].to(weight.device)
        own = {name: tensor for name, tensor in tensors.items() if not name.startswith(MOVED)}
        of_optimizer = self.earlier.restore(own)
        if self.will_divide:
            self._to_divide = of_optimizer
        else:
            load_state_dict(self.optimizer, self.trained, of_optimizer)
        super().restore(tensors, facts)

    @property
    def will_divide(self) -> bool:
        """True where the ranks divide the states of training between them."""
        return self.ranks.count > 1 and self.config.shard != "none"

    def _broken_off(self) -> None:
        self.mid_update = True

    # -- late texts ----------------------------------------------------------------------------------------------------

    def collect(self) -> Rollout:
        """See `Trainer`. With staleness the policy of some updates ago writes, or the first one while there is none."""
        if not self.config.ppo.staleness:
            return super().collect()
        with self.earlier.in_place_of(self.trained) as now:
            rollout = super().collect()
        rollout.weights = now
        if self.config.ppo.correction != "none":
            rollout.at_start = self.log_probs_now(rollout)
        return rollout

    @torch.no_grad()
    def log_probs_now(self, rollout: Rollout) -> Tensor:
        """What the policy as it is says of the tokens of a rollout, [B, C]; 0 where masked."""
        episodes, whole = rollout.episodes, torch.zeros_like(rollout.episodes.log_probs)
        rows, size = torch.arange(len(episodes)), self.config.ppo.micro_batch_size
        for micro in cuts(self.policy, rollout.packed, rows, size):
            self.between()
            mask = episodes.mask[micro]
            log_ratio = self.forward(rollout, micro).log_ratio
            put(whole, micro, mask, log_ratio + episodes.log_probs[micro][mask])
        return whole

    # -- advantages ----------------------------------------------------------------------------------------------------

    def advantages(self, rollout: Rollout, scores: Scores, kl_coef: float) -> tuple[Tensor, Tensor]:
        """Token rewards -> scaled advantages and value targets, both [B, C]. In groups every token has the advantage of
        its whole episode over the others of its prompt; without a critic the targets are 0, as the values are."""
        episodes, ppo, kl = rollout.episodes, self.config.ppo, self.config.kl
        token_kl = rollout.token_kl("k3" if kl.estimator == CORRECTED else kl.estimator)
        score = torch.tensor(scores.scores, device=token_kl.device)
        if self.config.method == "distil":
            score = torch.zeros_like(score)
        price = kl_coef if kl.where == "reward" else 0.0
        rewards = self.token_rewards(token_kl, score, episodes.mask, price)
        self._paid = float(rewards.sum()) / len(episodes)
        learned = None
        if ppo.leaves_out:
            rollout.kept = learned_from(ppo, episodes.ended, scores.scores)
            learned = episodes.mask & rollout.kept.to(episodes.mask.device).unsqueeze(1)
        advantages = advantages_of(ppo, rewards, episodes.values, episodes.mask, learned)
        self.trace_hook.credit(Credit(rollout, scores, kl_coef, rewards, *advantages))
        return advantages.scaled, advantages.returns

    def token_rewards(self, token_kl: Tensor, scores: Tensor, mask: Tensor, kl_coef: float) -> Tensor:
        """What each token is paid, [B, C]."""
        return token_rewards(token_kl, scores, mask, kl_coef)

    # -- optimise ------------------------------------------------------------------------------------------------------

    def learning_rate(self) -> float:
        """Of this update: rising to its full size in the warm-up, then constant or falling linearly to 0."""
        ppo, done = self.config.ppo, self.updates_done
        if done < ppo.warmup_updates:
            return ppo.learning_rate * (done + 1) / ppo.warmup_updates
        if ppo.schedule == "constant":
            return ppo.learning_rate
        left, falling = ppo.num_updates - done, ppo.num_updates - ppo.warmup_updates
        return ppo.learning_rate * max(0.0, left / falling)

    def optimise(
        self, rollout: Rollout, advantages: Tensor, returns: Tensor, learning_rate: float
    ) -> dict[str, list[float]]:
        """The epochs of one update: num_epochs x minibatches optimizer steps, fewer if the update KL stops them or
        something is not finite. Returns each statistic of every step; `update_kl` of the last epoch only."""
        ppo = self.config.ppo
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate * group["factor"]
        steps: dict[str, list[float]] = defaultdict(list)
        if not bool(torch.isfinite(advantages).all()):
            if not self.skipped:
                self.skip("An update was skipped: its advantages were not finite.")
            return steps
        for epoch in range(ppo.num_epochs):
            steps["update_kl"].clear()
            shuffle = generator(self.config.seed, "minibatches", self.updates_done, epoch)
            order = torch.randperm(ppo.batch_size, generator=shuffle)
            if rollout.kept is not None:
                order = order[rollout.kept[order]]
                if not len(order):
                    return steps
            for rows in order.split(ppo.minibatch_size):
                for name, value in self.step(rollout, rows, advantages, returns).items():
                    steps[name].append(value)
                if self.skipped:
                    return steps
                if ppo.num_epochs == 1 and ppo.minibatch_size == ppo.batch_size:
                    steps |= {name: [value] for name, value in self.look_back(rollout, rows, advantages).items()}
            if ppo.update_kl_stop and np.mean(steps["update_kl"]) > ppo.update_kl_stop:
                break
        return steps

    def step(self, rollout: Rollout, rows: Tensor, advantages: Tensor, returns: Tensor) -> dict[str, float]:
        """One optimizer step on one minibatch, cut into micro-batches of similar length. The loss is a mean over the
        whole minibatch, so the cut changes memory and speed but not the gradient."""
        ppo, kl, episodes = self.config.ppo, self.config.kl, rollout.episodes
        num_tokens = episodes.mask[rows].sum()
        self.ranks.break_off_if_asked()
        self.optimizer.zero_grad(set_to_none=True)
        sums: dict[str, Tensor] = defaultdict(lambda: torch.zeros((), device=advantages.device))
        totals = rollout.packed.totals
        mine = self.ranks.minibatch(rows, totals)
        if self.division.equal_passes:
            micros = [*micro_batches(mine, totals, ppo.micro_batch_size)]
        else:
            micros = [*cuts(self.policy, rollout.packed, mine, ppo.micro_batch_size)]
        for number, micro in enumerate(micros, 1):
            self.between()
            self.division.begin_pass(last=number == len(micros))
            log_ratio, values, entropies, exact_kl = self.forward(rollout, micro)
            mask = episodes.mask[micro]
            advantage, old, target = (whole[micro][mask] for whole in (advantages, episodes.values, returns))
            longest = self.config.sampling.max_new_tokens
            compared, of_tokens, clipped, weights = surrogate(
                ppo, log_ratio, advantage, mask, len(rows), num_tokens, longest
            )
            if rollout.at_start is not None:
                late = (rollout.at_start - episodes.log_probs)[micro][mask]
                weights = weights * late_weights(late, ppo.correction)
            losses = {
                "policy_loss": (of_tokens * weights).sum(),
                "value_loss": value_loss(values, old, target, ppo.value_clip_range).sum(),
            }
            loss = losses["policy_loss"] + ppo.value_coef * losses["value_loss"]
            if kl.where == "loss":
                drift = log_ratio + (rollout.old_log_probs - rollout.reference_log_probs)[micro][mask]
                token_kls = loss_kl(kl.estimator, drift, exact_kl, log_ratio)
                loss = loss + self.kl_controller.coef * (token_kls * weights).sum()
            if entropies is not None:
                loss = loss - ppo.entropy_coef * entropies.sum()
            (loss / num_tokens).backward()
            with torch.no_grad():
                for name, value in losses.items():
                    sums[name] += value.detach()
                sums["clip_fraction"] += clipped.sum()
                sums["ratio_mean"] += compared.exp().sum()
                sums["update_kl"] += k3(-log_ratio).sum()
                sums["ratio_max"] = torch.maximum(sums["ratio_max"], compared.exp().max())
                self.trace_hook.micro_batch(micro, log_ratio, values)
        self.ranks.sum_gradients(self.optimizer, sums, largest="ratio_max")
        norms = self.apply_gradient(sums["policy_loss"] + sums["value_loss"])
        self.division.end_step()
        means = {name: float(value if name == "ratio_max" else value / num_tokens) for name, value in sums.items()}
        self.trace_hook.step(rows, means | norms)
        return means | norms

    @torch.no_grad()
    def look_back(self, rollout: Rollout, rows: Tensor, advantages: Tensor) -> dict[str, float]:
        """How far the only step of an update has moved the policy, on a few of its completions. Other figures are of
        the pass that a step learns from, where a first one has ratios of 1 and a KL of 0 whatever happens."""
        few = rows[: min(self.config.ppo.micro_batch_size, MOST_LOOKED_BACK)]
        ppo, mask = self.config.ppo, rollout.episodes.mask[few]
        log_ratio, values, _, _ = self.forward(rollout, few)
        compared = compared_log_ratio(ppo.ratio, log_ratio, mask)
        clipped = clipped_tokens(compared, advantages[few][mask], ppo.clip_range, ppo.clip_range_high)
        ratios = compared.exp()
        figures = {
            "clip_fraction": float(clipped.float().mean()),
            "ratio_mean": float(ratios.mean()),
            "ratio_max": float(ratios.max()),
            "update_kl": float(k3(-log_ratio).mean()),
        }
        self.trace_hook.micro_batch(few, log_ratio, values)
        self.trace_hook.step(few, figures, after=True)
        return figures

    def forward(self, rollout: Rollout, rows: Tensor) -> Pass:
        """A pass over some episodes, among the tokens allowed to be drawn. Only positions that predict one go through
        the LM head."""
        episodes, mask, temperature = rollout.episodes, rollout.episodes.mask[rows], self.config.sampling.temperature
        ids, predicts = rollout.packed.rows(rows)
        hidden, logits = self.policy(ids, predicts)
        allowed = None if episodes.allowed is None else episodes.allowed[rows][mask]
        logits = among(logits, allowed)
        log_probs = token_log_probs(logits, episodes.completion_ids[rows][mask], temperature)
        entropies = entropy(log_softmax_at(logits, temperature)) if self.config.ppo.entropy_coef else None
        exact_kl = logits.new_empty(0)
        if (self.config.kl.where, self.config.kl.estimator) == ("loss", "full"):
            with torch.no_grad():
                _, theirs = self.reference(ids, predicts)
            exact_kl = full_kl(log_softmax_at(logits, temperature), log_softmax_at(theirs, temperature))
        old = rollout.old_log_probs[rows][mask]
        return Pass(log_probs - old, self.critic(ids, predicts, hidden), entropies, exact_kl)

    def apply_gradient(self, loss: Tensor) -> dict[str, float]:
        """Clip the gradients of policy and critic, each by itself (neither's size may shorten the other's steps), and
        step, unless loss or gradient is not finite. Returns the norms before clipping."""
        weights: dict[str, list[nn.Parameter]] = defaultdict(list)
        for group in self.optimizer.param_groups:
            weights[group["norm"]] += group["params"]
        norms = {
            name: undivided(torch.nn.utils.clip_grad_norm_(parameters, self.config.ppo.max_grad_norm))
            for name, parameters in weights.items()
        }
        if all(bool(torch.isfinite(number)) for number in (loss, *norms.values())):
            self.optimizer.step()
        else:
            self.skip(f"The rest of update {self.updates_done + 1} was skipped: its loss or gradient was not finite.")
        return {name: float(norm) for name, norm in norms.items()}
