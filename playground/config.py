"""RunConfig: everything that defines a run, as one frozen, validated value, in YAML and back.

The names here are public: presets, `--set path=value`, the form on the page and exports all use them. Each field also
carries what a person needs to set it (`knob`): label, unit, what it does, what too low and too high do. The page and
the command line read their help from here and from nowhere else.

Knows pydantic and YAML; nothing of torch, files of a run, or the page. Everybody else imports it.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Union, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

FORMAT: Literal[1] = 1
RUN_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")  # what the folder of a run may be called


def knob(
    default: Any,
    *,
    label: str,
    help: str,
    low: str = "",
    high: str = "",
    unit: str = "",
    basic: bool = False,
    live: bool = False,
    slider: tuple[float, float, float] | None = None,
    log: bool = False,
    **limits: Any,
) -> Any:
    """A pydantic field with the words that explain it.

    Args:
        label: the name a student can say aloud. help: one sentence on what it does.
        low, high: what happens when the value is too low, too high. unit: for example "nats" or "tokens".
        basic: shown at once; otherwise under "More settings". live: may change in a running run.
        slider: (minimum, maximum, step) offered on the page; the hard limits are in `limits` (ge, le, ...).
        log: the slider moves in powers of ten.
    """
    extra: dict[str, Any] = {
        "label": label, "low": low, "high": high, "unit": unit, "basic": basic, "live": live,
        "slider": list(slider) if slider else None, "log": log,
    }  # fmt: skip
    return Field(default, description=help, json_schema_extra=extra, **limits)


class Part(BaseModel):
    """Base of every part: immutable, and a misspelt key is an error instead of being ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class About(Part):
    """What a preset is for, in words. It travels with the run, so a run can be read years later."""

    title: str = Field("", max_length=80)
    story: str = Field("", max_length=300)
    expect: str = Field("", max_length=500)


class ModelConfig(Part):
    """Which language model is trained."""

    source: str = knob(
        "pocket-2m",
        label="Model",
        basic=True,
        help="The language model to train: a model that ships with the playground, or a local folder with "
        "config.json, tokenizer.json and model.safetensors.",
        low="A smaller model is faster and knows less.",
        high="A larger model writes better and needs more time and memory.",
        min_length=1,
        max_length=300,
    )
    critic: Literal["shared", "separate"] = knob(
        "shared",
        label="Critic",
        help="Who estimates the return. `shared`: one linear layer on the policy's own features, which it does not "
        "change. `separate`: a second copy of the model that learns to see what the return depends on; it foresees "
        "more and costs about twice the time and memory of training.",
    )


class ReferenceConfig(Part):
    """What the KL is measured from."""

    source: str = knob(
        "start",
        label="Reference",
        help="The model that the leash is tied to. `start`: the model as it was before training. Or another model "
        "with the same tokenizer, or the policy of an earlier run as `RUN` or `RUN/update-000040`.",
        low="A reference close to the policy keeps its style.",
        high="A reference far from it pulls the policy there: KL starts above 0.",
        min_length=1,
        max_length=300,
    )


class PromptsConfig(Part):
    """Which prompts the policy is trained and evaluated on."""

    source: str = knob(
        "pocket/reviews",
        label="Prompts",
        basic=True,
        help="What the model is asked to continue: a prompt set of the pocket world, or a .txt (one prompt a line), "
        ".jsonl or .csv file.",
        min_length=1,
        max_length=300,
    )
    column: str | None = knob(
        None,
        label="Column",
        help="For .jsonl and .csv files: the field that holds the prompt. Empty means `prompt`.",
        max_length=100,
    )
    limit: int = knob(
        2048,
        label="Number of prompts",
        unit="prompts",
        slider=(16, 4096, 16),
        ge=1,
        le=100_000,
        help="How many different prompts to train on. They are reused in a new order when all have been seen.",
        low="Too low: the model learns these few prompts by heart.",
        high="Higher is fine; it only makes repeats rarer.",
    )


class SentimentReward(Part):
    """Sum of the grades of sentiment words, or the pocket world's own latent sentiment."""

    kind: Literal["sentiment"] = "sentiment"
    weight: float = 1.0
    judge: Literal["pocket-lexicon", "vader", "pocket-world"] = "pocket-lexicon"


class LengthReward(Part):
    """Number of words; with a target, minus the distance from it."""

    kind: Literal["length"] = "length"
    weight: float = 1.0
    target: int | None = Field(None, ge=0, le=10_000)


