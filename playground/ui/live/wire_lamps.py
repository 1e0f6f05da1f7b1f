"""The lamps of a run, as the page shows them. Pure; `run_feed` calls it, static/train/lamps.js draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from playground.config import RunConfig
from playground.insight.diagnosis import diagnose
from playground.insight.diagnosis.lamp import WINDOW, Records
from playground.runs.folder.records import Event, Sample, UpdateMetrics
from playground.runs.steer import changes


def lamps(
    config: RunConfig, metrics: Sequence[UpdateMetrics], samples: Sequence[Sample], events: Sequence[Event]
) -> list[dict[str, Any]] | None:
    """All lamps, those that are lit first; None before there is a trend to speak of.

    What a run that trains can take at once stands in `live` of a remedy, by field.
    """
    if len(metrics) < WINDOW:
        return None
    found = [lamp.as_data() for lamp in diagnose(Records(config, metrics, samples, events))]
    for lamp in found:
        for remedy in lamp["remedies"]:
            takes = remedy["live"] and remedy["changes"].keys() <= set(changes.LIVE_FIELDS)
            remedy["live"] = remedy["changes"] if takes else None
    return found
