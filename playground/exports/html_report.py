"""The report of a run as one self-contained HTML file: no server, no network, no script, no font. The template
escapes the texts of models and people, and the page forbids itself scripts and requests on top of that."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from playground import __version__
from playground.analysis.diagnosis.run_records import WINDOW
from playground.analysis.run_report import RunReport
from playground.config import RunConfig, differences, from_defaults, knobs
from playground.exports import curves
from playground.exports.rendering import render
from playground.setup import catalog, describe

# So many that the file stays below 2 MB, whatever the run.
MOST = {"pairs": 32, "characters": 1200, "configuration": 100_000, "events": 100}


class Table(NamedTuple):
    """A table with what it is in a sentence."""

    sentence: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def page(report: RunReport) -> str:
    charts = [*curves.panels(report), *curves.single_panels(report)] if report.metrics else []
    alerts = report.checks if len(report.metrics) >= WINDOW else []
    return render(
        "report.html.j2",
        report=report,
        version=__version__,
        most=MOST,
        facts=_facts(report),
        line=describe.of(report.config).line(report.title),
        lit=[alert for alert in alerts if alert.lit],
        unlit=[(alert.label, alert.state, alert.evidence) for alert in alerts if not alert.lit],
        charts=[(panel, curves.svg(panel)) for panel in charts],
        settings=_settings(report.config),
        events=[
            (event.update, event.kind.replace("_", " "), event.message) for event in report.events if event.message
        ],
        configuration=report.config.to_yaml(),
        window=WINDOW,
    )


def _facts(report: RunReport) -> list[str]:
    config, status = report.config, report.status
    facts = [f"{status.state}, update {status.update} of {status.num_updates}"]
    if status.started_at:
        facts.append(time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(status.started_at)))
    if config.reads("model.source"):
        facts.append(f"model {describe.in_words('model.source', config.model.source)}")
    if rewards := [reward.model_dump() for reward in config.rewards]:
        facts.append(f"reward {describe.in_words('rewards', rewards)}")
    facts.append(f"method {config.method_label}")
    if config.by_trl:
        facts.append("TRL\u2019s trainer")
    if config.reads("seed"):
        facts.append(f"seed {config.seed}")
    return facts


def _settings(config: RunConfig) -> Table:
    """What differs from the preset, or from the defaults where there is none."""
    preset = catalog.preset_of(config)
    changed = differences(config, preset) if preset else from_defaults(config)
    if config.kind == "watched":
        sentence = "Another program has trained it. What is known of its settings:"
    elif preset is None:
        sentence = "It is not based on an included preset. What differs from the defaults:"
    elif changed:
        sentence = f"What differs from the preset \u201c{preset.about.title}\u201d:"
    else:
        sentence = f"All as in the preset \u201c{preset.about.title}\u201d."
    labels = {field: knob["label"] for field, knob in knobs().items()}
    rows = [
        (labels.get(field, field), describe.in_words(field, before), describe.in_words(field, after))
        for field, (before, after) in changed.items()
    ]
    return Table(sentence, ["Setting", "Preset" if preset else "Default", "Here"], rows)
