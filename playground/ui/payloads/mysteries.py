"""Mystery runs, and the answer to one (ui/train/mystery_part.py)."""

from __future__ import annotations

from typing import TypedDict


class MistakeData(TypedDict):
    """A mistake to choose: what it is called here, what it is, and what one would see if it were that."""

    name: str
    say: str
    shows: str


class MysteriesData(TypedDict):
    """The ids of the recorded ones in their order, what can be chosen, and whether a new one may be trained here."""

    runs: list[str]
    mistakes: list[MistakeData]
    trains: bool


class MysteryAnswerData(TypedDict):
    """What was planted in a run. `lamp` and `state`: of the check that it lights, with the `evidence` in this run,
    at its end or, where it is lit no longer, after `update`; `wrong` and `right`: the lines with it and
    without it, which stand in the program `of`; `where`: where it has happened."""

    name: str
    because: str
    lamp: str
    state: str
    evidence: str
    update: int
    wrong: list[str]
    right: list[str]
    of: str
    where: str


class MysteryStartData(TypedDict):
    """Asked of the server to start a mystery run: a new one, or `run` without its mistake."""

    run: str
    request: str
