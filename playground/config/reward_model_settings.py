"""RewardTrainingConfig: everything that defines the training of one reward model, as one frozen, validated value.

The names are public, as those of RunConfig are: YAML files for `reward-train`, `--set path=value` and the panel on the
page use them, and each field carries its words (`knob`). Knows pydantic; nothing of torch or files.
"""

from __future__ import annotations

from typing import Literal

from pydantic import field_validator, model_validator

from playground.config.parts import RUN_ID, Part, Share, device_knob, knob
from playground.config.source_settings import AdapterConfig


class PairsConfig(Part):
    """Which preference pairs the reward model learns from."""

    source: str = knob("kind", "Preference pairs", basic=True, min_length=1, max_length=300)
    """An annotator of the pocket world (kind, critical, agreeable, honest, length-loving, divided), a .jsonl,
    .jsonl.gz or .csv file with prompt, chosen and rejected (or whole dialogues in chosen and rejected), or the id
    or folder of a dataset."""
    limit: int = knob(2000, "Number of pairs", "pairs", basic=True, slider=(200, 4000, 100), ge=10, le=200_000)
    """How many pairs to use. Pairs without a preference are left out, counted, and replaced as long as there are
    others.

    - Too low: the model memorises a few pairs, and its accuracy on others stays near one half. Whether an answer
      agrees with a claim takes more pairs to learn than whether a review is kind.
    - Higher is better and slower.
    """
    held_out: float = knob(0.2, "Held-out share", slider=(0.05, 0.5, 0.05), ge=0.01, le=0.9)
    """Share of the pairs that is never trained on. Accuracy is measured on them; their prompts occur nowhere else.

    - Too low: the accuracy is a rough guess.
    - Too high: little is left to learn from.
    """
    flip: float = knob(0.0, "Wrong preferences", slider=(0, 0.45, 0.05), ge=0, le=0.5)
    """Annotators of the pocket world only: share of preferences recorded the wrong way round. About 0.25 is what
    people do.

    - 0: every preference is right.
    - 0.5: the preferences say nothing.
    """
    sharpness: float | None = knob(None, "Sharpness", slider=(0.5, 10, 0.5), gt=0, le=100)
    """Annotators of the pocket world only: k of the Bradley-Terry model, in which the better answer wins with
    probability 1 / (1 + exp(-k x difference)). Empty: it always wins.

    - Too low: preferences are mostly luck.
    - Too high: as if it were empty.
    """
    majority: float = knob(0.7, "Larger community", slider=(0.5, 1, 0.05), ge=0.5, le=1)
    """The divided crowd only: share of those who want kind reviews. The others want critical ones.

    - 0.5: two equal halves; no model can be right more than half of the time.
    - 1: all agree.
    """
    bootstrap: int | None = knob(None, "Bootstrap", ge=1, le=1000)
    """Draws the pairs that are learned from anew among themselves, with replacement, by this number. Reward models that
    differ only in it have the same labels and disagree where these say little: an ensemble. Empty: each pair once."""
    writer: str | None = knob(None, "Answers written by", max_length=300)
    """Annotators of the pocket world only: the model whose completions are compared, best the one that the reward
    will train. Empty: the base, if it is a pocket model, else pocket-2m."""
    prompts: str | None = knob(None, "Prompts", max_length=100)
    """Annotators of the pocket world only: the prompt set. Empty: the one on which the annotator's taste shows."""
    subset: str | None = knob(None, "Subset", max_length=200)
    """For a dataset: its configuration, or the folder of its files. Empty means the default one."""
    split: str = knob("train", "Split", min_length=1, max_length=100)
    """For a dataset: which part of it."""
    share: Share | None = knob(None, "Share of the dialogues", "%")
    """Only these pairs of a file or dataset, as `0-60`: the first 60 %. Pairs that begin with the same human turn are
    in the same share; `prompts.share` of a run takes the others. Empty means all."""
    max_tokens: int | None = knob(None, "Longest prompt", "tokens", slider=(16, 1024, 16), ge=1, le=1_000_000)
    """A longer dialogue loses its oldest turns, as with `prompts.max_tokens` of a run; pairs that are still too long
    are left out and counted. Empty: only the longest text is limited."""


