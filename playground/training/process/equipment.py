"""What every rank of a run has: models, prompts, scorer and trainer; and what all ranks do together with them. Knows no
run directory: rank 0's session is one of these with a folder to write into, a helper (rank_processes.py) follows it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from playground.config import RewardConfig, RunConfig
from playground.config.reward_settings import SCALE_SAMPLES
from playground.errors import ModelNotFound
from playground.ppo.advantages import token_rewards
from playground.rewards import claims, rules
from playground.rewards.mixture import Scale
from playground.runs.folder import checkpoints as run_checkpoints
from playground.runs.folder.records import Stage
from playground.setup import catalog
from playground.training.data import prompts
from playground.training.data.random_streams import derived_seed
from playground.training.loop import evaluation, measures, slow_motion
from playground.training.loop.evaluation import Evaluated, FixedPrompts
from playground.training.loop.faulty_trainer import FaultyTrainer
from playground.training.loop.ranks import Ranks
from playground.training.loop.scoring import Scorer, SharedMixture
from playground.training.loop.token_figures import Pays
from playground.training.loop.trainer import PPOTrainer, Trainer
from playground.training.loop.untrained import BestOfN, Steered
from playground.training.models import language_model, loading
from playground.training.process import tuning
from playground.training.rewards import learned_rewards


class RunModels:
    """The policy of a run, the model that it starts from, its reference, and what builds its rewards.

    Args:
        outputs: the folder in which runs lie. checkpoint: whose weights the policy has; None for one to be trained.

    Raises: ModelNotFound.
    """

    def __init__(self, config: RunConfig, device: torch.device, outputs: Path, checkpoint: Path | None = None) -> None:
        self._config, self._device, self._outputs = config, device, outputs
        self._folder = catalog.model_folder(config.model.source, config.model.revision)
        if checkpoint:
            self.policy, self.tokens = loading.load(run_checkpoints.check(checkpoint), device, config.model)
        else:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(derived_seed(config.seed, "adapter"))  # LoRA's first matrix is random
                self.policy, self.tokens = loading.load(self._folder, device, config.model, trained=True)
        self._is_at_start = checkpoint is None
        self.build = learned_rewards.builder(device, outputs, "reward-format" in config.faults)

    @functools.cached_property
    def start(self) -> language_model.LanguageModel:
        """The model before training, frozen."""
        if self._is_at_start or self.policy.has_adapter:
            return self.policy.frozen_copy()
        return loading.load(self._folder, self._device, self._config.model)[0]

    def reference(self) -> language_model.LanguageModel:
        """What the KL is measured from: the model before training, or the one that the configuration names.

        Raises: ModelNotFound: it is not there, or its tokenizer is another.
        """
        source = self._config.reference.source
        if source == catalog.START:
            return self.start
        folder = run_checkpoints.check(catalog.reference_folder(source, self._outputs))
        reference, theirs = loading.load(folder, self._device, self._config.model)
        if theirs.tokenizer.get_vocab() != self.tokens.tokenizer.get_vocab():
            raise ModelNotFound(
                f"reference.source: {source} has another tokenizer than {self._config.model.source}, so their "
                "probabilities cannot be compared. Choose a model of the same family."
            )
        return reference.frozen()


class Equipment:
    """Everything loaded and ready to train. `outputs`: the folder in which runs and reward models trained here lie.
    `between`: called between micro-batches and tokens; may raise. Raises: ModelNotFound, PromptsUnusable."""

    def __init__(self, config: RunConfig, outputs: Path, ranks: Ranks, between: Callable[[], None]) -> None:
        self.config, self.ranks, self.between = config, ranks, between
        device = ranks.device or loading.device_of(config.device)
        models = RunModels(config, device, outputs)
        self.policy, self.tokens = models.policy, models.tokens
        tuning.limit_threads(self.policy)
        tuning.give_memory_back(self.policy)
        self.reference = self.policy if "aliased-reference" in config.faults else models.reference()
        room = self.policy.context_length - config.sampling.max_new_tokens
        self.split = prompts.load(config.prompts, config.evaluation.num_prompts, room, self.tokens, config.seed)
        claims.know(config.prompts)
        self.reward_parameters = 0
        self.reward_models: list[dict[str, Any]] = []  # what is known of those that score
        self.build = models.build
        self.scorer = Scorer(config, SharedMixture.of_ranks(ranks, config.rewards, self._counted))
        self.fixed_prompts = FixedPrompts(config, self.tokens, self.split.evaluation, self.scorer, between, ranks)
        self.trainer: Trainer = trainer_of(config)(
            config,
            self.policy,
            self.reference,
            self.tokens,
            self.split.training,
            self.scorer,
            **({"ranks": ranks} if ranks.count > 1 else {}),
        )
        self.trainer.between = between

    def _counted(self, spec: RewardConfig) -> rules.Reward:
        reward = self.build(spec)
        if isinstance(reward, learned_rewards.RewardModel):
            self.reward_parameters += measures.sizes(reward.network.model)["matrix_parameters"]
            misread = learned_rewards.misreading(reward)
            self.reward_models.append({"source": reward.network.name, "misreading": misread})
        return reward

    def share_state(self) -> None:
        """Give every rank rank 0's weights, optimizer, scales and counts, wherever those have come from."""
        if self.ranks.count == 1:
            return
        assert isinstance(self.trainer, PPOTrainer), "`RunConfig` allows no other with several ranks"
        tensors, facts = self.trainer.state()
        self.ranks.broadcast([*self.trainer.trained().values()])
        given = self.ranks.first(
            {
                "optimizer": {name: value.cpu() for name, value in tensors.items()},
                "facts": {**facts, "update": self.trainer.updates_done},
                "scale": self.scorer.facts(),
                "config": self.trainer.config.model_dump(mode="json"),
            }
        )
        if self.ranks.rank:
            self.trainer.config = RunConfig.model_validate(given["config"])
            self.trainer.restore(given["optimizer"], given["facts"])
            self.scorer.restore(given["scale"])

    def update(self, changes: list[tuple[dict[str, Any], list[str]]], trace: bool) -> None:
        """One update on a rank that follows; see `Session.train`."""
        for changed, fields in changes:
            self.trainer.change(RunConfig.model_validate(changed), fields)
        slow_motion.record_if_due(self.trainer, asked=trace)
        assert isinstance(self.trainer, PPOTrainer), "`RunConfig` allows no other with several ranks"
        self.trainer.update()

    def fit_scale(self, samples: int = SCALE_SAMPLES, progress: Callable[[float], None] = lambda share: None) -> Scale:
        """Fix the scale of the score on samples of the reference. `progress`: called often, with the share of them that
        is written."""
        config, at_once, steps = self.config, self.config.scale_rows(self.policy.is_small), 0
        asked, seeds = evaluation.reference_questions(self.split.training, config.seed, samples)
        completions: list[str] = []

        def between() -> None:
            nonlocal steps
            self.between()
            steps += 1
            written = min(at_once, samples - start) * min(1.0, steps / config.sampling.max_new_tokens)
            progress((start + written) / samples)

        how = evaluation.Generation(self.tokens, config.sampling.in_training, config.ppo.micro_batch_size, between)
        for start in range(0, samples, at_once):
            steps = 0
            mine = [start + row for row in self.ranks.deal(min(at_once, samples - start))]
            written: list[str] = []
            if mine:
                chosen = [asked[row] for row in mine], [seeds[row] for row in mine]
                episodes, _ = evaluation.answer(self.reference, None, *chosen, how)
                written = episodes.texts(self.tokens)
            by_row = dict(pair for part in self.ranks.exchange([*zip(mine, written, strict=True)]) for pair in part)
            completions += [by_row[row] for row in sorted(by_row)]
        return self.scorer.fit_scale([prompt.text for prompt in asked], completions)

    def evaluate(self, stage: Stage) -> Evaluated:
        """Answer the fixed prompts."""
        same = stage == "before" and self.config.reference.source == catalog.START
        tries = 1 if stage == "before" else self.config.answers_each
        trainer = self.trainer
        payment = getattr(trainer, "token_rewards", token_rewards)
        pays = Pays.of(self.config, trainer.kl_controller.coef, trainer.critic, payment)
        reference = None if same else self.reference
        return self.fixed_prompts.evaluate(stage, trainer.updates_done, self.policy, reference, tries, pays)


def trainer_of(config: RunConfig) -> Callable[..., Trainer]:
    """The trainer of the method that a configuration names. TRL is two seconds of imports."""
    if config.by_trl:
        from playground.training import trl_ppo, trl_texts

        return {"ppo": trl_ppo.TRLTrainer, **trl_texts.TRAINERS}[config.method]
    if config.faults:
        return FaultyTrainer
    return {"best_of_n": BestOfN, "steer": Steered}.get(config.method, PPOTrainer)
