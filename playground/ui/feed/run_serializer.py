"""One run as plain data for JSON: what it is, where it stands, its figures, texts and events. Pure functions."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from playground.analysis import before_after
from playground.analysis.pace import seconds_left
from playground.config import RunConfig
from playground.config.reward_settings import RewardPart
from playground.lessons import mysteries
from playground.rewards import behaviours as counted
from playground.runs.folder import changes, exit_reasons, traces
from playground.runs.folder.records import RESUMED, Evaluation, Event, Label, Sample, Status, UpdateMetrics, by_name
from playground.runs.folder.rollouts import OpenedUpdate
from playground.setup import describe
from playground.ui.payloads import Columns
from playground.ui.payloads.inside import RolloutUpdateData
from playground.ui.payloads.live import (
    AnswerData,
    BehaviourNameData,
    EndData,
    EventData,
    MomentData,
    MomentSummaryData,
    NamesData,
    PromptData,
    RunData,
    SettingData,
    TermData,
    TextPerplexityData,
    WhereData,
)
from playground.ui.train import form, reward_form

PARTS = "contributions."  # prefix of the columns that say what each reward adds to the score
COLUMNS = tuple(name for name, about in UpdateMetrics.about().items() if about.live)
ESTIMATES = tuple(f"{field}.{name}" for field in ("kl_estimates", "kl_spreads") for name in ("k1", "k2", "k3", "full"))
MAX_POINTS = 2000
MAX_LIVE_PROMPTS = 64
RECORDED_WITHOUT = (
    "This recording keeps no update in slow motion; those of Kinder reviews and Scores within a group do, and so "
    "do your own runs."
)
RAN_BEFORE = "If the cause lies outside the settings, fix that and resume: the run has worked with them before."


def encode(data: Any) -> bytes:
    """Strict, compact JSON; dataclasses travel as they are."""
    return json.dumps(data, default=asdict, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def plain(value: Any, digits: int = 5) -> Any:
    """Records for `encode`: floats with so many significant digits, None for what is not finite."""
    return by_name(value, digits)


def names(config: RunConfig, label: Label) -> NamesData:
    """What a run is called, what it is, and the note on it."""
    title, answer = label.name or describe.title_of(config), describe.of(config)
    return {"title": title, "experiment": answer.what, "story": answer.line(title), "note": label.note}


def run_summary(
    run_id: str, config: RunConfig, label: Label, *, recorded: bool = False, forked: bool = False
) -> RunData:
    """What stays the same during a run, unless it is renamed."""
    measures = [behaviour.measure for behaviour in config.behaviours or ()]
    return {
        "id": run_id,
        **names(config, label),
        "wrong_on_purpose": describe.wrong_on_purpose(config),
        "mystery": mysteries.is_mystery(config),
        "preset": describe.of(config).preset,
        "recorded": recorded,
        "watched": config.kind == "watched",
        "forked": forked,
        "unit": config.score_unit,
        "engine": config.engine,
        "can_steer": not recorded and config.kind != "watched",
        "keeps_checkpoints": config.checkpoint.every > 0,
        "no_traces": traces.why_none(config) or (RECORDED_WITHOUT if recorded else ""),
        "adaptive": config.kl.moves,
        "target": config.kl.target,
        "every": config.evaluation.every,
        "system": config.prompts.system or "",
        "terms": _named(reward_form.term_labels(config.rewards)),
        "judges": _named(reward_form.term_labels(config.judges)),
        "counted": _surely_counted(config),
        "whole_texts": any(_reads_length(part) for part in (*config.rewards, *config.judges, *filter(None, measures))),
        "settings": _main_settings(config),
    }


def _surely_counted(config: RunConfig) -> list[BehaviourNameData]:
    """What is counted of any run of these settings, in the order in which it is shown."""
    names = {behaviour.name: behaviour.words for behaviour in counted.surely_counted(config)}
    first = counted.of_rewards(config, names)
    listed: dict[str, str] = {}
    if counted.REWARD in first:
        listed[counted.REWARD] = counted.EARNS.format("more than")
    listed |= dict(sorted(names.items(), key=lambda item: item[0] not in first))
    return [{"name": name, "words": words} for name, words in listed.items()]


def _reads_length(reward: RewardPart) -> bool:
    """Whether it is about how long a text is."""
    expression = str(getattr(reward, "expression", ""))
    return reward.kind == "length" or any(f"{name}(" in expression for name in ("words", "characters", "sentences"))


def _named(labels: Mapping[str, str]) -> list[TermData]:
    return [{"name": name, "label": label} for name, label in labels.items()]


def _main_settings(config: RunConfig) -> list[SettingData]:
    """The few that stand in the head of a run."""
    fields = ["model.source", "rewards", "prompts.source", "seed"]
    fields += [field for field in ("kl.coef", "ppo.learning_rate") if config.reads(field)]
    if config.judges:
        fields.append("judges")
    if config.method != "ppo":
        fields.append("method")
    values = {field: value for field, value in form.flatten(config).items() if field in fields}
    return [
        {
            "field": field,
            "label": form.LABELS[field],
            "value": describe.in_words(field, value),
            "unit": form.unit_of(field, config.score_unit),
        }
        for field, value in values.items()
    ]


def live_values(config: RunConfig) -> dict[str, Any]:
    """Value of each setting that can be changed now, for the form, whose controls are then the run's."""
    return {field: changes.value_of(config, field) for field in changes.live_in(config)}


