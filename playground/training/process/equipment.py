"""What every rank of a run has: models, prompts, scorer and trainer; and what all ranks do together with them. Knows no
run directory: rank 0's session is one of these with a folder to write into, a helper (rank_processes.py) follows it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from playground.config import PromptsConfig, RewardConfig, RunConfig, VerifyReward
from playground.config.methods import METHODS
from playground.errors import InvalidConfig, ModelNotFound, Problem, PromptsUnusable
from playground.ppo.advantages import token_rewards
from playground.rewards import claims, rules, verify
from playground.rewards.mixture import Scale
from playground.runs.folder import checkpoints as run_checkpoints
from playground.runs.folder.records import Stage
from playground.setup import catalog, estimates
from playground.setup.estimates.memory import Memory
from playground.training.data import prompts
from playground.training.data.random_streams import derived_seed
from playground.training.loop import evaluation, measures, slow_motion
from playground.training.loop.evaluation import Evaluated, FixedAnswer, FixedPrompts
from playground.training.loop.faulty_trainer import FaultyTrainer
from playground.training.loop.ranks import Ranks
from playground.training.loop.scoring import Scorer, SharedMixture
from playground.training.loop.token_figures import CloseLook, Pays
from playground.training.loop.trainer import PPOTrainer, Trainer
from playground.training.loop.untrained import BestOfN, Steered
from playground.training.models import chat, language_model, loading, steering_vector
from playground.training.process import tuning
from playground.training.process.progress import Plans, mean_tokens
from playground.training.rewards import learned_rewards


class RunModels:
    """The policy of a run, the model that it starts from, its reference, and what builds its rewards.

    Args:
        outputs: the folder in which runs lie. checkpoint: whose weights the policy has; None for one to be trained.

    Raises: ModelNotFound.
    """

    def __init__(self, config: RunConfig, device: torch.device, outputs: Path, checkpoint: Path | None = None) -> None:
        self._config, self._device, self._outputs = config, device, outputs
        self._model = config.loaded_model
        self._folder = catalog.model_folder(config.model.source, config.model.revision)
        if checkpoint:
            self.policy, self.tokens = loading.load(run_checkpoints.check(checkpoint), device, self._model)
        else:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(derived_seed(config.seed, "adapter"))  # LoRA's first matrix is random
                self.policy, self.tokens = loading.load(self._folder, device, self._model, trained=True)
            if self.policy.steering is not None:
                require_steerable(config)
        self._is_at_start = checkpoint is None
        self.facts = facts_of(self.tokens, config.prompts)
        self.build = learned_rewards.builder(device, outputs, "reward-format" in config.planted, self.facts)

    def read_prompts(self) -> prompts.PromptSplit:
        """Those of the run; its rewards know their columns and questions from then on. Raises: PromptsUnusable."""
        config = self._config
        room = self.policy.context_length - config.sampling.max_new_tokens
        plan = config.evaluation
        asked = plan.num_prompts, room, self.tokens, config.seed, config.reads_columns, plan.prompts
        split = prompts.load(config.prompts, *asked)
        self.facts.columns.update(split.columns)
        self.facts.questions = claims.questions_of(config.prompts)
        texts = [prompt.text for prompt in (*split.training, *split.evaluation)]
        for field, spec in config.scorers:
            if isinstance(spec, VerifyReward) and not verify.has_answers(
                spec, texts, self.facts.columns, self.facts.questions
            ):
                raise PromptsUnusable(
                    f"{field}.answer: none of the prompts of {config.prompts.source} has a true answer. Name the "
                    "column that holds it."
                )
        return split

    @functools.cached_property
    def start(self) -> language_model.LanguageModel:
        """The model before training, frozen."""
        if self._is_at_start or self.policy.has_adapter:
            start = self.policy.frozen_copy()
            start.steer(steering_vector.read(self._folder))
            return start
        return loading.load(self._folder, self._device, self._model)[0]

    def reference(self) -> language_model.LanguageModel:
        """What the KL is measured from: the model before training, or the one that the configuration names.

        Raises: ModelNotFound: it is not there, or its tokenizer is another.
        """
        source = self._config.reference.source
        if source == catalog.START:
            return self.start
        folder = run_checkpoints.check(catalog.reference_folder(source, self._outputs))
        reference, theirs = loading.load(folder, self._device, self._model)
        if theirs.tokenizer.get_vocab() != self.tokens.tokenizer.get_vocab():
            raise ModelNotFound(
                f"reference.source: {source} has another tokenizer than {self._config.model.source}, so their "
                "probabilities cannot be compared. Choose a model of the same family."
            )
        return reference.frozen()


def require_steerable(config: RunConfig) -> None:
    """Raises: InvalidConfig, where a start model that is steered cannot be trained with its vector in every pass."""
    divided = config.shard != "none" or config.model.gradient_checkpointing
    if config.by_trl or divided or not METHODS[config.method].in_own_loop:
        sentence = (
            f"The model is steered by a vector outside its weights ({steering_vector.FILE}). It is trained with it by "
            "this project's own loop only, without gradient checkpointing and shard: or choose the model that it was "
            "made from."
        )
        raise InvalidConfig([Problem("model.source", sentence)])


def facts_of(tokens: language_model.Tokens, config: PromptsConfig) -> rules.PromptFacts:
    """What functions in Python get beside the texts; columns are added once the prompts are read."""
    return rules.PromptFacts({}, chat.is_used(tokens, config), config.system, tokens.ids_of)


class Equipment:
    """Everything loaded and ready to train. `outputs`: the folder in which runs and reward models trained here lie.
    `between`: called between micro-batches and tokens; may raise. Raises: ModelNotFound, PromptsUnusable."""

    def __init__(self, config: RunConfig, outputs: Path, ranks: Ranks, between: Callable[[], None]) -> None:
        self.config, self.outputs, self.ranks, self.between = config, outputs, ranks, between
        device_of = loading.only_device_of if config.by_trl else loading.device_of
        device = ranks.device or device_of(config.device)
        with tuning.without_compiler(config):
            models = RunModels(config, device, outputs)
        self.policy, self.tokens = models.policy, models.tokens
        tuning.limit_threads(self.policy)
        tuning.give_memory_back(self.policy)
        self.reference = self.policy if "aliased-reference" in config.planted else models.reference()
        self.split = models.read_prompts()
        self.plans = Plans(config, mean_tokens(self.split.training), ranks.count)
        self.reward_parameters = 0
        self.reward_models: list[dict[str, Any]] = []  # what is known of those that score
        self.build, self.facts = models.build, models.facts
        self.scorer = Scorer(config, SharedMixture.of_ranks(ranks, config, self._counted))
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
            self.reward_models.append(learned_rewards.facts(reward))
        return reward

    def share_state(self) -> None:
        """Give every rank rank 0's weights, optimizer, scales and counts, wherever those have come from."""
        if self.ranks.count == 1:
            return
        assert isinstance(self.trainer, PPOTrainer), "`RunConfig` allows no other with several ranks"
        tensors, facts = self.trainer.state()
        self.ranks.divides = False  # until all have the same weights
        self.ranks.broadcast([*self.trainer.trained.values()])
        given = self.ranks.first(
            {
                "optimizer": {} if self.trainer.will_divide else {key: value.cpu() for key, value in tensors.items()},
                "facts": {**facts, "update": self.trainer.updates_done},
                "scale": self.scorer.facts(),
                "config": self.trainer.config.model_dump(mode="json"),
            }
        )
        if self.ranks.rank:
            self.trainer.config = RunConfig.model_validate(given["config"])
            self.trainer.restore(given["optimizer"], given["facts"])
            self.scorer.restore(given["scale"])
        if self.trainer.will_divide:
            self.trainer.divide()

    def state(self) -> tuple[dict[str, torch.Tensor] | None, dict[str, Any]]:
        """What a checkpoint holds beside the weights, see `Trainer.state`; of divided states for all ranks together."""
        return self.trainer.state()

    def update(self, changes: list[tuple[dict[str, Any], list[str]]], trace: bool) -> None:
        """One update on a rank that follows; see `Session.train`."""
        for changed, fields in changes:
            self.trainer.change(RunConfig.model_validate(changed), fields)
        slow_motion.record_if_due(self.trainer, asked=trace)
        assert isinstance(self.trainer, PPOTrainer), "`RunConfig` allows no other with several ranks"
        self.trainer.update()

    @functools.cached_property
    def rows_at_once(self) -> int:
        """How many texts all ranks write at once before the first update."""
        config, count = self.config, self.ranks.count
        if self.policy.is_small:
            return config.scale_samples(True)
        found = estimates.measures(config, self.outputs)
        longest = max(len(prompt.ids) for prompt in self.split.training)
        shared = estimates.share_of(config, count)
        memory = Memory(shared, found.policy, found.scorers, longest, self.policy.device.type, count)
        return count * memory.reference_rows()

    @property
    def begins_alike(self) -> bool:
        """True where the first answers to the fixed prompts are texts of the reference like those that fix the scale of
        the score, so that all are written together. A small model is quick, and its texts stay what they were."""
        config = self.config
        alike = config.reference.source == catalog.START and config.sampling == config.sampling.in_training
        few = self.rows_at_once >= self.fixed_prompts.count
        return alike and few and self.ranks.count == 1 and not self.policy.is_small

    def fit_scale(self, samples: int, with_fixed: bool = False) -> Scale:
        """Fix the scale of the score on samples of the reference. `with_fixed`: write the first answers to the fixed
        prompts with them (see `begins_alike`)."""
        with self.trainer.division.comparing():
            return self._fit_scale(samples, with_fixed)

    def _fit_scale(self, samples: int, with_fixed: bool) -> Scale:
        config, fixed = self.config, self.fixed_prompts.questions()
        scaling = evaluation.reference_questions(self.split.training, config.seed, samples)
        first = len(fixed.prompts) if with_fixed else 0
        prompts, seeds = [*fixed.prompts[:first], *scaling[0]], [*fixed.seeds[:first], *scaling[1]]
        pays = self._pays()
        close = CloseLook(fixed.watched if with_fixed else (), pays.critic if pays else None)
        sampling = config.sampling.in_training.model_copy(update={"decode": "plain"})  # as many texts as fit at once
        how = evaluation.Generation(self.tokens, sampling, config.ppo.micro_batch_size, self.between)
        answers: list[FixedAnswer] = []
        for start in range(0, len(prompts), self.rows_at_once):
            mine = [start + row for row in self.ranks.deal(min(self.rows_at_once, len(prompts) - start))]
            written: list[FixedAnswer] = []
            if mine:
                chosen = [prompts[row] for row in mine], [seeds[row] for row in mine]
                look = close if close.rows and not start else None  # the fixed prompts are all among the first texts
                found = evaluation.answer(self.reference, None, *chosen, how, look)
                written = evaluation.answers_of(*found, self.tokens)
            by_row = dict(pair for part in self.ranks.exchange([*zip(mine, written, strict=True)]) for pair in part)
            answers += [FixedAnswer(*by_row[row]) for row in sorted(by_row)]
        if with_fixed:
            self.fixed_prompts.ahead = answers[:first], close
        texts = [answer.completion for answer in answers[first:]]
        return self.scorer.fit_scale([prompt.text for prompt in scaling[0]], texts)

    def evaluate(self, stage: Stage) -> Evaluated:
        """Answer the fixed prompts."""
        same = stage == "before" and self.config.reference.source == catalog.START
        reference, done = None if same else self.reference, self.trainer.updates_done
        with self.trainer.division.comparing():
            return self.fixed_prompts.evaluate(stage, done, self.policy, reference, self.tries(stage), self._pays())

    def tries(self, stage: Stage) -> int:
        """How many answers are written for each that is given."""
        if stage == "before":
            return 1
        return self.config.answers_each

    def fingerprint_of_reference(self) -> str:
        """See `LanguageModel.fingerprint`."""
        with self.trainer.division.comparing():
            return self.reference.fingerprint()

    def _pays(self) -> Pays | None:
        trainer = self.trainer
        payment = getattr(trainer, "token_rewards", token_rewards)
        return Pays.of(self.config, trainer.kl_controller.coef, trainer.critic, payment)


def trainer_of(config: RunConfig) -> Callable[..., Trainer]:
    """The trainer of the method that a configuration names. TRL is two seconds of imports."""
    if config.by_trl:
        from playground.training import trl_ppo, trl_texts

        return trl_texts.TRAINERS.get(config.method, trl_ppo.TRLTrainer)
    if config.planted:
        return FaultyTrainer
    return {"best_of_n": BestOfN, "steer": Steered}.get(config.method, PPOTrainer)
