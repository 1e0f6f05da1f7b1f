"""What programs get to read: plain data of bounded size, numbers with five digits. Pure functions of what is known of a
run; the units are those of docs/definitions.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from playground.analysis.run_report import RunReport
from playground.config import RunConfig, flatten
from playground.errors import InvalidConfig, Problem
from playground.rewards import behaviours
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample, UpdateMetrics
from playground.setup import catalog, checks, describe, expected
from playground.ui.feed import compare_serializer, insight_serializer, run_serializer
from playground.ui.feed.run_feed import RunFeed
from playground.ui.feed.run_serializer import plain
from playground.ui.train import form

MOST_ROWS = 200  # of metrics
MOST_TEXTS = 64
MOST_CHARACTERS = 2_000  # of a prompt or a completion
FIGURES = (
    "score_mean raw_score_mean kl_to_reference penalised_reward kl_coef entropy update_kl clip_fraction "
    "explained_variance completion_length eos_fraction distinct_2"
).split()
STATUS = "state phase update num_updates message ended outcome".split()
LISTED = "id title experiment state update num_updates message wrong_on_purpose method seed unit".split()
OUTCOME = "sentences plateau compute weights".split()
KNOB = "label help low high unit live minimum maximum".split()


def preset(name: str) -> dict[str, Any]:
    """What a preset teaches, and what it came to."""
    config = catalog.preset(name)
    description = describe.of(config)
    return {
        "preset": name,
        "title": config.about.title,
        "what": description.what,
        "story": description.story,
        "expect": description.expect,
        "measured": expected.line(name),
        "method": config.method,
        "model": config.model.source,
        "behaviours": [behaviour.words for behaviour in behaviours.of_config(config)],
    }


def listed(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run of the list: its figures by name, the gain in its `unit`."""
    figures = {name: figure["value"] for name, figure in run["figures"].items()}
    return plain({name: run[name] for name in LISTED} | figures)


def outcome(run: RunDirectory) -> dict[str, Any]:
    """What a run came to beside the sentence about it."""
    outcome: Mapping[str, Any] = insight_serializer.outcome(run)
    return {name: outcome[name] for name in OUTCOME} | {"headline": plain(RunReport.of(run).headline)}


def settings(config: RunConfig) -> dict[str, Any]:
    """All settings of a configuration by their dotted names, and what is known of those that are numbers or choices."""
    flat = flatten(checks.without_folders(config))
    return {
        "settings": {field: value for field, value in flat.items() if not field.startswith("about")},
        "help": {field: _help_of(field, knob) for field, knob in form.KNOBS.items()},
    }


def _help_of(field: str, knob: Mapping[str, Any]) -> dict[str, Any]:
    facts = {name: knob[name] for name in KNOB if knob[name] not in ("", None)}
    if knob["slider"]:
        facts["usual"] = knob["slider"][:2]
    if options := form.options_of(field):
        facts["options"] = options
    return facts


def status(feed: RunFeed) -> dict[str, Any]:
    """Where a run is, its newest figures, the checks that are lit, and what can be changed now."""
    now: Mapping[str, Any] = feed.status_now()
    columns = feed.columns
    done = len(columns["update"])
    return {
        "run": feed.id,
        "title": feed.run.title(feed.config),
        **{name: now[name] for name in STATUS},
        "waits_for": now["before"],
        "seconds": now["elapsed"],
        "seconds_left": now["left"],
        "newest": {name: columns[name][-1] for name in FIGURES} if done else None,
        "alerts": [
            {"label": check["label"], "state": check["state"], "evidence": check["evidence"], "cause": check["cause"]}
            for check in feed.lit
        ],
        "can_change": feed.live_values(ended=now["ended"]),
    }


def metrics(feed: RunFeed, since: int, figures: Sequence[str]) -> dict[str, Any]:
    """Columns of figures. Raises: InvalidConfig, for a figure that there is not."""
    if unknown := [name for name in figures if name not in feed.columns]:
        offered = ", ".join(name for name in feed.columns if name != "update")
        raise InvalidConfig([Problem("figures", f"There is no figure `{unknown[0][:60]}`. There are: {offered}.")])
    updates = feed.columns["update"]
    rows = [row for row, update in enumerate(updates) if update > since]
    newer = {name: [values[row] for row in rows] for name, values in feed.columns.items()}
    thin = run_serializer.thinned(newer, MOST_ROWS)
    about, names = UpdateMetrics.about(), ("update", *(figures or FIGURES))
    return {
        "run": feed.id,
        "updates": len(updates),
        "ended": feed.ended,
        "units": {name: about[name].unit for name in names if name in about and about[name].unit},
        "metrics": {name: thin[name] for name in dict.fromkeys(names)},
    }


def samples(feed: RunFeed, update: int) -> dict[str, Any]:
    """The fixed prompts as answered at one evaluation. Raises: InvalidConfig, if there was none at that update."""
    grouped = run_serializer.moments(feed.samples)
    updates = list(grouped)
    chosen = (updates or [0])[-1] if update < 0 else update
    if chosen not in grouped and (updates or update >= 0):
        evaluated = ", ".join(map(str, updates[-50:])) or "none so far"
        raise InvalidConfig([Problem("update", f"The fixed prompts were answered at these updates: {evaluated}.")])
    evaluation = grouped.get(chosen, [])
    return {
        "run": feed.id,
        "update": chosen,
        "evaluated_at": updates,
        "summary": run_serializer.moment_summary(evaluation) if evaluation else None,
        "samples": [_sample(item) for item in evaluation[:MOST_TEXTS]],
    }


def _sample(item: Sample) -> dict[str, Any]:
    figures = {name: getattr(item, name) for name in ("seed", "score", "kl", "tokens", "ended")}
    return {"prompt": text(item.prompt), "completion": text(item.completion), **plain(figures)}


def comparison(run_id: str, config: RunConfig, samples: Sequence[Sample], most: int) -> dict[str, Any]:
    """Before and after on the same prompts with the same random numbers."""
    data = compare_serializer.comparison(samples, config, None)
    meters = data["behaviours"]["meters"] if data["behaviours"] else ()
    return {
        "run": run_id,
        "update": data["update"],
        "outcome": data["outcome"],
        "unit": config.score_unit,
        **{side: data[side] for side in ("before", "after")},
        "rewards": data["table"],
        "behaviours": [
            {"words": meter["words"], **{side: meter["counts"][end] for side, end in (("before", 0), ("after", -1))}}
            for meter in meters
            if meter["counts"]
        ],
        "pairs": [
            {"prompt": text(row["prompt"]), "seed": row["seed"], "gain": row["gain"]}
            | {side: _side(row[side]) for side in ("before", "after")}
            for row in data["rows"][: max(0, min(most, MOST_TEXTS))]
        ],
    }


def _side(side: Mapping[str, Any]) -> dict[str, Any]:
    return {"completion": text(side["text"]), "score": side["score"], "kl": side["kl"]}


def generated(prompt: str, completions: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Completions of a prompt before and after training, with the same random numbers in the same order."""
    answer: dict[str, Any] = {"prompt": prompt, "before": [], "after": []}
    for completion in completions:
        figures = {name: completion[name] for name in ("score", "kl", "tokens", "ended")}
        side = "after"
        if completion["side"] == "reference":
            side = "before"
        answer[side].append({"completion": text(completion["completion"]), **plain(figures)})
    return answer


def text(value: str) -> str:
    """A text, cut where it is too long to be handed on."""
    if len(value) <= MOST_CHARACTERS:
        return value
    return f"{value[:MOST_CHARACTERS]}\u2026"