def event_data(event: Event, forked: bool = False) -> EventData | None:
    """An event as the page shows it; None for those that it does not show."""
    data: EventData = {"kind": event.kind, "update": event.update, "message": form.with_labels(event.message)}
    if event.kind == changes.EDIT:
        return {**data, "field": str(event.data.get("field", "")), "value": event.data.get("value")}
    if event.kind == RESUMED:
        attempt = event.attempt - forked  # the attempt that makes a fork of it is its second
        if forked and attempt == 1 and event.update:
            return None
        from_where = "Started again from the beginning"
        if event.update:
            from_where = f"Resumed from update {event.update}"
        return {**data, "attempt": attempt, "message": f"{from_where} (attempt {attempt})."}
    if event.kind == "state":
        if event.data.get("state") == "paused":
            return {**data, "kind": "paused", "message": "Paused"}
        return None
    return data


def status_data(status: Status, metrics: Mapping[str, Sequence[Any]], outcome: str = "") -> WhereData:
    """Where the run is. `elapsed` (at work) and `left` (the likely least and most) are seconds."""
    left = seconds_left(metrics.get("update", ()), metrics.get("seconds", ()), status.num_updates)
    return {
        "state": status.state,
        "phase": status.phase,
        "reason": status.reason,
        "update": status.update,
        "num_updates": status.num_updates,
        "attempt": status.attempt,
        "message": form.with_labels(status.message),
        "ended": status.ended,
        "end": ending(status),
        "elapsed": round(status.seconds_at_work(time.time()), 1) if status.started_at else 0.0,
        "left": [round(seconds, 1) for seconds in left] if left and status.state == "running" else None,
        "outcome": outcome,
    }


def ending(status: Status) -> EndData | None:
    """How a run ended, from the one table: title and remedy."""
    if not status.ended:
        return None
    reason = status.reason
    if not reason and not status.is_done:
        reason = status.state
    end = exit_reasons.reason_of(reason)
    remedy = end.remedy
    if status.resumable and not end.resumable:
        remedy += f" {RAN_BEFORE}"
    return {"title": end.title, "remedy": form.with_labels(remedy)}


def columns_of(records: Sequence[UpdateMetrics], terms: Sequence[str] = ()) -> Columns:
    """The figures of updates that the charts get; where the score has several terms, the contribution of each too."""
    parts = [PARTS + name for name in terms] if len(terms) > 1 else []
    return {name: [_figure(record, name) for record in records] for name in (*COLUMNS, *ESTIMATES, *parts)}


