"""The figures by which runs are listed, each written once. From this table come the columns of the Runs page and their
order, those of `runs`, what programs get of a run in a list (`runs --json`, the API), and columns of `runs.csv`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from playground.analysis.before_after import Headline
from playground.analysis.meters import MeterEnds
from playground.analysis.pass_at import PassAt
from playground.analysis.run_report import RunReport
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status
from playground.runs.fork import parent_of
from playground.setup import describe

CURVE_POINTS = 24
Kind = Literal["words", "setting", "signed", "number", "seconds"]  # how it reads


class FigureValue(NamedTuple):
    """What a run has of a figure. `low` and `high` bound it (95 %), where that is known; `note` is its unit, or what
    else is said below it."""

    value: float | str | None
    low: float | None = None
    high: float | None = None
    note: str = ""


class RunFigure(NamedTuple):
    """One column. A `setting` is known before the start; what else is a number came of the run. Where `large_first`, a
    press on the column brings the largest value to the top; `short` is its title where there is little room."""

    key: str
    title: str
    kind: Kind
    of: Callable[[RunReport], FigureValue]
    help: str = ""
    large_first: bool = False
    short: str = ""

    @property
    def is_outcome(self) -> bool:
        """Whether it is a number that came of the run."""
        return self.kind not in ("words", "setting")


def _setting(report: RunReport, field: str, value: float) -> float | None:
    """None where the method does not read it."""
    if report.config.reads(field):
        return value
    return None


def _model(report: RunReport) -> FigureValue:
    if not report.config.reads("model.source"):
        return FigureValue(None)
    return FigureValue(describe.in_words("model.source", report.config.model.source))


def _reward(report: RunReport) -> FigureValue:
    rewards = [reward.model_dump() for reward in report.config.rewards]
    if not rewards:
        return FigureValue(None)
    return FigureValue(describe.in_words("rewards", rewards))


def _beta(report: RunReport) -> FigureValue:
    kl = report.config.kl
    adaptive = kl.moves and report.config.reads("kl.controller")
    return FigureValue(_setting(report, "kl.coef", kl.coef), note="adaptive" if adaptive else "")


def _learning_rate(report: RunReport) -> FigureValue:
    return FigureValue(_setting(report, "ppo.learning_rate", report.config.ppo.learning_rate))


def _gain(report: RunReport) -> FigureValue:
    headline = report.headline
    if headline is None:
        return FigureValue(None)
    note = report.unit
    if headline.source == "training batch":
        note += ", training batch"
    return FigureValue(headline.gain, headline.low, headline.high, note)


def _kl(report: RunReport) -> FigureValue:
    headline, outcome = report.headline, report.outcome
    if headline is None or headline.kl is None:
        return FigureValue(None)
    if outcome is None:
        return FigureValue(headline.kl, note="nats")
    return FigureValue(headline.kl, outcome.kl_low, outcome.kl_high, "nats")


def _duration(report: RunReport) -> FigureValue:
    return FigureValue(round(report.status.seconds_at_work(), 1))


GAIN_HELP = "Score on the fixed prompts at the last evaluation, less the score before training"
KL_HELP = "Distance from the reference at that evaluation, in nats per completion"
FIGURES = (
    RunFigure("model", "Model", "words", _model),
    RunFigure("reward", "Reward", "words", _reward),
    RunFigure("beta", "Leash (beta)", "setting", _beta, "The score that one nat of distance costs, at the start"),
    RunFigure("learning_rate", "Learning rate", "setting", _learning_rate, "At the start"),
    RunFigure("gain", "Gain", "signed", _gain, GAIN_HELP, large_first=True),
    RunFigure("kl", "Distance (KL)", "number", _kl, KL_HELP, large_first=True, short="KL"),
    RunFigure("duration", "Duration", "seconds", _duration, large_first=True, short="Time"),
)


class RunRow(NamedTuple):
    """A run in a list: its names, what it is, and what came of it. `curve`: scores of its training batches; `passes`:
    pass@k, where its answers are checked; `figures`: of `FIGURES`, by key."""

    id: str
    title: str
    note: str
    experiment: str
    wrong_on_purpose: str
    method: str
    engine: str
    seed: int | None
    unit: str
    curve: list[float]
    behaviours: list[MeterEnds]
    passes: list[PassAt]
    figures: dict[str, FigureValue]


class ListedRun(NamedTuple):
    """A run for a list, with where it is. `asked`: the digest of the request that started it."""

    row: RunRow
    status: Status
    asked: str
    why_not_resumed: str
    forked: bool
    headline: Headline | None

    @classmethod
    def of(cls, run: RunDirectory) -> ListedRun:
        """A run as it is on disk now. Raises: InvalidConfig."""
        report = RunReport.of(run)
        config = report.config
        scores = [item.score_mean for item in report.metrics if item.score_mean is not None]
        row = RunRow(
            id=run.id,
            title=report.title,
            note=report.label.note,
            experiment=report.experiment,
            wrong_on_purpose=report.wrong_on_purpose,
            method=config.method_label,
            engine=config.engine,
            seed=config.seed if config.reads("seed") else None,
            unit=report.unit,
            curve=scores[:: max(1, len(scores) // CURVE_POINTS)],
            behaviours=[meter.ends() for meter in report.behaviours_at_ends],
            passes=report.passes,
            figures={figure.key: figure.of(report) for figure in FIGURES},
        )
        forked = parent_of(report.events) is not None
        return cls(row, report.status, requests.of(run).id, config.why_not_resumed, forked, report.headline)
