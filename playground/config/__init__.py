"""RunConfig: everything that defines a run, as one frozen, validated value, in YAML and back.

The names here are public: presets, `--set path=value`, the form on the page and exports all use them. Each field also
carries what a person needs to set it (`knob`): label, unit, what it does, what too low and too high do. The page and
the command line read their help from here and from nowhere else.

The parts are in source_settings.py (models, prompts, sampling), reward_settings.py, ppo_settings.py and
training_settings.py (KL, evaluation, checkpoints). Knows pydantic and YAML; nothing of torch, files of a run, or the
page. Everyone else imports it.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from playground.config import faults as mistakes
from playground.config import methods
from playground.config.behaviour_settings import Behaviour
from playground.config.parts import RUN_ID, Part, device_knob, knob, knobs_of
from playground.config.ppo_settings import PPOConfig
from playground.config.reward_model_settings import PairsConfig, RewardTrainingConfig
from playground.config.reward_settings import (
    DEAR_SCALE_SAMPLES,
    REWARD_CLASSES,
    SCALE_SAMPLES,
    AgreementReward,
    ContrastReward,
    ExpressionReward,
    GrammarReward,
    KeywordReward,
    LengthReward,
    ModelReward,
    PatternReward,
    PythonReward,
    RepetitionReward,
    RewardConfig,
    RewardPart,
    ScoreConfig,
    SentimentReward,
    SycophancyReward,
    TruthReward,
    VerifyReward,
)
from playground.config.source_settings import AdapterConfig, ModelConfig, PromptsConfig, ReferenceConfig, SamplingConfig
from playground.config.training_settings import (
    CheckpointConfig,
    DPOConfig,
    EvaluationConfig,
    KLConfig,
    SteeringConfig,
    StopConfig,
)

__all__ = [
    "REWARD_CLASSES", "RUN_ID", "AdapterConfig", "AgreementReward", "Behaviour", "CheckpointConfig", "ContrastReward",
    "DPOConfig", "EvaluationConfig", "ExpressionReward", "GrammarReward", "KLConfig", "KeywordReward",
    "LengthReward", "ModelConfig", "ModelReward", "PPOConfig", "PairsConfig", "Part", "PatternReward",
    "PromptsConfig", "PythonReward", "ReferenceConfig", "RepetitionReward", "RewardConfig", "RewardPart",
    "RewardTrainingConfig", "RunConfig", "SamplingConfig", "ScoreConfig", "SentimentReward", "SteeringConfig",
    "StopConfig", "SycophancyReward",
    "TruthReward", "VerifyReward", "differences", "flatten", "from_defaults", "knob", "knobs", "knobs_of",
]  # fmt: skip


FORMAT: Literal[1] = 1
WATCHED = "Another program trains this run, and here it is only watched: stop it, or let it go on, there."
NOT_STARTED = "Another program trains this run, and not all of its settings are known: it cannot be started here."
BY_TRL = "TRL's trainers cannot go on from a checkpoint: start again from the settings of this run."


class About(Part):
    """What a preset is for, in words. It travels with the run, so a run can be read years later."""

    title: str = Field("", max_length=80)
    story: str = Field("", max_length=300)
    expect: str = Field("", max_length=500)


class RunConfig(Part):
    """One run, complete. `RunConfig()` is the default experiment except for its reward, which must be named."""

    format: Literal[1] = FORMAT
    name: str = Field("run", min_length=1, max_length=80)
    """What the run is called."""
    # Facts about a run, which no one sets: the preset whose settings it has or had before they were changed; the job of
    # its process, to train it, to try an update of it, or to watch another program train; and that program's trainer.
    preset: str = Field("", max_length=80)
    kind: Literal["run", "trial", "watched"] = "run"
    trainer: str = Field("", max_length=80)
    about: About = About()
    seed: int = knob(0, "Seed", ge=0, le=2**31 - 1)
    """Every random number comes from it: the same seed and settings give the same run."""
    method: methods.Name = knob("ppo", "Method")
    """How the model learns from the reward. PPO, RLOO and GRPO learn from what the policy writes, DPO and SFT from
    what the start model wrote; best of n and steering train nothing."""
    engine: Literal["playground", "trl"] = knob("playground", "Engine")
    """Whose code trains: `playground` is this project's own; `trl` is TRL 1.12's PPOTrainer, unchanged, for
    comparison."""
    device: str = device_knob(several=True)
    ranks: int = knob(1, "Processes", "ranks", slider=(1, 8, 1), ge=1, le=1024)
    """How many processes compute the run together, each on its own device with a share of every batch. The result is
    that of one process. At 1 there are as many as `device` names.

    - 1 is right for one GPU, and for a CPU.
    - Too high: they wait for each other longer than they compute.
    """
    shard: Literal["none", "optimizer", "full"] = knob("none", "Divided between processes")
    """Whether several processes divide what training holds, by PyTorch's FSDP2. `none`: each holds all of it.
    `optimizer`: each holds a part of what the optimizer remembers, and all weights. `full`: also of weights,
    gradients and reference, and gathers one layer at a time while it learns. The result is the same.

    - `none` is the fastest, where the model fits.
    - `full` needs the least memory and exchanges the most.
    """
    max_minutes: float | None = knob(None, "Time limit", "minutes", slider=(1, 120, 1), gt=0, le=100_000)
    """Stops and saves the run after this many minutes. Loading and pauses count; a resumed run gets the full time
    again. Empty means no limit.

    - Too low: it ends before anything has changed.
    - Too high: it has no effect.
    """
    model: ModelConfig = ModelConfig()
    reference: ReferenceConfig = ReferenceConfig()
    prompts: PromptsConfig = PromptsConfig()
    rewards: tuple[RewardConfig, ...] = Field(max_length=20)
    """What is rewarded: the raw score is the weighted sum of these."""
    judges: tuple[RewardConfig, ...] = Field((), max_length=10)
    """Rewards that only watch: they score the fixed prompts and are never trained on."""
    experiments: bool = False
    """Allows what is knowingly wrong: `faults` (docs/diagnosis.md)."""
    faults: tuple[mistakes.Fault | mistakes.Drawn, ...] = Field((), max_length=9)  # see `planted`
    """Mistakes that the run is trained with, to see what shows them."""
    behaviours: tuple[Behaviour, ...] | None = Field(None, max_length=12)
    """What is counted in the answers to the fixed prompts. Empty means those that suit the prompts."""
    trackers: tuple[Literal["trackio", "wandb", "tensorboard"], ...] = Field((), max_length=3)
    """Where the run is sent while it trains (docs/outputs.md); on one's own machine only."""
    score: ScoreConfig = ScoreConfig()
    sampling: SamplingConfig = SamplingConfig()
    ppo: PPOConfig = PPOConfig()
    kl: KLConfig = KLConfig()
    dpo: DPOConfig = DPOConfig()
    steering: SteeringConfig = SteeringConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    stop: StopConfig = StopConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()

    @model_validator(mode="before")
    @classmethod
    def _filled_by_method(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if data.get("kind") == "watched":
            return {"rewards": (), **data}
        return methods.filled(data)

    @field_validator("rewards")
    @classmethod
    def _has_rewards(cls, rewards: tuple[RewardConfig, ...], info: ValidationInfo) -> tuple[RewardConfig, ...]:
        if not rewards and info.data.get("kind") != "watched":
            raise PydanticCustomError("too_short", "must have at least one entry")
        return rewards

    @model_validator(mode="after")
    def _suits_method(self) -> RunConfig:
        if self.kind == "watched":
            return self
        ppo = self.ppo
        problem = methods.contradiction(self.method, ppo.baseline, ppo.samples_per_prompt, ppo.minibatch_size)
        if problem:
            raise ValueError(problem)
        if self.faults and not self.experiments:
            raise ValueError("faults|are mistakes on purpose, so they need `experiments: true`")
        if self.faults and (self.method != "ppo" or self.by_trl):
            raise ValueError("faults|can be planted in this project's own PPO only (method ppo, engine playground)")
        if mistakes.DRAWN in self.faults and len(self.faults) > 1:
            raise ValueError(f"faults|`{mistakes.DRAWN}` is one mistake, drawn by the seed: it has to be alone")
        for fault in self.faults:
            if fault != mistakes.DRAWN and (what := self._missing(fault)):
                raise ValueError(f"faults|{fault} needs {what}")
        self._suits_ranks()
        if self.reference.every and (problem := self._unmoving()):
            raise ValueError(f"reference.every|{problem}: set it to 0")
        if self.method == "dpo" and not self.kl.coef:
            raise ValueError("kl.coef|must be more than 0 with method dpo, whose beta it is: try 0.25")
        if self.method == "distil":
            self._has_teacher()
        learned = sum(isinstance(spec, ModelReward) for spec in self.rewards)
        if self.score.combine != "sum" and learned < 2:
            raise ValueError(
                f"score.combine|{self.score.combine} is of several learned rewards, and there is {learned or 'none'}: "
                "add rewards of kind model, or set it to sum"
            )
        exact_in_loss = (self.kl.where, self.kl.estimator) == ("loss", "full")
        if exact_in_loss and self.sampling.train_on_cut:
            raise ValueError(
                "kl.estimator|full in the loss needs the whole distribution: set sampling.train_on_cut to no"
            )
        return self

    def _has_teacher(self) -> None:
        if self.reference.source == ReferenceConfig().source:
            raise ValueError("reference.source|must name a teacher with method distil, for example pocket-2m")
        if not self.kl.coef:
            raise ValueError("kl.coef|must be more than 0 with method distil, which learns from nothing else: try 1")

    def _suits_ranks(self) -> None:
        if not self.may_be_shared:
            return
        several = "ranks" if self.ranks > 1 else "device"
        if self.by_trl or self.method in ("best_of_n", "steer"):
            raise ValueError(
                f"{several}|Several processes compute PPO, RLOO and GRPO of this project's own engine only: take one "
                "device and 1 process"
            )
        if self.ppo.leaves_out:
            raise ValueError(
                f"{several}|Several processes learn from every text of a batch: set ppo.drop_alike_groups to no and "
                "ppo.overlong to keep, or take one device and 1 process"
            )
        most = max(self.ranks, self.device.count(",") + 1)
        if most > self.ppo.minibatch_size:
            raise ValueError(
                f"{several}|{most} processes need a minibatch of at least {most} episodes to share: raise "
                f"ppo.minibatch_size (it is {self.ppo.minibatch_size})"
            )
        if self.shard != "none" and (problem := self._undividable(most)):
            raise ValueError(f"shard|{problem}: set it to none")

    def _unmoving(self) -> str:
        """Why the reference cannot move; empty where it can."""
        if self.by_trl or not methods.METHODS[self.method].in_own_loop:
            return "the reference moves only where this project's own engine learns in updates"
        if self.reference.source != ReferenceConfig().source:
            return f"a reference that moves leaves {self.reference.source} behind, so it begins as the start model"
        if self.faults:
            return "planted faults are shown beside a reference that stays"
        if self.shard != "none":
            return "several processes cannot divide the weights of a reference that moves (shard)"
        return ""

    def _undividable(self, processes: int) -> str:
        """Why the states of training cannot be divided between processes; empty where they can."""
        if self.model.quantization != "none":
            return f"FSDP divides no weights in {self.model.quantization}, and their adapter is small"
        if self.model.adapter.kind == "lora":
            return "with LoRA little is trained, and FSDP would divide the frozen weights that writing needs whole"
        if self.faults or self.ppo.staleness or self.ppo.optimizer in ("adafactor", "adamw_8bit"):
            return "what is divided needs the optimizer adamw, adam or sgd, no staleness and no planted faults"
        if self.shard == "full" and self.ppo.minibatch_size % processes:
            return f"`full` needs a minibatch that is a multiple of the {processes} processes"
        return ""

    def _missing(self, fault: mistakes.Fault) -> str:
        return mistakes.missing(fault, self.ppo.baseline, {spec.kind for spec in self.rewards}, self.kl.controller)

    @property
    def planted(self) -> tuple[mistakes.Fault, ...]:
        """The mistakes that the run is trained with. A drawn one is among those that are possible with these settings.
        For what makes the mistakes, and for who asks for the answer: all else says `faults`."""
        if mistakes.DRAWN in self.faults:
            return (mistakes.drawn(self.seed, [fault for fault in mistakes.FAULTS if not self._missing(fault)]),)
        return tuple(fault for fault in self.faults if fault != mistakes.DRAWN)

    def as_data(self) -> dict[str, Any]:
        """All of it as plain data; of a watched run what is known, and no default."""
        if self.kind == "watched":
            return self.model_dump(mode="json", exclude_unset=True, exclude={"rewards"})
        return self.model_dump(mode="json")

    def reads(self, field: str) -> bool:
        """Whether a dotted field means something in this run: its method reads it; of a watched run, it is known."""
        if self.kind == "watched":
            return field in flatten(self)
        return not methods.unused(self.method, field)

    @property
    def method_label(self) -> str:
        """By what it learns, for a person: its method, or the trainer that is watched."""
        if self.kind == "watched":
            return f"{self.trainer}, watched"
        return methods.METHODS[self.method].label

    @property
    def not_started(self) -> str:
        """Why no run can be started from it, in a sentence; empty where one can."""
        return NOT_STARTED if self.kind == "watched" else ""

    @property
    def why_not_resumed(self) -> str:
        """Why it cannot go on from a checkpoint, in a sentence; empty where it can."""
        if self.kind == "watched":
            return WATCHED
        return BY_TRL if self.by_trl else ""

    @property
    def loaded_model(self) -> ModelConfig:
        """How the models are loaded: TRL's PPO computes in fp32."""
        if self.engine == "trl":
            return self.model.model_copy(update={"precision": "fp32"})
        return self.model

    @property
    def by_trl(self) -> bool:
        """True where a trainer of TRL's does the work, which cannot go on from a checkpoint."""
        return self.engine == "trl" or methods.METHODS[self.method].by_trl

    @property
    def may_be_shared(self) -> bool:
        """True where several processes may compute it, each on a device of its own."""
        return self.ranks > 1 or self.device == "all" or "," in self.device

    @property
    def score_unit(self) -> str:
        """The unit of scores: "sd", standard deviations of the reference's texts, or "points"."""
        return "sd" if self.score.normalise == "reference" else "points"

    @property
    def answers_each(self) -> int:
        """How many answers are written for each that is given once the run has ended; more than 1 for the best of n."""
        return self.ppo.samples_per_prompt if self.method == "best_of_n" else 1

    @staticmethod
    def scale_samples(is_small: bool) -> int:
        """How many samples of the reference fix the scale of the score: fewer for a model that is not small (of fewer
        than SMALL_MODEL parameters)."""
        return SCALE_SAMPLES if is_small else DEAR_SCALE_SAMPLES

    @property
    def scorers(self) -> list[tuple[str, RewardConfig]]:
        """Whatever scores a text in this run, with the dotted field that names it: rewards, judges and the measures of
        behaviours."""
        groups = (("rewards", self.rewards), ("judges", self.judges))
        found = [(f"{field}.{number}", spec) for field, specs in groups for number, spec in enumerate(specs)]
        own = [(number, one.measure) for number, one in enumerate(self.behaviours or ()) if one.measure]
        return found + [(f"behaviours.{number}.measure", measure) for number, measure in own]

    @property
    def reads_columns(self) -> bool:
        """True where something that scores gets what else stands in the row of a prompt."""
        return any(isinstance(spec, (PythonReward, VerifyReward)) for _, spec in self.scorers)

    @property
    def num_episodes(self) -> int:
        """Episodes of the whole run."""
        return self.ppo.num_updates * self.ppo.batch_size

    @property
    def pays_tokens(self) -> bool:
        """True where each token of a text is paid: the KL penalty for its drift, the score on the last one."""
        in_own_loop = methods.METHODS[self.method].in_own_loop and not self.by_trl
        return self.method == "ppo" or (in_own_loop and self.kl.where == "reward")

    @property
    def has_critic(self) -> bool:
        """True where a critic is the baseline and foresees what each token will still earn."""
        return self.method == "ppo" and self.ppo.baseline == "value"

    @property
    def separate_critic(self) -> bool:
        """True for a critic with a trunk of its own."""
        return self.model.critic == "separate" and self.has_critic


def differences(config: RunConfig, base: RunConfig) -> dict[str, tuple[Any, Any]]:
    """Dotted field -> (value in base, value in config) for every setting that differs; names and words are none."""
    mine, theirs = flatten(config), flatten(base)
    if "watched" in (config.kind, base.kind):  # what is not known differs from nothing
        mine = {key: value for key, value in mine.items() if key in theirs}
        theirs = {key: theirs[key] for key in mine}
    keys = [key for key in {**theirs, **mine} if key != "name" and not key.startswith("about.")]
    return {key: (theirs.get(key), mine.get(key)) for key in keys if theirs.get(key) != mine.get(key)}


def from_defaults(config: RunConfig) -> dict[str, tuple[Any, Any]]:
    """The same against the defaults, rewards and monitors apart; of a watched run all that is known."""
    if config.kind == "watched":
        settings = flatten(config).items()
        return {field: (None, value) for field, value in settings if field != "name" and not field.startswith("about.")}
    return differences(config, RunConfig(rewards=config.rewards, judges=config.judges))


def flatten(config: RunConfig) -> dict[str, Any]:
    """The configuration as one dictionary with dotted names; each reward stays one value. The preset, the kind of job
    and the trainer are facts about a run, and no settings."""
    flat: dict[str, Any] = {}

    def add(prefix: str, part: Part, values: dict[str, Any]) -> None:
        for key, value in values.items():
            inner = getattr(part, key)
            if isinstance(inner, Part):
                add(f"{prefix}{key}.", inner, value)
            else:
                flat[prefix + key] = value

    settings = config.as_data()
    for fact in ("preset", "kind", "trainer"):
        settings.pop(fact, None)
    add("", config, settings)
    return flat


def knobs() -> dict[str, dict[str, Any]]:
    """Dotted field -> {label, help, low, high, unit, basic, live, slider, log, default, minimum, maximum}."""
    return knobs_of(RunConfig)
