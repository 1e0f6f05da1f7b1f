"""The Rewards page: workbench, self-test and training of reward models (ui/rewards/)."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from playground.rewards.verify import Reading
from playground.runs.folder.records import State
from playground.setup.catalog import Choice
from playground.ui.payloads import Of, Plain
from playground.ui.payloads.check import DrawnSampleData
from playground.ui.payloads.form import KnobData, ProblemData, RewardData


class TypedTextData(TypedDict):
    """A text of one's own."""

    side: Literal["A", "B"]
    text: str


class BenchAboutData(TypedDict):
    """Whose samples these are."""

    model: str
    prompts: str


class EnsembleData(TypedDict):
    """How learned rewards become one, as the Train page has it."""

    combine: Literal["sum", "mean", "min", "cautious"]
    caution: float


class ReadingsData(TypedDict):
    """What the first reward that checks answers reads, of the typed texts and of the samples; empty without one."""

    texts: list[Annotated[Plain, Of(Reading)]]
    samples: list[Annotated[Plain, Of(Reading)]]


class BenchData(TypedDict):
    """What the workbench shows: raw values by reward of the typed texts and of samples of the untrained model."""

    state: Literal["empty", "asking", "done", "error"]
    problems: NotRequired[list[str]]
    phase: NotRequired[str]
    done: NotRequired[int]
    of: NotRequired[int]
    names: NotRequired[list[str]]
    labels: NotRequired[list[str]]
    ensemble: NotRequired[EnsembleData]
    rewards: NotRequired[list[RewardData]]
    texts: NotRequired[dict[str, list[float | None]]]
    reference: NotRequired[dict[str, list[float | None]]]
    samples: NotRequired[list[DrawnSampleData]]
    outlooks: NotRequired[list[str]]
    readings: NotRequired[ReadingsData]
    sides: NotRequired[list[TypedTextData]]
    about: NotRequired[BenchAboutData]


class WeighedTermData(TypedDict):
    """One reward as it is weighed."""

    label: str
    weight: float | None
    normalise: bool
    cap: float | None


class WeighedSampleData(TypedDict):
    """One text: what each term adds, in sd above the reference's average; score and rank; of an ensemble how far apart
    its learned rewards are, in sd of the score."""

    raw: list[float | None]
    z: list[float | None]
    total: float | None
    score: float
    adds: list[float]
    disagreement: float | None
    rank: NotRequired[int]


class WeighedTextData(WeighedSampleData):
    """A typed one; `better`: the share of samples that score lower."""

    better: NotRequired[float]


class DuelTermData(TypedDict):
    """By how much one reward prefers the winner."""

    label: str
    by: float


class DuelData(TypedDict):
    """Which of two texts wins."""

    winner: int
    by: float
    terms: list[DuelTermData]


class WeighedData(TypedDict, total=False):
    """The ranking, or why there is none. `missing`: kinds that were not measured."""

    error: str
    terms: list[WeighedTermData]
    missing: list[str]
    texts: list[WeighedTextData]
    samples: list[WeighedSampleData]
    sd: float
    order: list[int]
    duel: DuelData | None


class RewardFormData(TypedDict):
    """The controls of the training panel."""

    annotators: list[Annotated[Plain, Of(Choice)]]
    bases: list[Annotated[Plain, Of(Choice)]]
    help: dict[str, str]
    base: str
    first: list[KnobData]
    more: list[KnobData]
    templates: list[str]


class RewardStartData(TypedDict):
    """What became of a start; `exists`: there is one of that name."""

    error: NotRequired[str]
    name: str | None
    exists: bool
    problems: list[ProblemData]


class UploadedPairsData(TypedDict):
    """What became of an uploaded file of pairs."""

    uploaded: str | None
    problem: str
    sentence: NotRequired[str]
    at: NotRequired[float]


class RewardModelRowData(TypedDict):
    """A reward model in the list."""

    name: str
    state: State
    started_at: float
    accuracy: float | None


class RewardModelsData(TypedDict):
    """All of them; `living`: the one in training."""

    living: str | None
    models: list[RewardModelRowData]


class CurveData(TypedDict):
    """Of a training."""

    step: list[int]
    loss: list[float | None]
    accuracy: list[float | None]


class MarginsData(TypedDict):
    """A histogram."""

    edges: list[float]
    counts: list[int]


class PairReportData(TypedDict):
    """What a reward model is worth on held-out pairs."""

    num_pairs: int
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    true_accuracy: float | None
    score_mean: float
    score_sd: float
    loss: float
    margin_mean: float
    margins: MarginsData


class RewardCardData(TypedDict):
    """The card of a trained one; `counts`: its pairs in words; `doubt`: why it may be no better than chance, or ""."""

    name: str
    template: str
    max_length: int
    report: PairReportData
    base: str
    counts: str
    doubt: str


class RewardTrainingData(TypedDict):
    """One training of a reward model."""

    name: str
    pairs: str
    base: str
    settings: str
    state: State
    phase: str
    message: str
    step: int
    num_steps: int
    seconds: float
    ended: bool
    training: CurveData
    held_out: CurveData
    card: RewardCardData | None
    log: str
