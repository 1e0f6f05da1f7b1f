"""Runs compared with each other (feed/compare_serializer.py), and a question to both sides (runs/compare_page.py)."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from playground.analysis.before_after import Headline
from playground.analysis.compute import Bill
from playground.analysis.judging import RewardRow
from playground.analysis.path import PathPoint
from playground.rewards.verify import Reading
from playground.runs.folder.records import State
from playground.runs.model_service import GeneratedSample
from playground.ui.payloads import Of, Plain, Table
from playground.ui.payloads.insight import BehavioursData, FrontierLinesData
from playground.ui.payloads.live import MomentSummaryData, NamesData, RunData


class RunNamesData(NamesData):
    """A run by its names."""

    id: str
    wrong_on_purpose: str


class OtherData(RunNamesData):
    """The run with which another is compared; `notice`: what to know before."""

    update: int | None
    notice: str


class AskedAnswerData(TypedDict):
    """Which completion of the fixed prompts."""

    promptId: int
    seed: int
    update: int


class SideData(TypedDict):
    """One answer; `shows`: yes or no of each behaviour that it was asked for; `read`: what a check of answers reads in
    it, where there is one."""

    text: str
    at: AskedAnswerData
    score: float | None
    kl: float | None
    tokens: int | None
    scores: dict[str, float | None]
    judges: dict[str, float | None]
    shows: dict[str, bool]
    read: Annotated[Plain, Of(Reading)] | None


class PairData(TypedDict):
    """One prompt answered twice."""

    id: int
    seed: int
    prompt: str
    gain: float | None
    before: SideData
    after: SideData


class ComparisonData(TypedDict):
    """One moment of a run against another one."""

    moments: list[int]
    one_moment: NotRequired[str]  # why there is only one where there were more
    update: int | None
    other: OtherData | None
    measured: bool
    outcome: str
    terms: list[str]
    judges: list[str]
    table: list[Annotated[Plain, Of(RewardRow)]]
    behaviours: BehavioursData | None
    passes: list[tuple[str, str, str, str]]  # pass@k in words: k, before, now, change
    before: MomentSummaryData | None
    after: MomentSummaryData | None
    rows: list[PairData]


class CompareData(ComparisonData):
    """With the run. `knows`: what its model can talk about."""

    run: RunData
    state: State
    knows: str


class SharesData(TypedDict):
    """One behaviour at every evaluation, in per cent."""

    name: str
    words: str
    evaluations: Table


class BillExtra(TypedDict):
    """In words."""

    operations: str


BillInWordsData = Annotated[Plain, Of(Bill, ("operations",), BillExtra)]


class WentData(FrontierLinesData):
    """How a run went."""

    behaviours: list[SharesData]
    bill: BillInWordsData | None
    end: Annotated[Plain, Of(Headline)] | None


class OverlaidData(WentData):
    """One run of an overlay. `there`: at the KL that all have reached."""

    id: str
    title: str
    experiment: str
    wrong_on_purpose: str
    model: str
    engine: str
    method: str
    seed: int | None
    unit: str
    state: State
    update: int
    num_updates: int
    ended: bool
    metrics: Table
    there: NotRequired[Annotated[Plain, Of(PathPoint)] | None]


class DifferingSettingData(TypedDict):
    """One value for each run."""

    label: str
    unit: str
    values: list[str]


class OverlayData(TypedDict):
    """Several runs in one set of charts. `reached`: the KL at which they are compared."""

    reached: float | None
    runs: list[OverlaidData]
    problems: list[str]
    settings: list[DifferingSettingData]
    scores_differ: str


GeneratedSampleData = Annotated[Plain, Of(GeneratedSample)]


class AnswersData(TypedDict):
    """The answers so far."""

    state: Literal["empty", "asking", "done", "error"]
    prompt: NotRequired[str]
    count: NotRequired[int]
    samples: NotRequired[list[GeneratedSampleData]]
    message: NotRequired[str]
