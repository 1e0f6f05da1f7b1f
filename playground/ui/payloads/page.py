"""What every page asks: who one is here (auth/access.py), what trains and waits (feed/home.py)."""

from __future__ import annotations

from typing import Literal, TypedDict

Right = Literal["yes", "own", "no"]


class AccessData(TypedDict):
    """`may`: the right to each action; `caps`: those of runs, in words; `samples`: most of a question on the Compare
    page, if there is a cap; `own`: whether the run is one's own."""

    mode: str
    role: Literal["host", "visitor"]
    may: dict[str, Right]
    notice: str
    caps: list[str]
    samples: int | None
    share: list[str]
    own: bool


class TrainingRunData(TypedDict):
    """A run that trains; `device`: where there are several."""

    id: str
    title: str
    attempt: int
    device: str | None


class HomeData(TypedDict):
    """`living`, `newest`, `shown`: run ids; `recorded`: preset -> run id."""

    machine: str
    living: str | None
    training: list[TrainingRunData]
    waiting: list[str]
    newest: str | None
    shown: str | None
    recorded: dict[str, str]


class StepData(TypedDict):
    """An experiment of the story; `against`: the preset that it is to be held against."""

    preset: str
    number: int
    title: str
    against: str
    look: str
