"""What `analysis` says of a run (feed/insight_serializer.py, train/frontier_part.py)."""

from __future__ import annotations

from typing import Annotated, TypedDict

from playground.analysis.diagnosis.alert import Alert
from playground.analysis.meters import Meter, Way
from playground.analysis.paid import Paid
from playground.ui.payloads import Of, Plain, Table, Value


class RegimesData(TypedDict):
    """Where beta is too tight to see anything, and too loose to hold; `how` these come about, in words."""

    tight: float | None
    loose: float | None
    how: str


class JudgedLineData(TypedDict):
    """The trained score or a monitor: its change since the first evaluation, and half of its interval."""

    name: str
    label: str
    comparable: bool
    mean: list[float | None]
    half: list[float | None]


class TurnData(TypedDict):
    """Where a monitor began to fall while the score rose."""

    label: str
    update: int


class VerdictData(TypedDict):
    """What a monitor says, in words."""

    text: str
    turned: bool


class JudgedData(TypedDict):
    """The trained score and the monitors at every evaluation."""

    updates: list[int]
    lines: list[JudgedLineData]
    turns: list[TurnData]
    verdicts: list[VerdictData]


class BehavioursData(TypedDict):
    """All that is counted."""

    meters: list[Annotated[Plain, Of(Meter)]]
    ways: list[Annotated[Plain, Of(Way)]]
    paid: list[Annotated[Plain, Of(Paid)]]


class OfferedRemedyData(TypedDict):
    """What to try: settings, and where they can be tried. `fork`: the update to fork from."""

    words: str
    changes: dict[str, Value]
    live: bool
    form: bool
    fork: int | None


class OfferedRemediesData(TypedDict):
    """What to try."""

    remedies: list[OfferedRemedyData]


RunCheckData = Annotated[Plain, Of(Alert, ("remedies",), OfferedRemediesData)]


class PossibleData(TypedDict):
    """What drawn texts show to be possible; `trusted`: so many points of the optimum."""

    start: float | None
    best_of: Table
    optimum: Table
    trusted: int


class FrontierLinesData(TypedDict):
    """Score against KL, for the chart."""

    evaluations: Table
    possible: PossibleData | None


class FrontierData(FrontierLinesData):
    """The same with words. `missing`: why nothing is known of what is possible."""

    unit: str
    beta: float | None
    sentence: str
    missing: str
    can_draw: bool


class PlateauData(TypedDict):
    """Where the gain came to its end."""

    update: int
    sentence: str


class PhaseData(TypedDict):
    """A part of the work; `operations` in words."""

    name: str
    seconds: float
    share: float
    operations: str


class ComputeData(TypedDict):
    """The compute ledger."""

    sentence: str
    parameters: float | None
    trained: float | None
    phases: list[PhaseData]


class OutcomeData(TypedDict):
    """What a run came to."""

    weights: bool
    plateau: PlateauData | None
    sentences: list[str]
    compute: ComputeData | None
    adapter: bool
    trl: list[str]  # what the script for TRL leaves out or needs
