"""Score against KL of a run, as the page shows it. `routes` and `overlay` call it; charts/frontier_chart.js draws."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playground.config import RunConfig
from playground.insight.frontier import against_kl
from playground.insight.frontier.against_kl import Look, Possible
from playground.runs import frontier_samples
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Event, Sample, UpdateMetrics
from playground.ui.live.figures import rounded

RECORDED = (
    "This recording ships without its weights, so no more texts can be drawn: what was possible at each KL is not "
    "known for it. Start the experiment, and it can be measured."
)
NO_WEIGHTS = "What was possible at each KL can be measured once the run has saved its weights."


def frontier(
    run: RunDirectory,
    config: RunConfig,
    samples: Sequence[Sample],
    metrics: Sequence[UpdateMetrics],
    events: Sequence[Event],
    *,
    recorded: bool = False,
) -> dict[str, Any]:
    """The looks, what drawn texts show to be possible (None where none were drawn), and why they are `missing`.

    Args:
        recorded: nothing can be drawn for it.
    """
    path, beta = against_kl.looks(samples, events), against_kl.leash(config, metrics)
    found = possible_of(run, beta)
    missing = ""
    if found is None:
        missing = RECORDED if recorded else "" if run.latest_checkpoint() else NO_WEIGHTS
    return {
        **lines(path, found),
        "unit": config.score_unit,
        "beta": rounded(beta),
        "sentence": against_kl.sentence(path, found),
        "missing": missing,
        "can_draw": not missing and found is None,
    }


def lines(path: Sequence[Look], found: Possible | None) -> dict[str, Any]:
    """What the chart draws of one run."""
    rows = [(at, kl, score, score - (half or 0.0), score + (half or 0.0)) for at, kl, score, half in path]
    looks = columns(("update", "kl", "score", "low", "high"), rows)
    return {"looks": looks, "possible": None if found is None else told(found)}


def told(found: Possible) -> dict[str, Any]:
    """What is possible, as columns; `trusted` points of the optimum come first, the rest is drawn grey."""
    return {
        **{name: getattr(found, name) for name in ("updates", "texts", "prompts")},
        "start": rounded(found.start),
        "best_of": columns(("n", "kl", "score", "kl_half"), found.best_of),
        "optimum": columns(("beta", "score", "kl", "effective"), found.optimum),
        "trusted": len(against_kl.trusted(found.optimum)),
        "least": against_kl.LEAST_EFFECTIVE,
    }


def columns(names: Sequence[str], rows: Sequence[Sequence[float | None]]) -> dict[str, list[Any]]:
    """Rows as columns by name."""
    return {name: [rounded(row[place]) for row in rows] for place, name in enumerate(names)}


def possible_of(run: RunDirectory, beta: float | None) -> Possible | None:
    """What the texts that were drawn for a run show; read once for as long as they stay the same."""
    path = run.path / frontier_samples.NAME
    return _possible(run.path, path.stat().st_mtime_ns, beta or 0.0) if path.is_file() else None


@functools.lru_cache(maxsize=32)
def _possible(path: Path, changed: int, beta: float) -> Possible | None:
    drawn = frontier_samples.read(RunDirectory(path))
    return against_kl.possible(drawn, beta) if drawn else None