def _figure(record: UpdateMetrics, name: str) -> Any:
    field, dot, part = name.partition(".")
    value = getattr(record, field)
    if dot:
        value = value.get(part)
    return plain(value)


def thinned(columns: Mapping[str, Sequence[Any]], limit: int = MAX_POINTS) -> Columns:
    """At most `limit` points: of each stretch the one with the highest KL and the one with the lowest score stay."""
    count = len(columns["update"])
    if count <= limit:
        return {name: list(values) for name, values in columns.items()}
    kl = np.array([value or 0.0 for value in columns["kl_to_reference"]])
    score = np.array([value or 0.0 for value in columns["score_mean"]])
    kept = {0, count - 1}
    for rows in np.array_split(np.arange(count), (limit - 2) // 2):
        kept.add(int(rows[kl[rows].argmax()]))
        kept.add(int(rows[score[rows].argmin()]))
    return {name: [values[row] for row in sorted(kept)] for name, values in columns.items()}


def moments(samples: Iterable[Sample]) -> dict[int, list[Sample]]:
    """Samples by the update they were drawn at, in order; the last attempt at an update counts."""
    grouped: dict[int, dict[tuple[int, int], Sample]] = defaultdict(dict)
    for item in samples:
        grouped[item.update][item.prompt_id, item.seed] = item
    return {update: list(rows.values()) for update, rows in sorted(grouped.items())}


def moment(samples: Sequence[Sample], examples: Sequence[int] = ()) -> MomentData:
    """One evaluation: one completion of each of the first prompts, and a summary of all of them. `examples`: ids of the
    prompts that show best what has changed since the first one."""
    return {
        "update": samples[0].update,
        "stage": samples[0].stage,
        "examples": list(examples),
        "summary": moment_summary(samples),
        "rows": [_answer(item) for item in _first_rows(samples)],
    }


def _answer(item: Sample) -> AnswerData:
    return {"id": item.prompt_id, "text": item.completion, "score": plain(item.score), "kl": plain(item.kl)}


def rollout(opened: OpenedUpdate) -> RolloutUpdateData:
    """What is kept of the training texts of an update, with its neighbours."""
    record = opened.record
    return {
        "update": record.update,
        "histogram": plain(record.histogram),
        "texts": plain(record.texts),
        "previous": opened.previous,
        "next": opened.next,
    }


def prompts(samples: Sequence[Sample]) -> list[PromptData]:
    """The first fixed prompts in order, one row each."""
    return [{"id": item.prompt_id, "text": item.prompt} for item in _first_rows(samples)]


def _first_rows(samples: Sequence[Sample]) -> list[Sample]:
    """One sample of each of the first prompts."""
    return list(before_after.first_answers(samples).values())[:MAX_LIVE_PROMPTS]


def moment_summary(samples: Sequence[Sample]) -> MomentSummaryData:
    """Means over all completions of one evaluation."""
    means = _means([{name: getattr(item, name) for name in ("score", "kl", "tokens", "ended")} for item in samples])
    return {
        "count": len(samples),
        "unique": len({item.completion for item in samples}),
        "length": means["tokens"],
        "score": means["score"],
        "kl": means["kl"],
        "ended": means["ended"],
        "terms": _means([item.scores for item in samples]),
        "judges": _means([item.judges for item in samples]),
    }


def _means(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Of each column, over what is known of it."""
    means: dict[str, float | None] = plain(pd.DataFrame(rows, dtype=float).mean().to_dict())
    return means


def text_perplexity(evaluations: Iterable[Evaluation]) -> list[TextPerplexityData]:
    """Perplexity on held-out text at each evaluation; the last attempt at an update counts."""
    perplexities = {item.update: item.perplexity_text for item in evaluations if item.perplexity_text is not None}
    return [{"update": update, "value": plain(value)} for update, value in sorted(perplexities.items())]
