"""The self-test of a reward model (rewards/self_test_part.py, training/rewards/format_check.py)."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

Level = Literal["ok", "warn", "fail"]


class FindingData(TypedDict):
    """One finding of a self-test."""

    level: Level
    name: str
    text: str


class FewerBitsData(TypedDict):
    """What fewer bits cost, against the same network in full."""

    quantization: str
    rank_correlation: float | None
    pair_agreement: float | None
    bytes_full: NotRequired[int]


class ReadExampleData(TypedDict, total=False):
    """One completion as the model reads it; `length` in tokens, of which the first are shown."""

    prompt: str
    completion: str
    ids: list[int]
    tokens: list[str]
    special: list[bool]
    length: int


class ReadLengthsData(TypedDict, total=False):
    """How long its texts are, in tokens."""

    mean: float
    longest: int
    limit: int | None
    cut_share: float


class ExampleScoreData(TypedDict, total=False):
    """A completion and its score."""

    prompt: str
    completion: str
    score: float


class SpreadData(TypedDict, total=False):
    """Scores of completions of the untrained model."""

    completions: int
    mean: float
    sd: float
    lowest: float
    highest: float


class TestedPairsData(TypedDict, total=False):
    """How often good beats bad; `generic`: on the built-in pairs."""

    source: str
    count: int
    generic: bool
    accuracy: float


class TriedFormatData(TypedDict):
    """The same pairs in one prompt format. `ahead`: of the one in force, in accuracy."""

    name: str
    help: str
    in_force: bool
    accuracy: float
    margin: float
    margin_error: float
    ahead: float
    ahead_error: float
    example: str


class RewardReportData(TypedDict):
    """The self-test of a reward model (training/rewards/format_check.py); empty what could not be measured."""

    name: str
    source: str
    verdict: Level
    findings: list[FindingData]
    template: str
    output: str
    max_length: int | None
    bytes_held: int
    cost: FewerBitsData | None
    example: ReadExampleData
    lengths: ReadLengthsData
    good: ExampleScoreData
    bad: ExampleScoreData
    reference: SpreadData
    pairs: TestedPairsData
    formats: list[TriedFormatData]


class RewardCheckData(TypedDict):
    """What the panel of the self-test shows."""

    state: Literal["empty", "asking", "done", "error"]
    phase: NotRequired[str]
    done: NotRequired[int]
    of: NotRequired[int]
    message: NotRequired[str]
    report: NotRequired[RewardReportData]
