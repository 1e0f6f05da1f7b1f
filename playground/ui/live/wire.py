"""Records of a run -> what the page draws, as plain data for JSON. Pure functions, shared by live view and Compare.

Knows the records, the configuration and `insight`; nothing of files, HTTP or gradio. `feed` and `routes` call it.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from playground.config import RunConfig, methods
from playground.insight.pace import seconds_left
from playground.runs.folder import end_reasons, traces
from playground.runs.folder.records import RESUMED, Evaluation, Event, Label, Sample, Status, UpdateMetrics
from playground.runs.steer import changes
from playground.setup import telling
from playground.ui.live import wire_behaviours, wire_rewards
from playground.ui.live.figures import mean, rounded
from playground.ui.train import form, reward_form

COLUMNS = tuple(name for name, about in UpdateMetrics.about().items() if about.live)
ESTIMATES = tuple(f"{field}.{name}" for field in ("kl_estimates", "kl_spreads") for name in ("k1", "k2", "k3", "full"))
MAX_POINTS = 2000
MAX_LIVE_PROMPTS = 64
RECORDED_WITHOUT = (
    "This recording keeps no update in slow motion; that of the first experiment does, and your own runs do."
)
RAN_BEFORE = "If the cause lies outside the settings, mend that and resume: it has run with them before."


class Standing(NamedTuple):
    """`before`: runs that must end before a waiting one starts. `silent`: seconds since the worker last gave a sign,
    where that is too long. `stopping`: seconds since somebody asked it to stop."""

    before: int | None = None
    silent: float | None = None
    stopping: float | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """Changes when the page has something new to show; seconds it counts by itself."""
        return self.before, self.silent is not None, self.stopping is not None


NOTHING_SPECIAL = Standing()


def encode(data: Any) -> bytes:
    """Strict, compact JSON."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def names(config: RunConfig, label: Label) -> dict[str, str]:
    """What a run is called, what it is, and the note on it."""
    title, told = label.name or telling.title_of(config), telling.told(config)
    return {"title": title, "told": told.what, "story": told.line(title), "note": label.note}


def run_summary(
    run_id: str,
    config: RunConfig,
    label: Label,
    *,
    recorded: bool = False,
    can_ask: bool = False,
    forked: bool = False,
) -> dict[str, Any]:
    """What stays the same during a run, unless somebody names it. `can_ask`: weights are there, so the model can answer
    a prompt. `forked`: its first attempt went on from another run's checkpoint, so it counts from the second."""
    return {
        "id": run_id,
        **names(config, label),
        "wrong_on_purpose": telling.wrong_on_purpose(config),
        "preset": telling.told(config).preset,
        "recorded": recorded,
        "forked": forked,
        "can_ask": can_ask,
        "unit": config.score_unit,
        "engine": config.engine,
        "can_steer": not recorded,
        "keeps_checkpoints": config.checkpoint.every > 0,
        "no_traces": traces.why_none(config) or (RECORDED_WITHOUT if recorded else ""),
        "adaptive": config.kl.moves,
        "looks_ahead": config.kl.controller == "adaptive",
        "target": config.kl.target,
        "beta": config.kl.coef,
        "schedule": config.ppo.schedule,
        "warmup": config.ppo.warmup_updates,
        "every": config.evaluation.every,
        "num_prompts": config.evaluation.num_prompts,
        "terms": wire_rewards.named(reward_form.term_labels(config.rewards)),
        "judges": wire_rewards.named(reward_form.term_labels(config.judges)),
        "counted": wire_behaviours.named(config),
        "settings": [
            {
                "field": field,
                "label": form.LABELS[field],
                "value": telling.in_words(field, value),
                "unit": form.unit_of(field),
            }
            for field, value in form.flatten(config).items()
            if field in ("model.source", "rewards", "prompts.source", "seed")
            or (field in ("kl.coef", "ppo.learning_rate") and not methods.unused(config.method, field))
            or (field == "judges" and value)
            or (field == "method" and value != "ppo")
        ],
    }


def live_values(config: RunConfig) -> dict[str, Any]:
    """Value of each setting that can be changed now, for the panel "Change while it trains"."""
    return {field: changes.value_of(config, field) for field in changes.live_in(config)}


def event_data(event: Event, forked: bool = False) -> dict[str, Any] | None:
    """An event as the page shows it, of a fork or of another run; None for those that it does not show."""
    shown = {"kind": event.kind, "update": event.update, "message": form.with_labels(event.message)}
    if event.kind == changes.EDIT:
        return {**shown, "field": str(event.data.get("field", "")), "value": event.data.get("value")}
    if event.kind == RESUMED and forked:  # the attempt that makes a fork of it is its second
        if event.attempt == 2 and event.update:
            return None
        event = event.model_copy(update={"attempt": event.attempt - 1})
    if event.kind == RESUMED:
        from_where = f"Resumed from update {event.update}" if event.update else "Started again from the beginning"
        return {**shown, "attempt": event.attempt, "message": f"{from_where} (attempt {event.attempt})."}
    if event.kind == "state":
        return {**shown, "kind": "paused", "message": "Paused"} if event.data.get("state") == "paused" else None
    return shown


