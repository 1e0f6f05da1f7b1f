"""What `analysis` says of one run, as plain data for JSON: rewards and judges, behaviours, checks, score against KL,
outcome. Pure, but for `possible_of`, which reads the texts that were sampled for a run.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from playground import exports
from playground.analysis import against_kl, compute, judging, meters
from playground.analysis.against_kl import Possible
from playground.analysis.before_after import BeforeAfter
from playground.analysis.diagnosis.run_records import WINDOW, Remedy
from playground.analysis.meters import Meter, Way
from playground.analysis.paid import Paid, paid, shares_sentence
from playground.analysis.path import PathPoint
from playground.analysis.run_report import RunReport
from playground.config import RunConfig
from playground.runs import frontier_samples
from playground.runs.folder import changes
from playground.runs.folder.directory import RunDirectory
from playground.setup import describe
from playground.setup.checks import without_folders
from playground.setup.expected import bands
from playground.ui.feed.run_serializer import PARTS, plain
from playground.ui.payloads import Table
from playground.ui.payloads.insight import (
    BehavioursData,
    ComputeData,
    FrontierData,
    FrontierLinesData,
    JudgedData,
    OfferedRemedyData,
    OutcomeData,
    PhaseData,
    PossibleData,
    RunCheckData,
)
from playground.ui.train import form, reward_form

SIDES = ("before", "after")
BOUNDED = ("update", "kl", "score", "low", "high")  # of a path in the chart of score against KL
PHASES = {
    "generate": "writing texts, reference included",
    "score": "scoring them",
    "update": "learning from them",
    "evaluate and save": "evaluating the fixed prompts, saving",
}
RECORDED = (
    "This recording comes without its weights, so no more texts can be sampled: what was possible at each KL is not "
    "known for it. Start the experiment, and it can be measured."
)
NO_WEIGHTS = "What was possible at each KL can be measured once the run has saved its weights."


def farmed(columns: Mapping[str, Sequence[Any]], config: RunConfig) -> str:
    """Where the gain comes from in the newest updates, in words; empty for a score of one term, or an old run."""
    parts = {label: columns.get(PARTS + name, ()) for name, label in reward_form.term_labels(config.rewards).items()}
    return shares_sentence(parts)


def judged(report: RunReport) -> JudgedData | None:
    """The trained score and the monitors at every evaluation, and what that says."""
    judgement = report.judged
    if judgement is None:
        return None
    labels = reward_form.term_labels(report.config.judges)
    titles, turned = {judging.TRAINED: "Trained score", **labels}, {turn.judge for turn in judgement.turns}
    return {
        "updates": judgement.updates,
        "lines": [
            {
                "name": line.name,
                "label": titles[line.name] if line.in_sd else f"{titles[line.name]} (points)",
                "comparable": line.in_sd == judgement.trained.in_sd,
                "mean": [change and plain(change.mean) for change in line.changes],
                "half": [change and plain(change.half) for change in line.changes],
            }
            for line in (judgement.trained, *judgement.judges)
        ],
        "turns": [{"label": titles[turn.judge], "update": turn.update} for turn in judgement.turns],
        "verdicts": [
            {"text": judging.verdict(judgement, name, label), "turned": name in turned}
            for name, label in labels.items()
        ],
    }


def behaviours(report: RunReport) -> BehavioursData | None:
    """What is counted at every evaluation of a run; None where nothing is. A run that was changed while it trained has
    the band of the preset that it is now, if it is one."""
    drawn = bands(describe.of(report.config_now).preset)
    drawn_meters = meters.against_bands(report.behaviours, drawn, report.bands)
    return _behaviours(drawn_meters, meters.ways(report.config, report.samples), report.paid)


def behaviours_of_pairs(
    config: RunConfig, pairs: Sequence[BeforeAfter], *, against_itself: bool
) -> BehavioursData | None:
    """The same between two moments, or two runs: what their rewards paid for is not known of those."""
    against: Sequence[Paid] = []
    if against_itself:
        against = paid(config, pairs)
    return _behaviours(meters.of_pairs(config, pairs), meters.ways(config, pairs), against)


def _behaviours(counted: Sequence[Meter], ways: Sequence[Way], against: Sequence[Paid]) -> BehavioursData | None:
    if counted:
        return {"meters": plain(counted), "ways": plain(ways), "paid": plain(against)}
    return None


def checks(report: RunReport) -> list[RunCheckData] | None:
    """All checks, those that are lit first; None before there is a trend to speak of."""
    if len(report.metrics) < WINDOW:
        return None
    return [
        {**alert._asdict(), "remedies": [_offered(remedy, alert.updates) for remedy in alert.remedies]}
        for alert in report.checks
    ]


def _offered(remedy: Remedy, updates: Sequence[int]) -> OfferedRemedyData:
    """A remedy: whether a run that trains can take it at once (`live`), the form can, and from where a fork could."""
    settings = {field: value for field, value in remedy.changes.items() if field != "fork_at"}
    steers = bool(settings) and settings.keys() <= set(changes.LIVE_FIELDS)
    before = max(0, min(updates, default=1) - 1)
    return {
        "words": remedy.words,
        "changes": settings,
        "live": remedy.live and steers,
        "form": bool(settings) and settings.keys() <= set(form.FIELDS),
        "fork": remedy.changes.get("fork_at", before if steers else None),
    }


def frontier(run: RunDirectory, report: RunReport, *, recorded: bool = False) -> FrontierData:
    """Score against KL: the evaluations, what drawn texts show to be possible (or None), and why they are `missing`."""
    possible = possible_of(run, report.final_beta)
    missing = ""
    if possible is None and recorded:
        missing = RECORDED
    elif possible is None and not run.latest_checkpoint():
        missing = NO_WEIGHTS
    return {
        **frontier_lines(report.path, possible),
        "unit": report.unit,
        "beta": plain(report.final_beta),
        "sentence": against_kl.sentence(report.path, possible),
        "missing": missing,
        "can_draw": not missing and possible is None,
    }


def frontier_lines(path: Sequence[PathPoint], possible_points: Possible | None) -> FrontierLinesData:
    """What the chart draws of one run; `trusted` points of the optimum come first, the rest is drawn grey."""
    rows = [(at, kl, score, score - (half or 0.0), score + (half or 0.0)) for at, kl, score, half, *_ in path]
    possible: PossibleData | None = possible_points and {
        "start": plain(possible_points.start),
        "best_of": columns(("n", "kl", "score", "kl_half"), possible_points.best_of),
        "optimum": columns(("beta", "score", "kl", "effective"), possible_points.optimum),
        "trusted": len(against_kl.trusted(possible_points.optimum)),
    }
    return {"evaluations": columns(BOUNDED, rows), "possible": possible}


def columns(names: Sequence[str], rows: Sequence[Sequence[float | None]]) -> Table:
    """Rows as columns by name."""
    return {name: [plain(row[column]) for row in rows] for column, name in enumerate(names)}


def possible_of(run: RunDirectory, beta: float | None) -> Possible | None:
    """What the texts that were drawn for a run show; read once for as long as they stay the same."""
    path = run.path / frontier_samples.NAME
    if path.is_file():
        return _possible(run.path, path.stat().st_mtime_ns, beta or 0.0)
    return None


@functools.lru_cache(maxsize=32)
def _possible(path: Path, changed: int, beta: float) -> Possible | None:
    drawn = frontier_samples.read(RunDirectory(path))
    if drawn:
        return against_kl.possible(drawn, beta)
    return None


def outcome(run: RunDirectory) -> OutcomeData:
    """What a run came to: the plateau, what rose and what it means, and the compute ledger, in words."""
    report = RunReport.of(run)
    update = report.plateau.update
    return {
        "weights": run.latest_checkpoint() is not None,  # not known when the page began to watch a run
        "plateau": None if update is None else {"update": update, "sentence": report.plateau_sentence},
        "sentences": report.remarks,
        "compute": report.ledger and _compute(report.ledger, report.cost),
        "adapter": report.config.model.adapter.kind == "lora",
        "trl": exports.trl_plan(without_folders(report.config), report.events).in_words(),
    }


def _compute(ledger: compute.Ledger, sentence: str) -> ComputeData:
    phases: list[PhaseData] = [
        {
            "name": PHASES[phase.name],
            "seconds": round(phase.seconds, 1),
            "share": round(phase.seconds / ledger.seconds, 3) if ledger.seconds else 0.0,
            "operations": compute.operations_in_words(phase.operations),
        }
        for phase in ledger.phases
    ]
    return {
        "sentence": sentence,
        "parameters": ledger.parameters,
        "trained": ledger.trained_parameters,
        "phases": phases,
    }
