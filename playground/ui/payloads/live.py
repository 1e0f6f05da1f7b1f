"""One run as the live feed tells it: a snapshot, then deltas (feed/run_feed.py, feed/run_serializer.py)."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from playground.runs.folder.records import Stage, State
from playground.ui.payloads import Columns
from playground.ui.payloads.insight import BehavioursData, JudgedData, RegimesData, RunCheckData


class NamesData(TypedDict):
    """What a run is called, what it is, and the note on it."""

    title: str
    experiment: str
    story: str
    note: str


class TermData(TypedDict):
    """A reward or a monitor."""

    name: str
    label: str


class BehaviourNameData(TypedDict):
    """A behaviour that is counted."""

    name: str
    words: str


class SettingData(TypedDict):
    """One of the few settings that stand in the head of a run."""

    field: str
    label: str
    value: str
    unit: str


class RunData(NamesData):
    """What stays the same during a run, unless it is renamed. `mystery`: which mistake is planted is to be found.
    `whole_texts`: their length is the point, so none is cut. `watched`: another program trains it."""

    id: str
    wrong_on_purpose: str
    mystery: bool
    preset: str
    recorded: bool
    watched: bool
    forked: bool
    unit: str
    engine: str
    can_steer: bool
    keeps_checkpoints: bool
    no_traces: str
    adaptive: bool
    target: float | None
    every: int
    system: str
    terms: list[TermData]
    judges: list[TermData]
    counted: list[BehaviourNameData]
    whole_texts: bool
    settings: list[SettingData]


class EndData(TypedDict):
    """How a run ended."""

    title: str
    remedy: str


class WhereData(TypedDict):
    """Where a run is by its status.json. `elapsed` and `left` (the likely least and most) are seconds."""

    state: State
    phase: str
    reason: str
    message: str
    update: int
    num_updates: int
    attempt: int
    ended: bool
    end: EndData | None
    elapsed: float
    left: list[float] | None
    outcome: str


class StatusData(WhereData):
    """With what else is known of it: see `run_state.RunState`."""

    before: int | None
    silent: float | None
    stopping: float | None


class EventData(TypedDict):
    """Something that happened; `field` and `value` of a changed setting."""

    kind: str
    update: int
    message: str
    field: NotRequired[str]
    value: NotRequired[float | None]
    attempt: NotRequired[int]


class PromptData(TypedDict):
    """A fixed prompt."""

    id: int
    text: str


class AnswerData(TypedDict):
    """Its completion."""

    id: int
    text: str
    score: float | None
    kl: float | None


class MomentSummaryData(TypedDict):
    """Means over all completions of one evaluation."""

    count: int
    unique: int
    score: float | None
    kl: float | None
    length: float | None
    ended: float | None
    terms: dict[str, float | None]
    judges: dict[str, float | None]


class MomentData(TypedDict):
    """One evaluation; `examples`: ids of the prompts that show best what has changed."""

    update: int
    stage: Stage
    examples: list[int]
    summary: MomentSummaryData
    rows: list[AnswerData]


class TextPerplexityData(TypedDict):
    """Perplexity on held-out text."""

    update: int
    value: float | None


class KnownData(TypedDict):
    """What a snapshot has, and each delta in which it changed."""

    regimes: RegimesData | None
    judged: JudgedData | None
    behaviours: BehavioursData | None
    alerts: list[RunCheckData] | None
    farmed: str
    text: list[TextPerplexityData]
    prompts: list[PromptData]
    updates: list[int]


class SnapshotData(KnownData):
    """All of a run. `live`: values of the settings that can be changed now."""

    run: RunData
    status: StatusData
    live: dict[str, float | None]
    metrics: Columns
    events: list[EventData]
    moments: list[MomentData]


class DeltaData(TypedDict, total=False):
    """What is new."""

    regimes: RegimesData | None
    judged: JudgedData | None
    behaviours: BehavioursData | None
    alerts: list[RunCheckData] | None
    farmed: str
    text: list[TextPerplexityData]
    prompts: list[PromptData]
    updates: list[int]
    run: NamesData
    status: StatusData
    metrics: Columns
    events: list[EventData]
    moments: list[MomentData]


class PollData(TypedDict):
    """The same for a page that cannot keep a stream open: a snapshot, or deltas."""

    cursor: str
    snapshot: NotRequired[SnapshotData]
    deltas: NotRequired[list[DeltaData]]


ResumeOfferData = TypedDict("ResumeOfferData", {"from": int | None, "skipped": list[str], "instead": str})


class ErrorData(TypedDict):
    """What a route answers that has nothing else to say."""

    error: str
