"""How a run learns: the settings of PPO."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from playground.config.parts import Part, knob


class PPOConfig(Part):
    """Proximal policy optimisation (Schulman et al. 2017) and its bookkeeping."""

    num_updates: int = knob(40, "Updates", "updates", basic=True, slider=(5, 200, 5), ge=1, le=100_000)
    """How many times the model writes a batch, has it scored, and learns from it.

    - Too low: the run ends before anything has changed.
    - Too high: it takes longer, and without a leash the model drifts further.
    """
    batch_size: int = knob(48, "Batch", "episodes", slider=(16, 256, 16), ge=2, le=65_536)
    """How many completions are written in each update.

    - Too low: the mean score is mostly luck, and the curves jump.
    - Too high: each update takes longer than what it teaches is worth.
    """
    samples_per_prompt: int = knob(1, "Samples per prompt", slider=(1, 16, 1), ge=1, le=1024)
    """How many completions of a batch answer the same prompt. The batch must be a multiple of it.

    - 1: every completion has a prompt of its own.
    - Too high: a batch has few prompts, and the model learns what suits those few.
    """
    baseline: Literal["value", "leave_one_out", "group", "none"] = knob("value", "Baseline")
    """What a completion's reward is compared with. `value`: what the value head predicts (PPO). `leave_one_out`:
    the mean of the prompt's other samples (RLOO); no critic, so discount, GAE lambda and the value settings have no
    effect. `group`: the mean and spread of all the prompt's samples (GRPO's normalisation), which is biased:
    prompts where the answer hardly matters weigh as much as others. `none`: nothing; with the advantage scale `batch`
    this is REINFORCE++."""
    advantage_scale: Literal["batch", "group", "none"] = knob("batch", "Advantage scale")
    """What advantages are divided by. `batch`: by their spread over the whole batch, and shifted to mean 0 (PPO,
    REINFORCE++; here GRPO too, behind its group's spread). `group`: by the spread of their prompt's samples alone
    (GRPO as published). `none`: by nothing (Dr. GRPO), so prompts where the answer matters weigh more."""
    loss_mean: Literal["token", "text", "constant"] = knob("token", "Mean of the loss")
    """Over what the policy loss is averaged. `token`: over all tokens of a minibatch (PPO, DAPO). `text`: over the
    tokens of each text, then over texts (GRPO as published): a long wrong text is punished less per token. `constant`:
    the sum over tokens, divided by the longest length that a text may have (Dr. GRPO)."""
    ratio: Literal["token", "text"] = knob("token", "Ratio of")
    """What is compared with the policy that wrote it, and clipped. `token`: each token by itself. `text`: a whole text
    at once, by the mean of its tokens' log-ratios (GSPO). That mean is small: take a tenth of the clip range, or
    less."""
    drop_alike_groups: bool = knob(False, "Drop groups that score alike")
    """Leaves out the prompts all of whose samples score the same (DAPO), from which a group baseline learns nothing.
    How many were left out is a curve."""
    overlong: Literal["keep", "mask", "penalise"] = knob("keep", "Texts cut off")
    """What happens to texts that did not end by themselves. `keep`: nothing. `mask`: they are not learned from.
    `penalise`: texts in the last fifth of the longest length lose score, up to 1 at its end (both DAPO)."""
    minibatch_size: int = knob(16, "Minibatch", "episodes", slider=(8, 256, 8), ge=1, le=65_536)
    """Episodes in one optimizer step. The batch must be a multiple of it.

    - Too low: many noisy steps.
    - Equal to the batch: one step per epoch.
    """
    micro_batch_size: int = knob(16, "Micro-batch", "episodes", slider=(1, 256, 1), ge=1, le=65_536)
    """Episodes in memory at once. The minibatch must be a multiple of it. Changes memory and speed, not the result.

    - Too low: slow.
    - Too high: out of memory.
    """
    num_epochs: int = knob(2, "PPO epochs", "passes", slider=(1, 10, 1), ge=1, le=100)
    """How often each batch is used before a new one is written.

    - 1: the safest, and the least use of each sample.
    - Too high: the policy moves away from the samples it learns from; clip fraction and update KL rise.
    """
    learning_rate: float = knob(
        2e-4, "Learning rate", basic=True, live=True, slider=(1e-6, 3e-3, 0), log=True, gt=0, le=0.1
    )
    """Size of each optimizer step.

    - Too low: nothing moves.
    - Too high: the text falls apart before the score gets high.
    """
    optimizer: Literal["adamw", "adam", "sgd", "adafactor", "adamw_8bit"] = knob("adamw", "Optimizer")
    """What turns gradients into steps. `adamw` is what PPO is usually trained with; `adam` counts weight decay as a
    part of the gradient. `adamw_8bit` (of bitsandbytes) remembers a quarter of what they do, `adafactor` (of
    transformers, at the learning rate that is set) and `sgd` (without momentum) almost nothing; `sgd` needs a learning
    rate hundreds of times as high."""
    weight_decay: float = knob(0.0, "Weight decay", slider=(0, 0.1, 0.005), ge=0, le=10)
    """How strongly every step pulls the trained matrices towards 0, in units of the learning rate; biases and norms
    are left alone.

    - 0: not at all, as is usual in PPO, where the leash holds the model.
    - Too high: the model forgets what it knew.
    """
    schedule: Literal["linear", "constant"] = knob("linear", "Schedule")
    """`linear` lowers the learning rate to 0 by the last update; `constant` keeps it."""
    warmup_updates: int = knob(0, "Warm-up", "updates", slider=(0, 20, 1), ge=0, le=100_000)
    """Over this many updates the learning rate rises in equal steps to its full size.

    - 0: full size from the start.
    - Too high: most of the run is spent warming up.
    """
    clip_range: float = knob(0.2, "Clip range", live=True, slider=(0.05, 0.5, 0.05), gt=0, le=10)
    """A token's probability ratio (new over old) is not pushed further than 1 plus or minus this in one update.

    - Too low: it learns slowly.
    - Too high: the brake is off, and a single update can wreck the model.
    """
    clip_range_high: float | None = knob(None, "Clip range above", slider=(0.05, 1, 0.01), gt=0, le=10)
    """How far a ratio may rise above 1, where that is to be another limit than below it (clip-higher, DAPO: 0.28).
    Empty means the same as below.

    - Lower than the clip range: words that were rare stay rare.
    - Too high: like a clip range that is too high.
    """
    staleness: int = knob(0, "Staleness", "updates", slider=(0, 8, 1), ge=0, le=64)
    """By how many updates the policy that writes is older than the one that learns, as in asynchronous trainers.

    - 0: every text is written by the policy as it is.
    - Too high: ratios begin far from 1, and most tokens are clipped.
    """
    correction: Literal["none", "truncated", "masked"] = knob("none", "Correction of late texts")
    """What is done about texts that are late. `none`: the clip compares with the policy that wrote them. `truncated`:
    the clip compares with the policy at the start of the update, and each token counts by its ratio of that policy to
    the one that wrote it, at most 2. `masked`: the same, but a token whose ratio is outside 1/2 to 2 counts nothing."""
    value_clip_range: float | None = knob(None, "Value clip range", slider=(0, 1, 0.05), gt=0, le=100)
    """Limits how far the value estimate moves in one update. Empty means no limit.

    - Too low: the value head cannot keep up.
    - Too high: it has no effect.
    """
    value_coef: float = knob(0.1, "Value weight", slider=(0, 1, 0.05), ge=0, le=100)
    """Weight of the value loss. The value head reads the model's features without changing them.

    - 0: the value head learns nothing, and advantages are noisier.
    - Too high: no harm to the policy and little effect, since Adam evens out the size of gradients.
    """
    entropy_coef: float = knob(0.0, "Entropy bonus", live=True, slider=(0, 0.1, 0.005), ge=0, le=10)
    """Rewards the policy for keeping its options open.

    - 0: no bonus.
    - Too high: random words.
    """
    gamma: float = knob(1.0, "Discount (gamma)", slider=(0.8, 1, 0.01), ge=0, le=1)
    """How much a later reward counts for an earlier token.

    - Too low: early words get no credit for a good ending.
    - 1 is usual for short texts.
    """
    gae_lambda: float = knob(0.95, "GAE lambda", slider=(0, 1, 0.01), ge=0, le=1)
    """How each token gets its credit: from what the value head predicts, from what really happened, or a blend.

    - 0: trusts the value head alone.
    - 1: counts only what really happened; best for short texts, noisy in long ones.
    """
    max_grad_norm: float = knob(1.0, "Gradient clip", slider=(0.1, 10, 0.1), gt=0, le=1e6)
    """A gradient longer than this is shortened to it before the optimizer step.

    - Too low: like a small learning rate.
    - Too high: one bad batch can throw the model off.
    """
    update_kl_stop: float | None = knob(None, "Update KL stop", "nats per token", slider=(0, 0.5, 0.01), gt=0, le=100)
    """Ends an update's epochs early once the policy has moved this far from the one that wrote the samples. Empty
    means never.

    - Too low: most epochs are skipped.
    - Too high: it has no effect.
    """

    @model_validator(mode="after")
    def _batches_divide(self) -> PPOConfig:
        for part, whole in (
            ("minibatch_size", "batch_size"),
            ("micro_batch_size", "minibatch_size"),
            ("samples_per_prompt", "batch_size"),
        ):
            size, of = getattr(self, part), getattr(self, whole)
            if of % size:
                near = min((d for d in range(1, of + 1) if of % d == 0), key=lambda d: abs(d - size))
                raise ValueError(f"{part}|must divide {whole} {of}, and {size} does not: try {near}")
        in_groups = self.baseline in ("leave_one_out", "group")
        if in_groups and self.samples_per_prompt == 1:
            raise ValueError(
                f"samples_per_prompt|must be at least 2 with baseline {self.baseline}, which compares the completions "
                "of one prompt: try 4"
            )
        if self.advantage_scale == "group" and self.baseline != "group":
            raise ValueError(
                "advantage_scale|group needs baseline group, whose spread it is: set ppo.baseline to group"
            )
        if self.drop_alike_groups and not in_groups:
            raise ValueError("drop_alike_groups|needs the baseline group or leave_one_out: set ppo.baseline to group")
        if self.correction != "none" and not self.staleness:
            raise ValueError("correction|is for texts that are late: set ppo.staleness to 1 or more")
        return self

    @property
    def leaves_out(self) -> bool:
        """True where some texts of a batch may not be learned from."""
        return self.drop_alike_groups or self.overlong == "mask"
