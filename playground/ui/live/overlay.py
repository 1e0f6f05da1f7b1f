"""Several runs in one set of charts, as plain data for JSON: their curves, how far each went and what that cost, and in
which settings they differ."""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from playground.config import RunConfig, engines, methods
from playground.insight import before_after, compute, meters, roads
from playground.insight.frontier import against_kl
from playground.runs.folder.directory import RunDirectory
from playground.runs.steer import changes
from playground.setup import telling
from playground.ui.live import wire, wire_frontier
from playground.ui.train import form

COLUMNS = ("update", "episodes", "seconds", "score_mean", "kl_to_reference", "penalised_reward")
MAX_POINTS = 600
MAX_RUNS = 6


class Overlaid(NamedTuple):
    """One run of an overlay. `config` is as it started, `edits` what was changed in mid-run, in words; `told` what
    it is, with that."""

    run_id: str
    title: str
    config: RunConfig
    status: Mapping[str, Any]
    columns: Mapping[str, Sequence[Any]]
    edits: list[str]
    road: Road
    told: str


class Road(NamedTuple):
    """How a run went, what it has come to, what it cost, and what was counted; see `insight.roads` and `meters`.
    `against_kl` is what the chart of score against KL draws of it."""

    way: list[roads.Look]
    end: before_after.Headline | None
    bill: roads.Bill | None
    counted: list[meters.Meter]
    against_kl: dict[str, Any]

    @classmethod
    def of(cls, run: RunDirectory) -> Road:
        """Of a run as it is on disk now; read once for as long as nothing is added. Raises: InvalidConfig."""
        files = (run.config_path, run.metrics_path, run.samples_path, run.events_path)
        found = _road(run.path, tuple(path.stat().st_size if path.exists() else 0 for path in files))
        lines = wire_frontier.lines(found.looks, wire_frontier.possible_of(run, None))
        return cls(found.way, before_after.headline_of(run), found.bill, found.counted, lines)


class _Read(NamedTuple):
    """What the files of a run say of its road."""

    way: list[roads.Look]
    bill: roads.Bill | None
    counted: list[meters.Meter]
    looks: list[against_kl.Look]


@functools.lru_cache(maxsize=32)
def _road(path: Path, sizes: tuple[int, ...]) -> _Read:
    run = RunDirectory(path)
    config, samples, events = run.config(), run.samples(), run.events()
    bill = roads.bill(config, run.metrics(), events)
    looks = against_kl.looks(samples, events)
    return _Read(roads.way(samples, events), bill, meters.meters(config, samples), looks)


def overlay(runs: Sequence[Overlaid], problems: Sequence[str]) -> dict[str, Any]:
    """Several runs in one set of charts: curves, in which settings they differ, and how their engines do."""
    reached = roads.reach(run.road.way for run in runs) if len(runs) > 1 else None
    return {
        "reached": reached,
        "runs": [
            {
                "id": run.run_id,
                "title": run.title,
                "told": run.told,
                "wrong_on_purpose": telling.wrong_on_purpose(run.config),
                "model": telling.in_words("model.source", run.config.model.source),
                "engine": run.config.engine,
                "method": methods.METHODS[run.config.method].label,
                **run.road.against_kl,
                "behaviours": shares(run.road.counted),
                "end": run.road.end._asdict() if run.road.end else None,
                "there": _look(None if reached is None else roads.at(run.road.way, reached)),
                "bill": _bill(run.road.bill),
                "seed": run.config.seed,
                "unit": run.config.score_unit,
                **{key: run.status[key] for key in ("state", "update", "num_updates", "ended")},
                "metrics": wire.thinned({name: run.columns[name] for name in COLUMNS}, MAX_POINTS),
            }
            for run in runs
        ],
        "problems": list(problems),
        "settings": differing_settings(runs),
        "differences": engine_differences({run.config.engine for run in runs if run.config.method == "ppo"}),
        "scores_differ": telling.scores_differ([run.config for run in runs]) if runs else "",
    }


def shares(found: Iterable[meters.Meter]) -> list[dict[str, Any]]:
    """Each behaviour over the looks, in per cent, as columns of a chart."""
    return [
        {
            "name": meter.name,
            "words": meter.words,
            "looks": {
                "update": meter.updates,
                **{name: [round(100 * getattr(count, name), 1) for count in meter.counts]
                   for name in ("share", "low", "high")},
            },
        }
        for meter in found
    ]  # fmt: skip


def _look(look: roads.Look | None) -> dict[str, float | None] | None:
    half = None if look is None or not math.isfinite(look.half) else look.half
    return None if look is None else {**look._asdict(), "half": half}


def _bill(bill: roads.Bill | None) -> dict[str, Any] | None:
    if bill is None:
        return None
    return {**bill._asdict(), "operations": compute.operations_in_words(bill.operations)}


def differing_settings(runs: Sequence[Overlaid]) -> list[dict[str, Any]]:
    """The settings in which runs are not all alike, in words, one value for each run; changes in mid-run come last."""
    flat = [form.flatten(run.config) for run in runs]
    fields = dict.fromkeys(field for run in runs for field in form.differences(run.config, runs[0].config))
    rows = [
        {
            "label": form.label_of(field),
            "unit": form.unit_of(field),
            "values": [telling.in_words(field, item[field]) for item in flat],
        }
        for field in fields
    ]
    if any(run.edits for run in runs):
        changed = ["\n".join(run.edits) or "nothing" for run in runs]
        rows.append({"label": "Changed while it trained", "unit": "", "values": changed})
    return rows


def engine_differences(names: Collection[str]) -> list[dict[str, str]]:
    """How TRL's PPO differs from ours, as {title, sentence}, if it is among the engines."""
    return [{"title": item.title, "sentence": item.sentence} for item in engines.DIFFERENCES if "trl" in names]


def edits_in_words(events: Iterable[Mapping[str, Any]]) -> list[str]:
    """Applied changes with their time, one text for each update: "after update 12: Leash (beta) 0.25 \u2192 0.5"."""
    found: dict[int, list[str]] = defaultdict(list)
    for event in events:
        if event["kind"] == changes.EDIT:
            found[event["update"]].append(event["message"])
    return [
        f"{f'after update {update}' if update else 'before update 1'}: {', '.join(messages)}"
        for update, messages in sorted(found.items())
    ]