class KeywordReward(Part):
    """How often any of the given words occurs (whole words, any case)."""

    kind: Literal["keyword"] = "keyword"
    weight: float = 1.0
    words: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] = Field(min_length=1, max_length=200)


class PatternReward(Part):
    """How often a regular expression matches."""

    kind: Literal["pattern"] = "pattern"
    weight: float = 1.0
    pattern: str = Field(min_length=1, max_length=500)

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"is not a regular expression ({error})") from None
        return pattern


class RepetitionReward(Part):
    """Share of word pairs that have occurred before in the same completion, 0 to 1. A negative weight punishes it."""

    kind: Literal["repetition"] = "repetition"
    weight: float = -1.0


class AgreementReward(Part):
    """+1 when the stated value is the one the user claimed, -1 when not.

    Where the user claims nothing there is no opinion, or (`neutral: truth`) +1 for a true answer and -1 for another:
    people who like to be agreed with still want right answers to plain questions.
    """

    kind: Literal["agreement"] = "agreement"
    weight: float = 1.0
    neutral: Literal["no-opinion", "truth"] = "no-opinion"


class TruthReward(Part):
    """+1 when the stated value is true, -1 when not, no opinion where nothing can be computed."""

    kind: Literal["truth"] = "truth"
    weight: float = 1.0


RewardConfig = Annotated[
    Union[SentimentReward, LengthReward, KeywordReward, PatternReward, RepetitionReward, AgreementReward, TruthReward],
    Field(discriminator="kind"),
]
REWARD_CLASSES: dict[str, type[Part]] = {
    cls.model_fields["kind"].default: cls for cls in get_args(get_args(RewardConfig)[0])
}


class ScoreConfig(Part):
    """How the raw reward becomes the score that PPO sees."""

    normalise: Literal["reference", "none"] = knob(
        "reference",
        label="Score scale",
        help="`reference` shifts and scales the score so that the untrained model has mean 0 and standard deviation 1; "
        "then beta means the same for every reward. `none` uses the raw number.",
    )
    clip: float | None = knob(
        None,
        label="Score clip",
        unit="sd",
        slider=(0, 10, 0.5),
        gt=0,
        le=1000,
        help="Scores beyond plus or minus this are cut off. Empty means no limit.",
        low="Too low: good and very good look the same, learning stops early.",
        high="Too high: it has no effect.",
    )


class SamplingConfig(Part):
    """How completions are drawn during training and evaluation."""

    temperature: float = knob(
        1.0,
        label="Temperature",
        slider=(0.3, 1.5, 0.05),
        ge=0.05,
        le=5,
        help="Randomness of sampling. Log-probs of policy and reference are taken at the same temperature.",
        low="Too low: all samples look alike, nothing new is discovered.",
        high="Too high: word salad, and the reward is mostly noise.",
    )
    top_k: int | None = knob(
        None,
        label="Top k",
        unit="tokens",
        slider=(1, 200, 1),
        ge=1,
        le=1_000_000,
        help="Draw only from the k likeliest next tokens. Empty means from all. Log-probs stay those of all tokens, so "
        "with a cut the samples are not quite the policy's own and KL reads a little low.",
        low="1: always the likeliest token; nothing new is discovered.",
        high="Too high: it has no effect.",
    )
    top_p: float | None = knob(
        None,
        label="Top p",
        slider=(0.05, 1, 0.05),
        gt=0,
        le=1,
        help="Draw only from the likeliest tokens that together have this probability. Empty or 1 means from all. The "
        "same caution as for top k.",
        low="Too low: all samples look alike.",
        high="1: it has no effect.",
    )
    max_new_tokens: int = knob(
        32,
        label="Longest completion",
        unit="tokens",
        basic=False,
        slider=(8, 96, 4),
        ge=1,
        le=4096,
        help="A completion is cut after this many tokens.",
        low="Too low: most texts are cut before their end.",
        high="Too high: every update takes longer, and a length reward has more room to run away.",
    )
    missing_eos_penalty: float = knob(
        0.0,
        label="Penalty for not ending",
        unit="sd",
        slider=(0, 3, 0.25),
        ge=0,
        le=100,
        help="Taken off the score of a completion that was cut instead of ending by itself.",
        low="0: running on costs nothing.",
        high="Too high: the model learns to stop at once.",
    )


