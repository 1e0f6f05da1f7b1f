"""Several runs in one set of charts, as plain data for JSON: their curves, and in which settings they differ. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from playground.config import RunConfig, engines
from playground.runs.steer import changes
from playground.ui.live import wire, wire_rewards
from playground.ui.train import form

COLUMNS = ("update", "episodes", "seconds", "score_mean", "kl_to_reference", "penalised_reward")
MAX_POINTS = 600
MAX_RUNS = 4


class Overlaid(NamedTuple):
    """One run of an overlay. `config` is as it started, `edits` what was changed in mid-run, in words."""

    run_id: str
    config: RunConfig
    status: Mapping[str, Any]
    columns: Mapping[str, Sequence[Any]]
    edits: list[str]


def overlay(runs: Sequence[Overlaid], problems: Sequence[str]) -> dict[str, Any]:
    """Several runs in one set of charts: curves, in which settings they differ, and how their engines do."""
    return {
        "runs": [
            {
                "id": run.run_id,
                "title": run.config.about.title or run.config.name,
                "model": form.in_words("model.source", run.config.model.source),
                "engine": run.config.engine,
                "seed": run.config.seed,
                "unit": wire_rewards.score_unit(run.config),
                **{key: run.status[key] for key in ("state", "update", "num_updates", "ended")},
                "metrics": wire.thinned({name: run.columns[name] for name in COLUMNS}, MAX_POINTS),
            }
            for run in runs
        ],
        "problems": list(problems),
        "settings": differing_settings(runs),
        "differences": engine_differences({run.config.engine for run in runs}),
    }


def differing_settings(runs: Sequence[Overlaid]) -> list[dict[str, Any]]:
    """The settings in which runs are not all alike, in words, one value for each run; changes in mid-run come last."""
    flat = [form.flatten(run.config) for run in runs]
    fields = dict.fromkeys(field for run in runs for field in form.differences(run.config, runs[0].config))
    rows = [
        {
            "label": form.label_of(field),
            "unit": form.unit_of(field),
            "values": [form.in_words(field, item[field]) for item in flat],
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
