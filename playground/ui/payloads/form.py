"""The form and what stands around it (train/filling.py, train/form_parts.py, train/run_actions.py)."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from playground.config import About
from playground.config.expression_language import Function
from playground.setup.estimates import Estimate
from playground.ui.payloads import Of, Plain, Value
from playground.ui.payloads.insight import RegimesData


class ProblemData(TypedDict):
    """What is wrong with a setting."""

    field: str
    label: NotRequired[str]
    message: str


class DifferenceData(TypedDict):
    """A setting in words, as it is and as it would be."""

    field: str
    label: str
    before: str
    after: str


class ChangeData(TypedDict):
    """What to set in the form."""

    differences: list[DifferenceData]
    values: dict[str, Value]


class FitData(ChangeData):
    """What would fit a model: as the suggested one most `like` it has it, or as its `own` preset; `origin`: how those
    settings came about."""

    like: str
    own: bool
    origin: str


class KnobData(TypedDict):
    """A number as static/core/knob.js draws it: `slider` is its lowest, highest value and step; `none` what an empty
    field is called; `pocket`: for the annotators only; `values`: those that can be taken, where not each step can."""

    field: NotRequired[str]
    label: str
    help: str
    low: str
    high: str
    unit: str
    slider: tuple[float, float, float] | None
    values: NotRequired[list[float]]
    log: bool
    live: NotRequired[bool]
    plain: NotRequired[str]
    optional: bool
    whole: NotRequired[bool]
    default: NotRequired[Value]
    none: NotRequired[str]
    pocket: NotRequired[bool]


class RestoredData(TypedDict, total=False):
    """What the form began with beside the preset: changes that were `kept` or came in a link, or why not."""

    refused: list[ProblemData]
    kept: bool
    count: int
    use: dict[str, Value]


class UnusedData(TypedDict):
    """Settings that the method does not read."""

    by: str
    sentence: str
    fields: list[str]


class NotesData(TypedDict, total=False):
    """What is said of the form, see `filling.notes_on`; `show`: when a start was refused."""

    preset: str
    kept: str | None
    link: str
    no_link: str
    problems: list[ProblemData]
    queue: str
    differences: list[DifferenceData]
    marks: dict[str, Value]
    regimes: RegimesData | None
    rewards: list[RewardData]
    suiting: list[str]
    about: Annotated[Plain, Of(About)]
    unused: UnusedData
    show: float
    coming: bool
    restored: RestoredData | None
    use: dict[str, Value]
    undo: dict[str, Value]
    at: float


class StoryData(TypedDict):
    """The words above the form."""

    preset: str
    title: str
    model: str
    reward: str
    taught: str
    changed: str
    what: str
    expect: str
    measured: str
    settings_of: str


class UploadedData(TypedDict, total=False):
    """What became of an upload."""

    sentence: str
    problem: str
    at: float


class NeedsExtra(TypedDict):
    """What the form says beside an estimate; `use` and `undo` go to and fro, see train_page.py."""

    model: str
    fit: FitData | None
    quota: str
    problem: str
    use: NotRequired[dict[str, Value] | None]
    undo: NotRequired[dict[str, Value]]
    at: NotRequired[float]


NeedsData = Annotated[Plain, Of(Estimate, (), NeedsExtra)]


class NoNeedsData(TypedDict):
    """Why there is no estimate."""

    problem: str


class RewardOwnData(TypedDict):
    """What every reward has, as the picker holds it."""

    kind: str
    weight: float | str
    normalise: NotRequired[bool]
    cap: NotRequired[float | str | None]


RewardData = Annotated[Plain, Of(RewardOwnData, rest=Value)]


class BehaviourData(TypedDict):
    """A behaviour as its picker holds it; `measure`: of one's own."""

    name: str
    words: str
    aim: str
    above: float | str
    measure: RewardData | None


class ReadyBehaviourData(TypedDict):
    """One that ships."""

    name: str
    words: str
    aim: str
    help: str


class RewardFieldData(TypedDict):
    """A field that only one kind of reward has; `lines` of its box, for a longer text."""

    name: str
    label: str
    hint: str
    options: list[str]
    number: bool
    rare: bool
    default: Value
    lines: int


class RewardKindData(TypedDict):
    """A kind of reward that can be chosen."""

    kind: str
    label: str
    help: str
    weight: float
    warning: str
    fields: list[RewardFieldData]


class ListsData(TypedDict):
    """What several parts offer to choose from; the page has it once."""

    kinds: list[RewardKindData]
    functions: list[Annotated[Plain, Of(Function)]]