def status_data(
    status: Status,
    metrics: Mapping[str, Sequence[Any]],
    outcome: str = "",
    standing: Standing = NOTHING_SPECIAL,
) -> dict[str, Any]:
    """Where the run is. `elapsed` (at work), `left` (from the likely least to the likely most), `silent` and `stopping`
    are seconds; the browser counts on by itself.

    Args:
        standing: what its folder and the queue say beyond the status.
    """
    return {
        **status.model_dump(include={"state", "phase", "reason", "update", "num_updates", "attempt"}),
        **standing._asdict(),
        "message": form.with_labels(status.message),
        "ended": status.ended,
        "end": ending(status),
        "elapsed": round(status.seconds_at_work(time.time()), 1) if status.started_at else 0.0,
        "left": _left(metrics, status),
        "outcome": outcome,
    }


def ending(status: Status) -> dict[str, str] | None:
    """How a run ended, from the one table: title and remedy."""
    if not status.ended:
        return None
    end = end_reasons.end_of("" if status.state == "finished" else status.reason or status.state)
    remedy = end.remedy if end.resumable or not status.resumable else f"{end.remedy} {RAN_BEFORE}"
    return {"title": end.title, "remedy": form.with_labels(remedy)}


def _left(metrics: Mapping[str, Sequence[Any]], status: Status) -> list[float] | None:
    left = seconds_left(metrics.get("update", ()), metrics.get("seconds", ()), status.num_updates)
    return None if left is None or status.state != "running" else [round(seconds, 1) for seconds in left]


def new_columns(terms: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Empty columns; where the score has several terms, one for the contribution of each."""
    parts = [wire_rewards.PARTS + name for name in terms] if len(terms) > 1 else []
    return {name: [] for name in (*COLUMNS, *ESTIMATES, *parts)}


def append(columns: dict[str, list[Any]], record: UpdateMetrics) -> None:
    """Add one update. A repeated update (a run that was taken up again) replaces what came after it."""
    updates = columns["update"]
    while updates and updates[-1] >= record.update:
        for values in columns.values():
            values.pop()
    for name, values in columns.items():
        field, dot, part = name.partition(".")
        found = getattr(record, field)
        values.append(rounded(found.get(part) if dot else found))


def thinned(columns: Mapping[str, Sequence[Any]], limit: int = MAX_POINTS) -> dict[str, list[Any]]:
    """At most `limit` points: of each stretch the one with the highest KL and the one with the lowest score stay."""
    count = len(columns["update"])
    if count <= limit:
        return {name: list(values) for name, values in columns.items()}
    buckets = (limit - 2) // 2
    keep = {0, count - 1}
    for bucket in range(buckets):
        rows = range(bucket * count // buckets, (bucket + 1) * count // buckets)
        keep.add(max(rows, key=lambda row: _or_zero(columns["kl_to_reference"][row])))
        keep.add(min(rows, key=lambda row: _or_zero(columns["score_mean"][row])))
    kept = sorted(keep)
    return {name: [values[row] for row in kept] for name, values in columns.items()}


def moment(samples: Sequence[Sample], *, limit: int = MAX_LIVE_PROMPTS) -> dict[str, Any]:
    """One evaluation: one completion of each of the first prompts, and a summary of all of them."""
    rows: dict[int, Sample] = {}
    for item in samples:
        if item.prompt_id in rows or len(rows) < limit:
            rows.setdefault(item.prompt_id, item)
    return {
        "update": samples[0].update,
        "stage": samples[0].stage,
        "summary": moment_summary(samples),
        "rows": [
            {"id": item.prompt_id, "text": item.completion, "score": rounded(item.score), "kl": rounded(item.kl)}
            for item in rows.values()
        ],
    }


def moment_summary(samples: Sequence[Sample]) -> dict[str, Any]:
    """Means over all completions of one evaluation."""
    terms: dict[str, list[float | None]] = defaultdict(list)
    judges: dict[str, list[float | None]] = defaultdict(list)
    for item in samples:
        for name, value in item.scores.items():
            terms[name].append(value)
        for name, value in item.judges.items():
            judges[name].append(value)
    known_ends = [item.ended for item in samples if item.ended is not None]
    return {
        "count": len(samples),
        "unique": len({item.completion for item in samples}),
        "ended": mean(known_ends),
        "score": mean(item.score for item in samples),
        "kl": mean(item.kl for item in samples),
        "length": mean(item.tokens for item in samples),
        "terms": {name: mean(values) for name, values in terms.items()},
        "judges": {name: mean(values) for name, values in judges.items()},
    }


def prompts(samples: Sequence[Sample], *, limit: int = MAX_LIVE_PROMPTS) -> list[dict[str, Any]]:
    """The fixed prompts in order, one row each."""
    seen: dict[int, str] = {}
    for item in samples:
        if len(seen) < limit:
            seen.setdefault(item.prompt_id, item.prompt)
    return [{"id": key, "text": text} for key, text in seen.items()]


def text_perplexity(evaluations: Iterable[Evaluation]) -> list[dict[str, Any]]:
    """Perplexity on held-out text at each look; the last attempt at an update counts."""
    known = {item.update: item.perplexity_text for item in evaluations if item.perplexity_text is not None}
    return [{"update": update, "value": rounded(value)} for update, value in sorted(known.items())]


def moments(samples: Iterable[Sample]) -> dict[int, list[Sample]]:
    """Samples by the update they were drawn at, in order; the last attempt at an update counts."""
    grouped: dict[int, dict[tuple[int, int], Sample]] = defaultdict(dict)
    for item in samples:
        grouped[item.update][(item.prompt_id, item.seed)] = item
    return {update: list(rows.values()) for update, rows in sorted(grouped.items())}


def _or_zero(value: float | None) -> float:
    return 0.0 if value is None else value