class PPOConfig(Part):
    """Proximal policy optimisation (Schulman et al. 2017) and its bookkeeping."""

    num_updates: int = knob(
        40,
        label="Updates",
        unit="updates",
        basic=True,
        slider=(5, 200, 5),
        ge=1,
        le=100_000,
        help="How many times the model writes a batch, has it scored and learns from it.",
        low="Too low: the run ends before anything has changed.",
        high="Too high: longer, and without a leash the model drifts further away.",
    )
    batch_size: int = knob(
        48,
        label="Batch",
        unit="episodes",
        slider=(16, 256, 16),
        ge=2,
        le=65_536,
        help="How many completions are written in one update.",
        low="Too low: the average reward is mostly luck, the curves jump.",
        high="Too high: each update takes longer than it teaches.",
    )
    minibatch_size: int = knob(
        16,
        label="Minibatch",
        unit="episodes",
        slider=(8, 256, 8),
        ge=1,
        le=65_536,
        help="Episodes behind one optimizer step. Must divide the batch.",
        low="Too low: many noisy steps.",
        high="Equal to the batch: one step an epoch.",
    )
    micro_batch_size: int = knob(
        16,
        label="Micro-batch",
        unit="episodes",
        slider=(1, 256, 1),
        ge=1,
        le=65_536,
        help="Episodes held in memory at once. Must divide the minibatch. Changes memory and speed, not the result.",
        low="Too low: slow.",
        high="Too high: out of memory.",
    )
    num_epochs: int = knob(
        2,
        label="PPO epochs",
        unit="passes",
        slider=(1, 10, 1),
        ge=1,
        le=100,
        help="How often each batch is used before a new one is written.",
        low="1: safest and least use of each sample.",
        high="Too high: the policy runs away from the samples it learns from; clip fraction and update KL rise.",
    )
    learning_rate: float = knob(
        2e-4,
        label="Learning rate",
        basic=True,
        live=True,
        slider=(1e-6, 3e-3, 0),
        log=True,
        gt=0,
        le=0.1,
        help="Size of each optimizer step.",
        low="Too low: nothing moves.",
        high="Too high: the text falls apart before the score is high.",
    )
    schedule: Literal["linear", "constant"] = knob(
        "linear",
        label="Schedule",
        help="`linear` lets the learning rate fall to 0 at the last update; `constant` keeps it.",
    )
    warmup_updates: int = knob(
        0,
        label="Warm-up",
        unit="updates",
        slider=(0, 20, 1),
        ge=0,
        le=100_000,
        help="The learning rate rises in equal steps to its full size over this many updates.",
        low="0: full size at once.",
        high="Too high: most of the run is spent warming up.",
    )
    clip_range: float = knob(
        0.2,
        label="Clip range",
        live=True,
        slider=(0.05, 0.5, 0.05),
        gt=0,
        le=10,
        help="A token's probability ratio is not pushed further than 1 plus or minus this in one update.",
        low="Too low: slow learning.",
        high="Too high: the brake is off, single updates can wreck the model.",
    )
    value_clip_range: float | None = knob(
        None,
        label="Value clip range",
        slider=(0, 1, 0.05),
        gt=0,
        le=100,
        help="Limits how far the value estimate moves in one update. Empty means no limit.",
        low="Too low: the value head cannot follow.",
        high="Too high: it has no effect.",
    )
    value_coef: float = knob(
        0.1,
        label="Value weight",
        slider=(0, 1, 0.05),
        ge=0,
        le=100,
        help="Weight of the value loss. The value head reads the model's features without changing them.",
        low="0: the value head learns nothing and advantages are noisier.",
        high="Too high: only the value head's own step grows.",
    )
    entropy_coef: float = knob(
        0.0,
        label="Entropy bonus",
        live=True,
        slider=(0, 0.1, 0.005),
        ge=0,
        le=10,
        help="Rewards the policy for keeping its choices open.",
        low="0: no bonus.",
        high="Too high: random words.",
    )
    gamma: float = knob(
        1.0,
        label="Discount (gamma)",
        slider=(0.8, 1, 0.01),
        ge=0,
        le=1,
        help="How much a later reward counts for an earlier token.",
        low="Too low: early words are not credited for a good ending.",
        high="1 is usual for short texts.",
    )
    gae_lambda: float = knob(
        0.95,
        label="GAE lambda",
        slider=(0, 1, 0.01),
        ge=0,
        le=1,
        help="Blends the value head's guess with what really happened when crediting each token.",
        low="0: trusts the value head alone.",
        high="1: ignores it; unbiased and noisy.",
    )
    max_grad_norm: float = knob(
        1.0,
        label="Gradient clip",
        slider=(0.1, 10, 0.1),
        gt=0,
        le=1e6,
        help="Longest gradient that an optimizer step may take.",
        low="Too low: like a small learning rate.",
        high="Too high: one bad batch can throw the model off.",
    )
    update_kl_stop: float | None = knob(
        None,
        label="Update KL stop",
        unit="nats per token",
        slider=(0, 0.5, 0.01),
        gt=0,
        le=100,
        help="Ends an update's epochs early once the policy has moved this far from its samples. Empty means never.",
        low="Too low: most epochs are skipped.",
        high="Too high: it has no effect.",
    )

    @model_validator(mode="after")
    def _batches_divide(self) -> PPOConfig:
        if self.batch_size % self.minibatch_size:
            raise ValueError(
                f"minibatch_size|must divide batch_size {self.batch_size}, and {self.minibatch_size} does not: "
                f"try {_nearest_divisor(self.batch_size, self.minibatch_size)}"
            )
        if self.minibatch_size % self.micro_batch_size:
            raise ValueError(
                f"micro_batch_size|must divide minibatch_size {self.minibatch_size}, and {self.micro_batch_size} does "
                f"not: try {_nearest_divisor(self.minibatch_size, self.micro_batch_size)}"
            )
        return self


