"""The history as the Runs page shows it: every run, every sweep as one row above them, an open sweep in full."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from playground.analysis import over_seeds
from playground.analysis.before_after import read_once
from playground.analysis.intervals import Interval
from playground.analysis.over_seeds import Curve, RunEnd, SettingRow
from playground.analysis.pace import all_left
from playground.analysis.run_figures import FIGURES, FigureValue, ListedRun
from playground.runs import history, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status
from playground.runs.sweeps import sweep_record
from playground.runs.sweeps.sweep_progress import progress_of
from playground.runs.sweeps.sweep_record import SEED, Sweep
from playground.setup import describe
from playground.ui.feed import compare_serializer, insight_serializer, run_serializer, run_state
from playground.ui.feed.run_serializer import plain
from playground.ui.payloads.listed import (
    DrawnSettingData,
    HistoryData,
    RunColumnData,
    SeedShareData,
    SettingRowData,
    SweepData,
    SweepProgressData,
    SweepRowData,
    SweepRunData,
)
from playground.ui.train import form

STANDING = {"state", "message", "update", "num_updates", "started_at"}  # of a status, for the list
EXACTLY = 17  # digits, so that what is computed from two figures is right too
COLUMNS: list[RunColumnData] = [
    {
        "key": figure.key,
        "label": figure.title,
        "kind": figure.kind,
        "title": figure.help,
        "down": figure.large_first,
    }
    for figure in FIGURES
]
MOST_SHOWN = compare_serializer.MAX_RUNS  # settings with curves
MOST_POINTS = 300
MOST_TOLD = 240  # characters of the values of one field
NAMES = {"score_mean": "score", "kl_to_reference": "kl"}  # figure -> its bounds are score_low and the like


class PageRow(NamedTuple):
    """Where a run is now, the run when its files were last written, and its row as plain data."""

    status: Status
    run: ListedRun
    data: dict[str, Any]


def history_data(outputs: Path) -> HistoryData:
    """The newest first. A run of a sweep names it; a sweep has figures where a run has some."""
    rows = history.newest_first(outputs, lambda run: _page_row(run)._replace(status=run.status()))
    sweeps = sweep_record.every(outputs)
    members = {sweep.name: members_of(sweep, rows) for sweep in sweeps}
    sweep_of = {row.data["id"]: name for name, its in members.items() for row in its}
    waiting = {name: index for index, name in enumerate(queue.waiting(outputs), 1)}
    return {
        "columns": COLUMNS,
        "runs": [
            {**_run(row), "place": waiting.get(row.data["id"]), "sweep": sweep_of.get(row.data["id"])} for row in rows
        ],
        "sweeps": [_sweep(sweep, members[sweep.name]) for sweep in sweeps if members[sweep.name]],
    }


@read_once("config_path", "label_path", "status_path", "metrics_path", "samples_path", "events_path", size=8192)
def _page_row(run: RunDirectory) -> PageRow:
    listed = ListedRun.of(run)
    return PageRow(listed.status, listed, plain(listed.row, EXACTLY))


def members_of(sweep: Sweep, rows: Iterable[PageRow]) -> list[PageRow]:
    """Those of some runs that were made for a sweep, in its order."""
    by_id = {row.run.row.id: row for row in rows}
    its = [by_id[run_id] for run_id in sweep.runs if run_id in by_id]
    return [row for row in its if sweep.owns(row.run.row.id, row.run.asked)]


def _run(row: PageRow) -> dict[str, Any]:
    """A run with where it is now."""
    return {
        **row.data,
        **row.status.model_dump(include=STANDING),
        "end": run_serializer.ending(row.status),
        "resumable": run_state.can_resume(row.status, row.run.why_not_resumed),
        "attempt": row.status.attempt - row.run.forked,  # a fork is no second try
    }


def _sweep(sweep: Sweep, runs: Sequence[PageRow]) -> SweepRowData:
    """A sweep as a row of the history, with model and reward of its first run; its gain is that of the setting with the
    highest mean so far, unless each has a scale of its own."""
    first, progress = runs[0].run.row, progress_data(sweep, {row.run.row.id: row.status for row in runs})
    ends = {row.run.row.id: RunEnd(row.run.headline) for row in runs if row.status.state == "finished"}
    rows = [row for row in over_seeds.rows(sweep, ends) if row.gain is not None]
    best = None
    if not describe.are_of_the_scale(sweep.settings):
        best = max(rows, key=lambda row: row.gain.mean if row.gain else 0.0, default=None)
    unfinished = [row for row in runs if row.status.state != "finished"]
    goes_on = any(run_state.can_resume(row.status, row.run.why_not_resumed) for row in unfinished)
    seconds = sum(row.status.seconds_at_work() for row in runs)
    figures = {name: first.figures[name] for name in ("model", "reward")} | {"duration": FigureValue(round(seconds, 1))}
    if best:
        figures |= {"gain": _mean(best.gain, first.unit), "kl": _mean(best.kl, "nats")}
    return {
        "id": sweep.name,
        "title": sweep.name,
        "varies": varies(sweep),
        "preset": sweep.preset,
        **progress,
        "resumable": progress["unmade"] > 0 or goes_on,
        "started_at": sweep.created_at,
        "unit": first.unit,
        "figures": plain(figures, EXACTLY),
        "best": {"of": len(rows), "setting": in_words(best.setting.values)} if best else None,
    }


def _mean(mean: Interval | None, unit: str) -> FigureValue:
    """Over seeds; with one of them it has no bounds."""
    if mean is None:
        return FigureValue(None)
    return FigureValue(mean.mean, mean.low, mean.high, unit)


def detail(outputs: Path, name: str) -> SweepData:
    """A sweep in full; only its first settings have curves. Raises: RunNotFound."""
    sweep = sweep_record.find(outputs, name)
    folders = {run.id: run for run in sweep_record.runs_of(outputs, sweep)}
    statuses = {run_id: run.status() for run_id, run in folders.items()}
    finished = [run for run_id, run in folders.items() if statuses[run_id].state == "finished"]
    ends = {run.id: end for run in finished if (end := over_seeds.end_of(run))}
    rows = over_seeds.rows(sweep, ends)
    configs = sweep.setting_configs([row.setting.runs[0] for row in rows])
    return {
        "name": sweep.name,
        **progress_data(sweep, statuses),
        "varies": varies(sweep),
        "fields": [{"label": form.label_of(field), "unit": form.unit_of(field)} for field in sweep.settings],
        "seeds": len(sweep.vary.get(SEED, [0])),
        "unit": next((config.score_unit for config in configs), "sd"),
        "num_updates": max((status.num_updates for status in statuses.values()), default=0),
        "scores_differ": describe.scores_differ(configs),
        "behaviours": list(dict.fromkeys(words for row in rows for words in row.shares)),
        "monitors": list(dict.fromkeys(name for row in rows for name in row.monitors)),
        "settings": [
            _setting(sweep, row, folders, statuses, ends, index < MOST_SHOWN) for index, row in enumerate(rows)
        ],
        "ends": insight_serializer.columns(
            ("kl", "score"), sorted((end.path[-1].kl, end.path[-1].score) for end in ends.values() if end.path)
        ),
    }


def progress_data(sweep: Sweep, statuses: Mapping[str, Status]) -> SweepProgressData:
    """How far a sweep is; `left`: seconds, from the likely least to the likely most, while it goes on."""
    progress, left = progress_of(sweep, statuses), all_left([*statuses.values()], time.time())
    if progress.ended:
        left = None
    return {
        "on": sweep.on,
        "state": progress.state,
        "words": progress.words,
        "done": progress.done,
        "total": progress.total,
        "ended": progress.ended,
        "unmade": progress.unmade,
        "left": left,
    }


def _setting(
    sweep: Sweep,
    row: SettingRow,
    folders: Mapping[str, RunDirectory],
    statuses: Mapping[str, Status],
    ends: Mapping[str, RunEnd],
    drawn: bool,
) -> SettingRowData:
    cells = sweep.cells()
    runs: list[SweepRunData] = []
    for run_id in row.setting.runs:
        run: SweepRunData = {"id": run_id, "seed": cells[run_id].get(SEED), "state": "gone"}
        if status := statuses.get(run_id):
            run |= {"state": status.state, "message": status.message}
            run |= {"update": status.update, "num_updates": status.num_updates}
        runs.append(run)
    ours = [ends[run_id] for run_id in row.setting.runs if run_id in ends]
    data: SettingRowData = {
        "title": in_words(row.setting.values),
        "values": [describe.in_words(field, value) for field, value in row.setting.values.items()],
        "runs": runs,
        "finished": row.finished,
        "gain": plain(row.gain),
        "kl": plain(row.kl),
        "shares": {words: share_data(share) for words, share in row.shares.items()},
        "monitors": plain(row.monitors),
    }
    if drawn:
        data |= _drawn([folders[run_id] for run_id in row.setting.runs if run_id in folders], ours)
    return data


def _drawn(runs: Sequence[RunDirectory], ends: Sequence[RunEnd]) -> DrawnSettingData:
    figures = [over_seeds.figures_of(run) for run in runs]
    curves = {figure: over_seeds.curve([run_figures[figure] for run_figures in figures]) for figure in NAMES}
    path = [
        (update, kl.mean, score.mean, score.mean - (score.half or 0.0), score.mean + (score.half or 0.0))
        for update, kl, score in over_seeds.mean_path(ends)
    ]
    return {
        "metrics": _columns(curves),
        "evaluations": insight_serializer.columns(insight_serializer.BOUNDED, path),
    }


def _columns(curves: Mapping[str, Curve]) -> dict[str, list[Any]]:
    """Curves over the same updates as the columns of one table; where a figure lacks an update, it has none there."""
    updates = sorted({update for curve in curves.values() for update in curve.update})
    columns: dict[str, list[Any]] = {"update": updates}
    for figure, curve in curves.items():
        at = {update: index for index, update in enumerate(curve.update)}
        bounds = {f"{NAMES[figure]}_{name}": getattr(curve, name) for name in ("low", "high", "seeds")}
        if figure == "kl_to_reference":  # which is never negative, whatever an interval of two seeds says
            bounds["kl_low"] = [None if low is None else max(0.0, low) for low in curve.low]
        for name, values in {figure: curve.mean, **bounds}.items():
            columns[name] = [plain(values[at[update]]) if update in at else None for update in updates]
    return run_serializer.thinned(columns, MOST_POINTS)


def varies(sweep: Sweep) -> str:
    """For reading: "Leash (beta): 0.1, 0.25; Seed: 0, 1, 2"; of many long values only the first ones."""
    return "; ".join(f"{form.label_of(field)}: {_listed(field, values)}" for field, values in sweep.vary.items())


def _listed(field: str, values: Sequence[Any]) -> str:
    words = [describe.in_words(field, value) for value in values]
    ends = itertools.accumulate(len(word) + 2 for word in words)
    num_told = max(1, sum(end <= MOST_TOLD for end in ends))
    ending = [f"{len(words) - num_told} more"] if num_told < len(words) else []
    return ", ".join([*words[:num_told], *ending])


def in_words(values: Mapping[str, Any]) -> str:
    """A setting for reading: "Leash (beta) 0.1, Learning rate 0.0003"."""
    answer = (f"{form.label_of(field)} {describe.in_words(field, value)}" for field, value in values.items())
    return ", ".join(answer) or "all runs"


def share_data(share: Interval) -> SeedShareData:
    """That of a share, in percent; `low` and `high` are None where there is one seed."""
    low, high = share.share_bounds or (None, None)
    return {"mean": _percent(share.mean), "low": _percent(low), "high": _percent(high)}


def _percent(share: float | None) -> int | None:
    if share is None:
        return None
    return round(100 * share)
