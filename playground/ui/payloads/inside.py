"""A run from within: training texts, answers token by token, one update in slow motion (runs/inside_part.py)."""

from __future__ import annotations

from typing import Annotated, TypedDict

from playground.runs.folder.rollout_records import Histogram, RolloutText
from playground.runs.folder.token_records import TokenFigures
from playground.runs.folder.traces import (
    TracedEpisode,
    TracedFormula,
    TracedPass,
    TracedSettings,
    TracedStep,
    TracedText,
)
from playground.ui.payloads import Of, Plain
from playground.ui.payloads.form import KnobData


class RolloutUpdateData(TypedDict):
    """What is kept of the training texts of an update."""

    update: int
    histogram: Annotated[Plain, Of(Histogram)]
    texts: list[Annotated[Plain, Of(RolloutText)]]
    previous: int | None
    next: int | None


class RolloutData(RolloutUpdateData):
    """With the mean score of the update."""

    mean: float | None


class AbsentData(TypedDict, total=False):
    """Why a run has no such figure."""

    reward: str
    value: str


TokensLookData = Annotated[Plain, Of(TokenFigures, ("attempt", "prompt_id"))]


class TokensData(TypedDict):
    """The answers to one prompt token by token, look by look; without any, `why` not."""

    looks: list[TokensLookData]
    absent: AbsentData
    unit: str
    why: str


class TraceBatchData(TypedDict):
    """The batch; `kept`: so many of its episodes."""

    episodes: int
    tokens: int
    mean: float
    sd: float
    complete: bool
    kept: int


class WhatIfData(TypedDict):
    """What can be asked to be otherwise."""

    kl_coef: float
    gamma: float
    gae_lambda: float
    clip_range: float


class GroupData(TypedDict):
    """What the episodes of the same prompt earned; `place`: which of them this one is."""

    earned: list[float]
    place: int
    mean: float
    sd: float
    others_mean: float


class PassExtra(TypedDict):
    """Both sides of the minimum in the loss, and what the leash adds to it, where it is in the loss."""

    clamped: list[float]
    free: list[float]
    held: list[float]
    kl_losses: list[float]


PassData = Annotated[Plain, Of(TracedPass, (), PassExtra)]


class EpisodeExtra(TypedDict):
    """What is computed of an episode beside what was recorded."""

    log_ratios: list[float]
    probabilities: list[float]
    score_paid: list[float]
    group: GroupData | None
    passes: list[PassData]


EpisodeData = Annotated[Plain, Of(TracedEpisode, ("passes",), EpisodeExtra)]


class SidesData(TypedDict):
    """Tokens below, within and above the clip range, for advantages above 0 and below it."""

    up: list[int]
    down: list[int]


class PictureData(TypedDict):
    """The tokens of the last minibatch of an epoch, see `inside_part._picture`."""

    step: int
    rows: list[int]
    log_ratios: list[float]
    advantages: list[float]
    clipped: list[bool]
    counts: SidesData
    edges: tuple[float | None, float]
    tokens: int
    epoch: int
    minibatch: int
    after: bool
    starts: dict[int, int]
    drawn: int
    num_clipped: int
    share: float


TraceStepData = Annotated[Plain, Of(TracedStep, ("rows", "log_ratios"))]


class ScoredExtra(TypedDict):
    """What the text scored."""

    score: float


class PromptGroupData(TypedDict):
    """The texts of one prompt, by their `places` among `texts`, with mean and spread (n in the variance) of their
    scores. Where a prompt has one text: all of them, of several prompts, without mean and spread."""

    prompt: str
    places: list[int]
    mean: float | None
    sd: float | None
    alike: bool


class TraceKnobData(KnobData):
    """A knob of a what-if question."""

    name: str


class TraceData(TypedDict):
    """One update in slow motion; `changed`: under other settings than the recorded ones."""

    update: int
    changed: bool
    no_what_if: str
    recorded: WhatIfData
    settings: Annotated[Plain, Of(TracedSettings)]
    batch: TraceBatchData
    steps: list[TraceStepData]
    clip_fraction: float
    knobs: list[TraceKnobData]
    pictures: list[PictureData]
    episodes: list[EpisodeData]
    groups: list[PromptGroupData]
    texts: list[Annotated[Plain, Of(TracedText, (), ScoredExtra)]]
    formulas: list[Annotated[Plain, Of(TracedFormula)]]
