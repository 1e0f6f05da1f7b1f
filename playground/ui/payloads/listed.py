"""The history, sweeps included (runs/history_data.py, runs/sweeps_part.py)."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from playground.analysis.before_after import Headline
from playground.runs.folder.records import State
from playground.ui.payloads import Columns, Of, Plain, Table
from playground.ui.payloads.form import ProblemData
from playground.ui.payloads.live import EndData


class EndCountData(TypedDict):
    """One behaviour at one end."""

    count: int
    of: int
    low: float
    high: float


class EndsData(TypedDict):
    """One behaviour before and after."""

    name: str
    words: str
    before: EndCountData
    after: EndCountData
    change: int


class RunRowData(TypedDict):
    """A run of the history. `place`: in the queue."""

    id: str
    title: str
    told: str
    note: str
    wrong_on_purpose: str
    reward: str
    beta: float | None
    adaptive: bool
    learning_rate: float | None
    engine: str
    seed: int
    unit: str
    spark: list[float]
    state: State
    message: str
    update: int
    num_updates: int
    started_at: float
    model: str
    method: str
    end: EndData | None
    resumable: bool
    attempt: int
    duration: float
    headline: Annotated[Plain, Of(Headline)] | None
    behaviours: list[EndsData]
    place: int | None
    sweep: str | None


class IntervalData(TypedDict):
    """A mean over seeds with half of its interval."""

    mean: float
    half: float | None
    seeds: int


class BestSettingData(TypedDict):
    """The setting of a sweep with the highest gain."""

    of: int
    setting: str
    gain: IntervalData | None
    kl: IntervalData | None


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
    told: str
    preset: str
    model: str
    reward: str
    resumable: bool
    started_at: float
    duration: float
    unit: str
    best: BestSettingData | None


class HistoryData(TypedDict):
    """All of it, the newest first."""

    runs: list[RunRowData]
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


class ShareData(TypedDict):
    """A share over seeds, in per cent."""

    mean: float | None
    low: float | None
    high: float | None


class DrawnSettingData(TypedDict):
    """What the charts draw of a setting."""

    metrics: Columns
    looks: Table


class SettingRowData(TypedDict):
    """One setting of a sweep; the first few have curves."""

    title: str
    values: list[str]
    runs: list[SweepRunData]
    finished: int
    gain: IntervalData | None
    kl: IntervalData | None
    shares: dict[str, ShareData]
    monitors: dict[str, IntervalData]
    metrics: NotRequired[Columns]
    looks: NotRequired[Table]


class SweepData(SweepProgressData):
    """A sweep in full."""

    name: str
    told: str
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
