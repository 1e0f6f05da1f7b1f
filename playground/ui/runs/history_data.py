"""The history as the Runs page shows it: every run, and every sweep as one row above its runs. `routes` calls it,
every few seconds for each page that shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from playground.analysis import before_after, meters, over_seeds
from playground.analysis.before_after import Headline
from playground.analysis.meters import Meter
from playground.analysis.over_seeds import RunEnd
from playground.config import methods
from playground.errors import InvalidConfig
from playground.runs import history, queue
from playground.runs.folder.directory import RunDirectory
from playground.runs.history import RunSummary
from playground.runs.sweeps import sweep_record
from playground.runs.sweeps.sweep_record import Sweep
from playground.setup import describe
from playground.ui.feed import run_serializer, run_state
from playground.ui.runs import sweep_data


def history_data(outputs: Path) -> dict[str, Any]:
    """{runs, sweeps}, the newest first. A run of a sweep names it; a sweep has figures where a run has some, so that
    both stand in one table."""
    listed = history.list_runs(outputs)
    headlines, counts = {}, {}
    for run in listed:  # one after the other, so that each is read once for both
        folder = RunDirectory(outputs / run.id)
        headlines[run.id], counts[run.id] = before_after.headline_of(folder), meters.at_ends_of(folder)
    sweeps = sweep_record.every(outputs)
    members = {sweep.name: members_of(sweep, listed) for sweep in sweeps}
    sweep_of = {run.id: name for name, runs in members.items() for run in runs}
    waiting = {name: place for place, name in enumerate(queue.waiting(outputs), 1)}
    return {
        "runs": [
            {
                **_run(run, headlines[run.id], counts[run.id]),
                "place": waiting.get(run.id),
                "sweep": sweep_of.get(run.id),
            }
            for run in listed
        ],
        "sweeps": [_sweep(outputs, sweep, members[sweep.name], headlines) for sweep in sweeps if members[sweep.name]],
    }


def members_of(sweep: Sweep, listed: Iterable[RunSummary]) -> list[RunSummary]:
    """Those of some runs that were made for a sweep, in its order."""
    by_id = {run.id: run for run in listed}
    found = [by_id[run_id] for run_id in sweep.runs if run_id in by_id]
    return [run for run in found if sweep.owns(run.id, run.asked)]


AS_THEY_ARE = "id title told note wrong_on_purpose reward beta adaptive learning_rate engine seed unit spark".split()


def _run(run: RunSummary, headline: Headline | None, counted: Iterable[Meter]) -> dict[str, Any]:
    return {
        **{name: getattr(run, name) for name in AS_THEY_ARE},
        **run.status.model_dump(include={"state", "message", "update", "num_updates", "started_at"}),
        "model": describe.in_words("model.source", run.model),
        "method": methods.METHODS[run.method].label,
        "end": run_serializer.ending(run.status),
        "resumable": run_state.can_resume(run.status, run.by_trl),
        "attempt": run.status.attempt - run.forked,  # a fork is no second try
        "duration": round(run.duration_seconds, 1),
        "headline": headline._asdict() if headline else None,
        "behaviours": [meter.ends() for meter in counted],
    }


def _sweep(
    outputs: Path, sweep: Sweep, runs: list[RunSummary], headlines: Mapping[str, Headline | None]
) -> dict[str, Any]:
    """A sweep as a row of the history; its gain is that of the setting with the highest mean so far."""
    first, progress = runs[0], sweep_data.progress_data(outputs, sweep, {run.id: run.status for run in runs})
    ends = {run.id: _end(headlines[run.id]) for run in runs if run.status.state == "finished"}
    rows = [row for row in over_seeds.rows(sweep, ends) if row.gain is not None]
    best = max(rows, key=lambda row: row.gain.mean if row.gain else 0.0, default=None)
    return {
        "id": sweep.name,
        "title": sweep.name,
        "told": sweep_data.varies(sweep),
        "preset": first_title(sweep, first),
        "model": _alike(describe.in_words("model.source", run.model) for run in runs),
        "reward": _alike(run.reward for run in runs),
        "beta": _alike_value([run.beta for run in runs]),
        "learning_rate": _alike_value([run.learning_rate for run in runs]),
        **progress,
        "resumable": progress["unmade"] > 0 or any(run_state.can_resume(run.status, run.by_trl) for run in runs),
        "started_at": sweep.created_at,
        "duration": round(sum(run.duration_seconds for run in runs), 1),
        "unit": first.unit,
        "best": best
        and {
            "of": len(rows),
            "setting": sweep_data.in_words(best.setting.values),
            "gain": sweep_data.interval_data(best.gain),
            "kl": sweep_data.interval_data(best.kl),
        },
    }


def first_title(sweep: Sweep, run: RunSummary) -> str:
    """What its runs are runs of: the title that its base brings along, else the name of that."""
    try:
        return describe.title_of(sweep.config(run.id))
    except InvalidConfig:
        return sweep.preset


def _end(headline: Headline | None) -> RunEnd:
    return RunEnd(headline.gain if headline else None, headline.kl if headline else None, {}, [])


def _alike(values: Iterable[str]) -> str:
    found = list(dict.fromkeys(values))
    return found[0] if len(found) == 1 else f"{len(found)} different"


def _alike_value(values: Sequence[float | None]) -> float | str | None:
    """The value that all have; None is that of runs that do not read it."""
    return values[0] if len(set(values)) == 1 else "varies"
