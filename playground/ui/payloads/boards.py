"""What the two parts with a leash of their own show (playground/lessons/boards.py)."""

from __future__ import annotations

from typing import TypedDict


class BetaCountData(TypedDict):
    """How many of the fixed prompts' answers showed a behaviour `before` training and `after`, each `of` so many."""

    before: int
    after: int
    of: int


class BetaRunData(TypedDict):
    """A run at one leash: gain in score (sd) and KL (nats) of the fixed prompts, after each of the `updates` and at the
    end, and what was counted, by behaviour."""

    beta: float
    seed: int
    updates: list[int]
    score: list[float]
    kls: list[float]
    gain: float
    kl: float
    counts: dict[str, BetaCountData]


class BetaStopData(TypedDict):
    """A place of the slider: what was written to the `prompts` in the end, by the first run, and all runs."""

    beta: float
    texts: list[str]
    runs: list[BetaRunData]


class BetaBestData(TypedDict):
    """A point of the line of what is possible, estimated; `known`: enough texts count behind it."""

    beta: float
    score: float
    kl: float
    known: bool


class BetaWordsData(TypedDict):
    """A behaviour, in words."""

    name: str
    words: str


class BetasData(TypedDict):
    """One experiment at many leashes. `beta`: its own. Below `loose` it runs away, above `tight` it barely moves.
    `asked`: the leashes whose model can be asked."""

    preset: str
    beta: float
    tight: float | None
    loose: float | None
    asked: list[float]
    behaviours: list[BetaWordsData]
    prompts: list[str]
    before: list[str]
    leashes: list[BetaStopData]
    possible: list[BetaBestData]


class BoardRunData(TypedDict):
    """A policy that PPO has trained against the best one for its beta, over all texts: gains in score and KL of both;
    `share` of the best objective; `at_kl`: of the best gain at its own KL; `apart`: total variation; `kl_to_best`.
    `unit`: of its score, in that of the table."""

    beta: float
    seed: int
    unit: float
    gain: float
    kl: float
    best_gain: float
    best_kl: float
    share: float
    at_kl: float
    apart: float
    kl_to_best: float


class BoardTextData(TypedDict):
    """A text, its score, and how likely the reference is to write it."""

    text: str
    score: float
    reference: float


class BoardTrainedData(TypedDict):
    """A beta at which PPO was trained: its runs, and how likely each is to write each of the shown texts."""

    beta: float
    runs: list[BoardRunData]
    chances: list[list[float]]


class ChalkboardData(TypedDict):
    """A problem whose texts can all be listed. `levels`: for each of the prompts, each score there is with how likely
    the reference is to reach it. `point`: one point of the reward, in sd. `texts` are of the first prompt."""

    prompts: list[str]
    texts_in_all: int
    point: float
    levels: list[list[list[float]]]
    texts: list[BoardTextData]
    trained: list[BoardTrainedData]