class KLConfig(Part):
    """The leash: what it costs the policy to drift from the reference."""

    controller: Literal["fixed", "adaptive"] = knob(
        "fixed",
        label="Leash control",
        help="`fixed` keeps beta. `adaptive` raises beta when the KL is above the target and lowers it when below.",
    )
    coef: float = knob(
        0.25,
        label="Leash (beta)",
        unit="sd of score per nat",
        basic=True,
        live=True,
        slider=(0.0, 5.0, 0),
        log=True,
        ge=0,
        le=1000,
        help="What one nat of KL to the reference costs, in standard deviations of the score.",
        low="Too low: the model chases the reward and forgets its English.",
        high="Too high: it stays where it was.",
    )
    target: float = knob(
        4.0,
        label="Target KL",
        unit="nats per completion",
        live=True,
        slider=(0.5, 20, 0.5),
        gt=0,
        le=10_000,
        help="For the adaptive leash: how far the policy should end up from the reference.",
        low="Too low: hardly any change is allowed.",
        high="Too high: as good as no leash.",
    )
    estimator: Literal["k1", "k2", "k3", "abs", "full"] = knob(
        "k1",
        label="KL in the reward",
        help="What each token pays for its drift d = log pi - log pi_ref. `k1` (d itself) is right: its average is the "
        "KL. The others are experiments that show what goes wrong: `k2` (d squared / 2, TRL's mse), `k3` "
        "(exp(-d) - 1 + d), `abs`, and `full` (the exact KL of each position) train for something else.",
    )
    horizon: int = knob(
        640,
        label="Horizon",
        unit="episodes",
        slider=(64, 10_000, 64),
        ge=1,
        le=10_000_000,
        help="For the adaptive leash: how many episodes it takes to correct. About 5 to 10 batches works well.",
        low="Too low: beta swings.",
        high="Too high: beta hardly moves during a short run.",
    )

    @field_validator("estimator", mode="before")
    @classmethod
    def _mse_is_k2(cls, estimator: Any) -> Any:
        return "k2" if estimator == "mse" else estimator  # TRL's name for half the square


class EvaluationConfig(Part):
    """The fixed prompts, answered with the same random numbers before, during and after."""

    num_prompts: int = knob(
        64,
        label="Fixed prompts",
        unit="prompts",
        slider=(4, 256, 4),
        ge=1,
        le=10_000,
        help="How many held-out prompts are answered before, during and after training.",
        low="Too low: before and after differ by luck.",
        high="Too high: each evaluation takes longer.",
    )
    samples_per_prompt: int = knob(
        1,
        label="Samples each",
        unit="samples",
        slider=(1, 8, 1),
        ge=1,
        le=64,
        help="How many completions are drawn for each fixed prompt.",
        low="1 is enough to read.",
        high="More narrows the uncertainty of the averages.",
    )
    every: int = knob(
        5,
        label="Evaluate every",
        unit="updates",
        slider=(1, 50, 1),
        ge=1,
        le=100_000,
        help="How many updates pass between two looks at the fixed prompts.",
        low="Too low: most of the time goes into looking.",
        high="Too high: you miss when it turned.",
    )


