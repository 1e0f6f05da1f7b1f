"""How a run learns: PPO, the leash, evaluation and checkpoints."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import field_validator, model_validator

from playground.config.parts import Part, knob


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
    text: str | None = knob(
        None,
        label="Held-out text",
        help="Ordinary text on which the policy's perplexity is measured at each look: when it rises, the model is "
        "forgetting what it knew. `pocket` for the pocket models, `english` (plain paragraphs) for others, "
        "both shipped; or a .txt file with one document a line. Empty means not measured.",
        min_length=1,
        max_length=300,
    )
    num_texts: int = knob(
        24,
        label="Held-out documents",
        unit="documents",
        slider=(4, 256, 4),
        ge=1,
        le=10_000,
        help="How many documents of the held-out text are read.",
        low="Too low: the perplexity depends on which documents they are (but they stay the same during a run).",
        high="Too high: each look takes longer.",
    )

    def samples(self, num_updates: int) -> int:
        """How many completions of the fixed prompts a run of that many updates writes at most: at each look a sample
        of each, and there is a look before training and one at its end beside those on the way."""
        return (num_updates // self.every + 2) * self.num_prompts * self.samples_per_prompt


class CheckpointConfig(Part):
    """What is written to disk, to be used and to go on from. The final weights always are."""

    every: int = knob(
        10,
        label="Save every",
        unit="updates",
        slider=(0, 50, 1),
        ge=0,
        le=100_000,
        help="Writes the state of training to disk every so many updates; 0 means only at the end.",
        low="0: a run that is interrupted starts again from the beginning.",
        high="Higher: less disk, and more to do again after an interruption.",
    )
    keep: int = knob(
        2,
        label="Keep",
        unit="checkpoints",
        slider=(1, 10, 1),
        ge=1,
        le=1000,
        help="How many of the newest checkpoints stay on disk, and the best one beside them; others are deleted.",
    )


def _nearest_divisor(whole: int, wanted: int) -> int:
    return min((d for d in range(1, whole + 1) if whole % d == 0), key=lambda d: abs(d - wanted))
