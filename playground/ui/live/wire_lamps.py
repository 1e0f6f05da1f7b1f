"""The lamps of a run, as the page shows them. Pure; `run_feed` calls it, static/train/lamps.js draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from playground.config import RunConfig
from playground.insight.diagnosis import diagnose
from playground.insight.diagnosis.run_records import WINDOW, Records, Thresholds
from playground.runs.folder.records import Event, Sample, UpdateMetrics
from playground.runs.steer import changes
from playground.ui.train import form

USUAL = Thresholds()


def thresholds(at: Thresholds = USUAL) -> list[dict[str, Any]]:
    """Each threshold: its name, what it is of, its usual value and the one that holds."""
    return [
        {"name": one.name, "words": one.metadata["words"], "usual": one.default, "value": getattr(at, one.name)}
        for one in fields(at)
    ]


def lamps(
    config: RunConfig,
    metrics: Sequence[UpdateMetrics],
    samples: Sequence[Sample],
    events: Sequence[Event],
    at: Thresholds = USUAL,
) -> list[dict[str, Any]] | None:
    """All lamps, those that are lit first; None before there is a trend to speak of.

    Of a remedy, `live` are the changes that a run that trains can take at once, `form` those that can be put into the
    form; `fork` says from which update on a fork could try it, where one can.
    """
    if len(metrics) < WINDOW:
        return None
    found = [lamp.as_data() for lamp in diagnose(Records(config, metrics, samples, events, at))]
    for lamp in found:
        lamp["remedies"] = [_offered(remedy, lamp["updates"]) for remedy in lamp["remedies"]]
    return found


def _offered(remedy: dict[str, Any], updates: Sequence[int]) -> dict[str, Any]:
    wanted, at = dict(remedy["changes"]), max(0, min(updates, default=1) - 1)
    back = wanted.pop("fork_at", None)
    return {
        "words": remedy["words"],
        "changes": wanted,
        "live": bool(remedy["live"] and wanted and wanted.keys() <= set(changes.LIVE_FIELDS)),
        "form": bool(wanted and wanted.keys() <= set(form.FIELDS)),
        "fork": back if back is not None else at if wanted.keys() <= set(changes.LIVE_FIELDS) and wanted else None,
    }