class RewardTrainingConfig(Part):
    """The training of one reward model, complete. `RewardTrainingConfig()` is kindness, learned in the pocket world."""

    format: Literal[1] = 1
    kind: Literal["reward-model"] = "reward-model"  # the job of its worker
    name: str = knob("my-judge", "Name", basic=True, min_length=1, max_length=60)
    """By which the reward model is picked: small letters, digits and hyphens."""
    seed: int = knob(0, "Seed", ge=0, le=2**31 - 1)
    """Every random number comes from it: the same seed and settings give the same reward model."""
    device: str = device_knob()
    base: str = knob("pocket-1m", "Base model", basic=True, min_length=1, max_length=300)
    """The model that becomes the reward model: one that is included, the id of a model on the hub, or a model
    folder. A single number replaces its language head."""
    revision: str | None = knob(None, "Revision", max_length=100)
    """For a model of the hub: its branch, tag or commit. Empty means the newest."""
    precision: Literal["auto", "fp32", "bf16"] = knob("auto", "Precision")
    """The number format it computes with. `auto`: bf16 on a GPU that has it, and on a processor that gains by it for
    models of 10 million parameters and more; else fp32. The weights stay in fp32."""
    adapter: AdapterConfig = AdapterConfig()
    pairs: PairsConfig = PairsConfig()
    template: Literal["auto", "chat", "plain", "dialogue"] = knob("auto", "Prompt format")
    """How prompt and completion become one text. `auto`: the chat template where the base has one, the dialogue
    format for pairs of dialogues, else plain."""
    max_length: int | None = knob(None, "Longest text", "tokens", ge=8, le=100_000)
    """A longer prompt loses its beginning; pairs whose completions alone are longer are left out. Empty: what the
    model has room for, at most 1024."""
    epochs: float = knob(5.0, "Epochs", basic=True, slider=(0.5, 6, 0.5), gt=0, le=100)
    """How often each pair is trained on.

    - Too low: the preference is only half learned.
    - Too high: the model memorises the pairs; margins grow, but it is not right more often.
    """
    max_steps: int | None = knob(None, "Steps", "steps", ge=1, le=1_000_000)
    """Ends training after this many optimizer steps, whatever the epochs say. Empty: the epochs decide."""
    batch_size: int = knob(8, "Batch", "pairs", slider=(4, 128, 4), ge=1, le=4096)
    """Pairs in one optimizer step.

    - Too low: steps are noisy.
    - Too high: few steps, and more memory unless the micro-batch is smaller.
    """
    micro_batch_size: int | None = knob(None, "Micro-batch", "pairs", ge=1, le=4096)
    """Pairs in memory at once; the batch must be a multiple of it. Empty: the whole batch. It changes only
    memory."""
    learning_rate: float | None = knob(None, "Learning rate", basic=True, slider=(1e-6, 1e-2, 0), log=True, gt=0, le=1)
    """Size of each optimizer step, with 10 % warm-up and then falling to 0. Empty: 7e-4 for models below 30 million
    parameters, 2e-5 for larger ones, 1e-4 with LoRA.

    - Too low: nothing is learned in the given steps.
    - Too high: the loss jumps, and the accuracy stays near one half.
    """
    centre: float = knob(0.01, "Centring", slider=(0, 0.1, 0.005), ge=0, le=1)
    """Weight of a term that keeps scores around 0 (Eisenstein et al. 2023); without it only differences between
    scores mean anything."""

    @field_validator("name")
    @classmethod
    def _folder_name(cls, name: str) -> str:
        if not RUN_ID.fullmatch(name):
            raise ValueError("use 1 to 60 small letters, digits and hyphens, starting with a letter or digit")
        return name

    @model_validator(mode="after")
    def _batch_divides(self) -> RewardTrainingConfig:
        if self.micro_batch_size and self.batch_size % self.micro_batch_size:
            raise ValueError(
                f"micro_batch_size|batch_size {self.batch_size} must be a multiple of it (got {self.micro_batch_size})"
            )
        return self