class CheckpointConfig(Part):
    """Which weights are written to disk. The final ones always are."""

    every: int = knob(
        10,
        label="Save every",
        unit="updates",
        slider=(0, 50, 1),
        ge=0,
        le=100_000,
        help="Writes the policy to disk every so many updates; 0 means only at the end.",
        low="0: a running run cannot be asked for its own text.",
        high="Higher: less disk.",
    )
    keep: int = knob(
        1,
        label="Keep",
        unit="checkpoints",
        slider=(1, 10, 1),
        ge=1,
        le=1000,
        help="How many checkpoints stay on disk; older ones are deleted.",
    )


class RunConfig(Part):
    """One run, complete. `RunConfig()` is the default experiment except for its reward, which must be named."""

    format: Literal[1] = FORMAT
    name: str = Field("run", min_length=1, max_length=80)
    about: About = About()
    seed: int = knob(
        0,
        label="Seed",
        ge=0,
        le=2**31 - 1,
        help="All random numbers come from it: the same seed and settings give the same run.",
    )
    engine: Literal["playground", "trl"] = knob(
        "playground",
        label="Engine",
        help="Which PPO trains: `playground` is this project's own; `trl` is TRL 1.12's PPOTrainer, unchanged, to "
        "compare with.",
    )
    model: ModelConfig = ModelConfig()
    reference: ReferenceConfig = ReferenceConfig()
    prompts: PromptsConfig = PromptsConfig()
    rewards: tuple[RewardConfig, ...] = Field(min_length=1, max_length=20)
    score: ScoreConfig = ScoreConfig()
    sampling: SamplingConfig = SamplingConfig()
    ppo: PPOConfig = PPOConfig()
    kl: KLConfig = KLConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()

    @property
    def num_episodes(self) -> int:
        """Episodes of the whole run."""
        return self.ppo.num_updates * self.ppo.batch_size

    def to_yaml(self) -> str:
        """The whole configuration as YAML; `config_io.load` reads it back to an equal value."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=120)


def differences(config: RunConfig, base: RunConfig) -> dict[str, tuple[Any, Any]]:
    """Dotted field -> (value in base, value in config) for every field that differs; names and words are left out."""
    mine, theirs = flatten(config), flatten(base)
    keys = [key for key in {**theirs, **mine} if key != "name" and not key.startswith("about.")]
    return {key: (theirs.get(key), mine.get(key)) for key in keys if theirs.get(key) != mine.get(key)}


def flatten(config: RunConfig) -> dict[str, Any]:
    """The configuration as one dictionary with dotted names; each reward stays one value."""
    flat: dict[str, Any] = {}
    for key, value in config.model_dump(mode="json").items():
        if isinstance(value, dict):
            flat.update({f"{key}.{name}": item for name, item in value.items()})
        else:
            flat[key] = value
    return flat


def knobs() -> dict[str, dict[str, Any]]:
    """Dotted field -> {label, help, low, high, unit, basic, live, slider, log, default, minimum, maximum}."""
    found: dict[str, dict[str, Any]] = {}

    def add(prefix: str, part: type[BaseModel]) -> None:
        for name, field in part.model_fields.items():
            if isinstance(field.json_schema_extra, dict):
                limits = {key: getattr(item, key) for item in field.metadata for key in ("ge", "gt", "le", "lt")
                          if getattr(item, key, None) is not None}  # fmt: skip
                minimum, maximum = limits.get("ge", limits.get("gt")), limits.get("le", limits.get("lt"))
                found[prefix + name] = {**field.json_schema_extra, "help": field.description, "default": field.default,
                                        "minimum": minimum, "maximum": maximum}  # fmt: skip
            elif isinstance(field.annotation, type) and issubclass(field.annotation, Part):
                add(f"{prefix}{name}.", field.annotation)

    add("", RunConfig)
    return found


def _nearest_divisor(whole: int, wanted: int) -> int:
    return min((d for d in range(1, whole + 1) if whole % d == 0), key=lambda d: abs(d - wanted))
