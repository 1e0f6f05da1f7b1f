"""The check before a start (train/form_parts.py, runs/preflight.py, runs/trial.py, training/data/preview.py)."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from playground.ui.payloads.form import ChangeData

Part = Literal["model", "prompts", "answers", "update"]


class AboutModelData(TypedDict):
    """Was the model found, and what is it; `facts`: name and value."""

    here: bool
    facts: list[tuple[str, str]]
    verdict: Literal["fits", "tight", "does not fit"]
    note: str


class LeftOutData(TypedDict):
    """Rows that cannot be prompts."""

    reason: str
    count: int


class LengthsData(TypedDict):
    """Token counts, and their histogram."""

    min: int
    median: int
    p90: int
    max: int
    edges: list[int]
    counts: list[int]


class PromptRowData(TypedDict):
    """One prompt."""

    text: str
    cut: bool
    tokens: int
    held_out: bool


class PieceData(TypedDict):
    """What the model reads: text with its tokens, or a special token by its name."""

    text: str
    special: bool
    tokens: NotRequired[list[str]]


class PromptsReadData(TypedDict):
    """The prompts as the model will read them."""

    source: str
    column: str | None
    num_claims: int
    columns: list[str]
    separator: str | None
    form: str
    system: str | None
    room: int
    num_rows: int
    goes_on: bool
    num_training: int
    num_evaluation: int
    num_unneeded: int
    held_out: bool
    left_out: list[LeftOutData]
    sentence: str
    lengths: LengthsData
    rows: list[PromptRowData]
    seen: list[list[PieceData]]


class DrawnSampleData(TypedDict):
    """A completion of the untrained model."""

    prompt: str
    completion: str
    ended: bool


class TriedRewardData(TypedDict):
    """What one reward or judge says of these; `problem`: why nothing."""

    name: str
    label: str
    weight: float
    judge: bool
    values: list[float | None] | None
    problem: str


class TriedAnswersData(TypedDict):
    """Completions, and what they earn."""

    samples: list[DrawnSampleData]
    rewards: list[TriedRewardData]


class TrialData(TypedDict):
    """What a trial update came to; `change`: what would make it fit."""

    state: Literal["done"]
    updates: int
    seconds_per_update: float
    seconds_before: float
    seconds: tuple[float, float] | None
    memory_gb: float
    free_gb: float
    device: str
    verdict: Literal["fits", "tight", "does not fit"]
    advice: str
    change: ChangeData | None
    num_updates: int


class CheckedPartData(TypedDict):
    """One part of the check; `found` depends on which."""

    part: Part
    state: Literal["asking", "done", "error"]
    phase: NotRequired[str]
    seconds: NotRequired[float]
    found: NotRequired[AboutModelData | PromptsReadData | TriedAnswersData | TrialData]
    message: NotRequired[str]
    advice: NotRequired[str]
    change: NotRequired[ChangeData | None]
    num_updates: NotRequired[int]
    at: NotRequired[float]
