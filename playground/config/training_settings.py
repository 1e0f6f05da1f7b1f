"""The settings around PPO: the KL penalty (`kl`, the leash on the page), DPO, steering, evaluation, early stopping and
checkpoints."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from playground.config.parts import Part, knob


class KLConfig(Part):
    """The KL penalty: what it costs the policy to drift from the reference."""

    controller: Literal["fixed", "adaptive", "ziegler"] = knob("fixed", "Leash control")
    """`fixed` keeps beta. `adaptive` moves it so that the distance (KL) reaches its target and stays there: it looks at
    where the KL will be in eight updates at its present pace. `ziegler` (Ziegler et al. 2019) looks at where the KL is
    now, and the horizon sets how fast beta moves."""
    coef: float = knob(
        0.25,
        "Leash (beta)",
        "sd of score per nat",
        basic=True,
        live=True,
        slider=(0.0, 5.0, 0),
        log=True,
        ge=0,
        le=1000,
    )
    """The score that each step away from its old self costs: the price of one nat of KL to the reference (the KL
    penalty), in standard deviations of the score. When to do without it: docs/ppo.md.

    - Too low: the model chases the reward and forgets its English.
    - Too high: it stays as it was.
    """
    target: float = knob(
        4.0, "Target distance", "nats per completion", live=True, slider=(0.5, 20, 0.5), gt=0, le=10_000
    )
    """How far from the reference the policy should end up, for a leash that adjusts itself. A good first beta is 1
    / sqrt(2 x target).

    - Too low: hardly any change is allowed.
    - Too high: as good as no leash.
    """
    where: Literal["reward", "loss"] = knob("reward", "Leash acts in")
    """Where the KL penalty is. `reward`: each token is paid less for its drift (PPO, RLOO, REINFORCE++). `loss`: the KL
    is added to the loss (GRPO), so a token answers for its own drift and not for that of those after it."""
    estimator: Literal["k1", "k2", "k3", "abs", "full", "k3_corrected"] = knob("k1", "KL as")
    """What stands for the KL of a token, with d = log pi - log pi_ref. In the reward `k1` (d itself) is right: its mean
    is the KL, and `k2` (d squared / 2, TRL's mse), `k3` (exp(-d) - 1 + d), `abs` and `full` (the exact KL of each
    position) optimise something else. In the loss it is the other way round: `k2`, `full` and `k3_corrected` (k3 times
    the token's ratio) have the gradient of the KL, `k3` (GRPO as published) a biased one, and `k1` none on average."""
    horizon: int = knob(288, "Horizon", "episodes", slider=(16, 4096, 16), ge=1, le=10_000_000)
    """For Ziegler's leash: over this many episodes beta rises or falls by a fifth while the KL is 20 % or more off
    its target, by less when it is nearer, and by at most a fifth in one update. Four to eight batches work well.

    - Too low: beta falls before the KL has had time to rise, and both swing.
    - Too high: beta hardly moves in a short run, and the target is never reached.
    """

    @property
    def moves(self) -> bool:
        """Does beta move towards a target, or stay as it is set?"""
        return self.controller != "fixed"

    @model_validator(mode="after")
    def _corrected_in_the_loss(self) -> KLConfig:
        if self.estimator == "k3_corrected" and self.where == "reward":
            raise ValueError("estimator|k3_corrected is for the loss: set kl.where to loss, or take k3")
        return self

    @model_validator(mode="after")
    def _beta_that_moves_is_above_zero(self) -> KLConfig:
        if self.moves and not self.coef:
            raise ValueError(
                f"coef|must be above 0 while the leash is {self.controller}, which multiplies beta: 0 would stay 0 "
                "forever. Try 0.05"
            )
        return self


class DPOConfig(Part):
    """Direct preference optimisation (Rafailov et al. 2023): how its pairs are judged. Its beta is `kl.coef`."""

    labels: Literal["drawn", "better"] = knob("drawn", "Preferences")
    """Which text of a pair counts as the better one. `drawn`: by chance, with the odds of exp(score) (Bradley and
    Terry), as people disagree; then DPO's optimum is that of PPO at the same beta. `better`: always the one with
    the higher score; a pair teaches more, but no leash limits where it ends."""


class SteeringConfig(Part):
    """Contrastive activation addition (Panickssery et al. 2023): what is added to the residual stream, and where."""

    layer: int | None = knob(None, "Steered layer", "counted from 1", slider=(1, 32, 1), ge=1, le=1000)
    """After which layer the vector is read and added. Empty means the middle one, which usually works best.

    - Too early: the layers after it undo the change, or take it for other words.
    - Too late: few layers are left to make something of it.
    """
    strength: float = knob(1.0, "Steering strength", "times the vector", slider=(-4, 4, 0.25), ge=-1000, le=1000)
    """How much of the vector is added at the end; the updates turn the dial there from 0. 1 is the full difference
    between worse and better texts; below 0 it leads to the worse.

    - Near 0: nothing changes.
    - Too far from 0: the texts fall apart.
    """
    num_prompts: int = knob(128, "Prompts for the vector", "prompts", slider=(16, 512, 16), ge=1, le=100_000)
    """For how many training prompts the start model writes the texts (samples per prompt) that are compared.

    - Too low: the vector captures what these few texts happen to be about.
    - Too high: it takes longer, and the vector stays the same.
    """


ROLLOUT_BYTES = 20_000  # of an update in rollouts.jsonl, at most, and beyond the slider's texts so many for each
ROLLOUT_TEXT_BYTES, MOST_OF_SLIDER = 700, 64


def rollout_bytes(texts: int) -> int:
    """What so many training texts of an update may take."""
    return ROLLOUT_BYTES + ROLLOUT_TEXT_BYTES * max(0, texts - MOST_OF_SLIDER)


class EvaluationConfig(Part):
    """The fixed prompts, answered with the same random numbers before, during and after."""

    num_prompts: int = knob(64, "Fixed prompts", "prompts", slider=(4, 256, 4), ge=1, le=10_000)
    """How many held-out prompts are answered before, during and after training.

    - Too low: before and after differ by luck.
    - Too high: each evaluation takes longer.
    """
    prompts: str | None = knob(None, "Fixed prompts from a file", min_length=1, max_length=300)
    """A file of held-out prompts, read as the training prompts are (column, format, system prompt). Empty: they are
    kept aside from the training prompts."""
    samples_per_prompt: int = knob(1, "Samples per fixed prompt", "samples", slider=(1, 8, 1), ge=1, le=64)
    """How many completions are sampled for each fixed prompt.

    - 1 is enough to read.
    - More narrow the uncertainty of the averages.
    """
    every: int = knob(5, "Evaluate every", "updates", slider=(1, 50, 1), ge=1, le=100_000)
    """How many updates pass between two evaluations of the fixed prompts.

    - Too low: most of the time goes into evaluating.
    - Too high: you miss when it turned.
    """
    text: str | None = knob(None, "Held-out text", min_length=1, max_length=300)
    """Ordinary text on which the policy's perplexity is measured at each evaluation: when it rises, the model is
    forgetting. `pocket` for the pocket models, `english` for others, both included; or a .txt file with one document
    per line. Empty: none."""
    num_texts: int = knob(24, "Held-out documents", "documents", slider=(4, 256, 4), ge=1, le=10_000)
    """How many documents of the held-out text are read.

    - Too low: the perplexity depends on which documents they are (though they stay the same during a run).
    - Too high: each evaluation takes longer.
    """
    traces: int = knob(3, "Updates in slow motion", "updates", slider=(0, 20, 1), ge=0, le=50)
    """How many updates are recorded token by token, spread evenly over the run, the first and the last among them. You
    can ask for others while it trains.

    - 0: none, unless you ask for one.
    - Too high: two hundred kilobytes for each, and few of them are ever read.
    """
    rollout_texts: int = knob(16, "Training texts kept", "texts an update", slider=(0, 64, 4), ge=0, le=1024)
    """How many texts of an update are kept, with their scores: some of the best, some of the worst, the others at
    random; all, with as many as the batch has. A click on a point of a curve opens them beside a histogram of all
    scores. 0 keeps neither.

    - 0: of this run, no update can be opened to be read.
    - Too high: the run's folder grows, by up to 20 kB an update, beyond 64 texts by 0.7 kB for each; the more texts,
      the shorter each is cut.
    """
    token_samples: int = knob(8, "Answers kept as tokens", "prompts", slider=(0, 32, 4), ge=0, le=64)
    """For how many fixed prompts each evaluation's answer is kept token by token: KL, entropy, value, reward,
    advantage, and the likeliest tokens of policy and reference. 0 keeps none.

    - 0: no answer of this run's evaluations can be opened as tokens.
    - Too high: the run's folder grows, by about 8 kB for each answer of 30 tokens.
    """

    def is_traced(self, update: int, num_updates: int) -> bool:
        """Whether an update, counted from 1, is one of those that are recorded in slow motion by themselves."""
        gaps = max(self.traces - 1, 1)
        return update in {1 + round(step * (num_updates - 1) / gaps) for step in range(self.traces)}

    def samples(self, num_updates: int) -> int:
        """How many completions of the fixed prompts a run writes at most, with those before training and at its end."""
        return (num_updates // self.every + 2) * self.num_prompts * self.samples_per_prompt

    def watched(self, num_updates: int) -> int:
        """How many of these are kept token by token: at each evaluation the first of each of the first prompts."""
        return (num_updates // self.every + 2) * min(self.token_samples, self.num_prompts)


class StopConfig(Part):
    """When a run ends before its last update. It has then finished; resumed, it goes on to its last update."""

    kl: float | None = knob(
        None, "Stop above this KL", "nats per completion", live=True, slider=(1, 100, 1), gt=0, le=10_000
    )
    """Ends the run after an update whose texts are further than this from the reference. Empty means never.

    - Too low: it ends before much was learned.
    - Too high: it has no effect.
    """
    patience: int | None = knob(
        None, "Stop without a gain", "evaluations", live=True, slider=(1, 20, 1), ge=1, le=10_000
    )
    """Ends the run after so many evaluations in a row without a new best (score less beta times KL, on the fixed
    prompts). Empty means never.

    - Too low: one unlucky evaluation ends it.
    - Too high: it goes on long after it has stopped gaining.
    """
    on_red: bool = knob(False, "Stop at a red check")
    """Ends the run after an evaluation at which a check of `diagnose` is red."""


class CheckpointConfig(Part):
    """What is saved to disk, to use and to resume from. The final weights always are."""

    every: int = knob(10, "Save every", "updates", slider=(0, 50, 1), ge=0, le=100_000)
    """How many updates pass between two checkpoints on disk; 0 means only at the end.

    - 0: an interrupted run starts again from the beginning.
    - Higher: less disk, and more to repeat after an interruption.
    """
    keep: int = knob(2, "Keep", "checkpoints", slider=(1, 10, 1), ge=1, le=1000)
    """How many of the newest checkpoints stay on disk, and the best one with them; others are deleted."""
