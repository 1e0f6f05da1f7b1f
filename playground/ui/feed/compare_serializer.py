"""Runs compared with each other, as plain data for JSON: one against before training or against another run, text by
text (static/runs/compare.js), and several in one set of charts (overlay.js).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from playground.analysis import before_after, compute, judging, meters, pass_at, path
from playground.analysis.before_after import BeforeAfter
from playground.analysis.path import PathPoint
from playground.analysis.run_report import RunReport
from playground.config import Behaviour, RunConfig, VerifyReward
from playground.rewards import behaviours as counted
from playground.rewards import verify
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample
from playground.setup import describe
from playground.ui.feed import insight_serializer, run_serializer
from playground.ui.feed.run_feed import RunFeed
from playground.ui.feed.run_serializer import plain
from playground.ui.payloads.compare import (
    ComparisonData,
    DifferingSettingData,
    OtherData,
    OverlaidData,
    OverlayData,
    PairData,
    RunNamesData,
    SharesData,
    SideData,
    WentData,
)
from playground.ui.payloads.live import MomentSummaryData
from playground.ui.train import form

MAX_PAIRS = 1000
COLUMNS = ("update", "episodes", "seconds", "score_mean", "kl_to_reference", "penalised_reward")
MAX_POINTS = 600
MAX_RUNS = 6  # in one set of charts


class Other(NamedTuple):
    """The run with which another is compared, at its last evaluation. `differ`: why their scores are no one measure."""

    names: RunNamesData
    samples: Sequence[Sample]
    differ: str


def comparison(
    samples: Sequence[Sample], config: RunConfig, update: int | None, other: Other | None = None
) -> ComparisonData:
    """Everything the Compare page shows of one moment of a run, against before training or another run at its end."""
    later = sorted({item.update for item in samples if item.stage != "before"})
    chosen = update
    if update not in later:
        chosen = next(reversed(later), None)
    pairs: Sequence[BeforeAfter] = []
    beside: OtherData | None = None
    if other:
        own_samples = [item for item in samples if item.update == chosen]
        ends = run_serializer.moments(other.samples)
        pairs = before_after.across(next(reversed(ends.values()), []), own_samples)
        beside = {
            **other.names,
            "update": max(ends, default=None),
            "notice": _notice(pairs, own_samples, other),
        }
    elif chosen is not None:
        pairs = before_after.pairs(samples, chosen)
    measured, alone = not (other and other.differ), other is None
    before = after = None
    if pairs:
        before, after = (run_serializer.moment_summary([pair[side] for pair in pairs]) for side in (0, 1))
    outcome = ""
    if measured:
        outcome = _outcome(pairs, config, None if alone else before)
    table: list[Any] = []
    passes: list[Any] = []
    if alone:
        table, passes = plain(judging.rows(pairs)), _passes(samples, chosen)
    return {
        "moments": later,
        "update": chosen,
        "other": beside,
        "measured": measured,
        "outcome": outcome,
        "terms": list(dict.fromkeys(name for pair in pairs for name in pair.after.scores)),
        "judges": list(dict.fromkeys(name for pair in pairs for name in pair.after.judges)),
        "table": table,
        "behaviours": insight_serializer.behaviours_of_pairs(config, pairs, against_itself=alone),
        "passes": passes,
        "before": before,
        "after": after,
        "rows": [_row(pair, config, measured) for pair in pairs[:MAX_PAIRS]],
    }


def _passes(samples: Sequence[Sample], chosen: int | None) -> list[tuple[str, str, str, str]]:
    """pass@k before training and at one moment, in words."""
    return pass_at.rows(pass_at.passes([item for item in samples if item.stage == "before" or item.update == chosen]))


def _row(pair: BeforeAfter, config: RunConfig, measured: bool) -> PairData:
    behaviours, check = counted.of_config(config), verify.first_of((*config.rewards, *config.judges))
    return {
        "id": pair.after.prompt_id,
        "seed": pair.after.seed,
        "prompt": pair.after.prompt,
        "gain": plain(pair.gain) if measured else None,
        "before": _side(pair.before, behaviours, check),
        "after": _side(pair.after, behaviours, check),
    }


def _side(item: Sample, behaviours: Sequence[Behaviour], check: VerifyReward | None) -> SideData:
    """One answer; `shows` has yes or no of each behaviour that it was asked for."""
    return {
        "text": item.completion,
        "at": {"promptId": item.prompt_id, "seed": item.seed, "update": item.update},
        "score": plain(item.score),
        "kl": plain(item.kl),
        "tokens": item.tokens,
        "scores": plain(item.scores),
        "judges": plain(item.judges),
        "shows": {name: mark for name, mark in meters.marks_of(item, behaviours).items() if mark is not None},
        "read": verify.reading(check, item.completion, item.answer)._asdict() if check else None,
    }


def _outcome(pairs: Sequence[BeforeAfter], config: RunConfig, other: MomentSummaryData | None) -> str:
    """The gain in a sentence; `other` sums up the run that it is held against."""
    outcome = before_after.outcome(pairs)
    if not outcome:
        return ""
    if not other:
        return before_after.outcome_sentence(outcome, config.score_unit)
    return before_after.outcome_sentence(outcome, config.score_unit, across=True, other_kl=other["kl"])


def _notice(pairs: Sequence[BeforeAfter], samples: Sequence[Sample], other: Other) -> str:
    """What to know before comparing two runs; empty if nothing."""
    shared, prompts = len({pair.after.prompt for pair in pairs}), len({item.prompt for item in samples})
    if not shared:
        return "The two share no fixed prompts, so there is nothing to compare side by side."
    sentences = []
    if shared != prompts:
        sentences.append(f"They share {shared} of {prompts} fixed prompts; only these are shown.")
    if other.differ:
        sentences.append(f"{other.differ} Read the texts, not the figures.")
    return " ".join(sentences)


class Went(NamedTuple):
    """How a run went: its path over score and KL, and what the page draws of that."""

    path: list[PathPoint]
    data: WentData

    @classmethod
    def of(cls, run: RunDirectory) -> Went:
        """Of a run as it is on disk now. Raises: InvalidConfig."""
        curves = _went(run)
        possible = insight_serializer.possible_of(run, None)
        return curves._replace(data={**curves.data, **insight_serializer.frontier_lines(curves.path, possible)})


@before_after.read_once("config_path", "metrics_path", "samples_path", "events_path", size=32)
def _went(run: RunDirectory) -> Went:
    report = RunReport.of(run)
    bill = report.bill
    data: WentData = {
        **insight_serializer.frontier_lines(report.path, None),
        "behaviours": [_shares(meter) for meter in report.behaviours],
        "bill": bill and {**bill._asdict(), "operations": compute.operations_in_words(bill.operations)},
        "end": report.headline and report.headline._asdict(),
    }
    return Went(report.path, data)


def _shares(meter: meters.Meter) -> SharesData:
    """One behaviour at every evaluation, in per cent, as columns of a chart."""
    bounds = {
        name: [round(100 * getattr(count, name), 1) for count in meter.counts] for name in ("share", "low", "high")
    }
    return {"name": meter.name, "words": meter.words, "evaluations": {"update": [*meter.updates], **bounds}}


class Overlaid(NamedTuple):
    """One run of an overlay: as it was started, its path over score and KL, and what the page draws."""

    config: RunConfig
    path: list[PathPoint]
    data: OverlaidData

    @classmethod
    def of(cls, run_id: str, curves: Went, feed: RunFeed) -> Overlaid:
        """Of a run that is being read."""
        config, status = feed.config, feed.status or feed.status_now()
        model, seed = "", None
        if config.reads("model.source"):
            model = describe.in_words("model.source", config.model.source)
        if config.reads("seed"):
            seed = config.seed
        return cls(
            config,
            curves.path,
            {
                "id": run_id,
                "title": feed.run.title(config),
                "experiment": feed.report.experiment,
                "wrong_on_purpose": describe.wrong_on_purpose(config),
                "model": model,
                "engine": config.engine,
                "method": config.method_label,
                "seed": seed,
                "unit": config.score_unit,
                **curves.data,
                "state": status["state"],
                "update": status["update"],
                "num_updates": status["num_updates"],
                "ended": status["ended"],
                "metrics": run_serializer.thinned({name: feed.columns[name] for name in COLUMNS}, MAX_POINTS),
            },
        )


def overlay(runs: Sequence[Overlaid], problems: list[str]) -> OverlayData:
    """Several runs in one set of charts: curves, and in which settings they differ."""
    reached = None
    if len(runs) > 1:
        reached = path.reach(run.path for run in runs)
    return {
        "reached": plain(reached),
        "runs": [{**run.data, "there": None if reached is None else plain(path.at(run.path, reached))} for run in runs],
        "problems": problems,
        "settings": _differing_settings(runs),
        "scores_differ": describe.scores_differ([run.config for run in runs]),
    }


def _differing_settings(runs: Sequence[Overlaid]) -> list[DifferingSettingData]:
    """The settings in which runs are not all alike, in words, one value for each run."""
    flat = [form.flatten(run.config) for run in runs]
    fields = dict.fromkeys(field for run in runs for field in form.differences(run.config, runs[0].config))
    settings: list[DifferingSettingData] = []
    for field in fields:
        values = [describe.in_words(field, item[field]) for item in flat]
        unit = form.unit_of(field, runs[0].config.score_unit)
        settings.append({"label": form.label_of(field), "unit": unit, "values": values})
    return settings
