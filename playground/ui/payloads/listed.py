"""The history, sweeps included (runs/history_data.py, runs/sweeps_part.py)."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from playground.analysis.intervals import Interval
from playground.analysis.run_figures import FigureValue, Kind, RunRow
from playground.runs.folder.records import State
from playground.ui.payloads import Columns, Of, Plain, Table
from playground.ui.payloads.form import ProblemData
from playground.ui.payloads.live import EndData


class RunColumnData(TypedDict):
    """A figure by which runs are listed (`analysis.run_figures`). `down`: its largest value comes first."""

    key: str
    label: str
    kind: Kind
    title: str
    down: bool


class RunStandingData(TypedDict):
    """Where a run is now. `place`: in the queue."""

    state: State
    message: str
    update: int
    num_updates: int
    started_at: float
    end: EndData | None
    resumable: bool
    attempt: int
    place: int | None
    sweep: str | None


ListedRunData = Annotated[Plain, Of(RunRow, plus=RunStandingData)]


FigureData = Annotated[Plain, Of(FigureValue)]


class BestSettingData(TypedDict):
    """The setting of a sweep with the highest gain, of so many."""

    of: int
    setting: str


class SweepProgressData(TypedDict):
    """How far a sweep is; `left`: seconds, the likely least and most."""

    on: str
    state: str
    words: str
    done: int
    total: int
    ended: bool
    unmade: int
    left: tuple[float, float] | None


class SweepRowData(SweepProgressData):
    """A sweep as a row of the history."""

    id: str
    title: str
    varies: str
    preset: str
    resumable: bool
    started_at: float
    unit: str
    figures: dict[str, FigureData]
    best: BestSettingData | None


class HistoryData(TypedDict):
    """All of it, the newest first."""

    columns: list[RunColumnData]
    runs: list[ListedRunData]
    sweeps: list[SweepRowData]


class FieldNameData(TypedDict):
    """A setting that varies."""

    label: str
    unit: str


class SweepRunData(TypedDict):
    """One run of a setting."""

    id: str
    seed: int | None
    state: State | Literal["gone"]
    update: NotRequired[int]
    num_updates: NotRequired[int]
    message: NotRequired[str]


class SeedShareData(TypedDict):
    """A share over seeds, in per cent."""

    mean: float | None
    low: float | None
    high: float | None


class DrawnSettingData(TypedDict):
    """What the charts draw of a setting."""

    metrics: Columns
    evaluations: Table


class SettingRowData(TypedDict):
    """One setting of a sweep; the first few have curves."""

    title: str
    values: list[str]
    runs: list[SweepRunData]
    finished: int
    gain: Annotated[Plain, Of(Interval)] | None
    kl: Annotated[Plain, Of(Interval)] | None
    shares: dict[str, SeedShareData]
    monitors: dict[str, Annotated[Plain, Of(Interval)]]
    metrics: NotRequired[Columns]
    evaluations: NotRequired[Table]


class SweepData(SweepProgressData):
    """A sweep in full."""

    name: str
    varies: str
    fields: list[FieldNameData]
    seeds: int
    unit: str
    num_updates: int
    scores_differ: str
    behaviours: list[str]
    monitors: list[str]
    settings: list[SettingRowData]
    ends: Table


class UsualFieldData(TypedDict):
    """With what the form of a sweep begins."""

    field: str
    values: str


class SweepChoicesData(TypedDict):
    """What that form offers."""

    presets: list[tuple[str, list[tuple[str, str]]]]
    fields: list[tuple[str, str]]
    values: dict[str, str]
    first: UsualFieldData
    seeds: int
    most: int


class SweepAnswerData(TypedDict):
    """What the server functions for sweeps answer."""

    error: str
    problems: list[ProblemData]
    count: int
    seconds: tuple[float, float] | None
    beside: int
    told: str
    name: str
    going: NotRequired[int]
    refused: NotRequired[list[tuple[str, str]]]
