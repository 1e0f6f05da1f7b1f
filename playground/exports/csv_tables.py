"""The figures of a run as tables: one of updates, one of samples, both also under the names that TRL gives them.

Text only. The page hands the tables out; the command line writes them; the trackers take their rows from here.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import Any
from unicodedata import category

from playground.config import RunConfig
from playground.runs.folder.records import Evaluation, Event, Record, Sample, UpdateMetrics
from playground.runs.steer import changes

NESTED = ("terms", "contributions", "kl_estimates")  # fields with a figure for each name
BY_NAME = ("scores", "judges")  # the same of a sample
FORMULA = "=+-@\uff1d\uff0b\uff0d\uff20"  # what a spreadsheet takes for the start of one
UNSEEN = ("C", "Z")  # first letters of the Unicode categories of what it may pass over: controls, marks, spaces


def trl_figures(record: UpdateMetrics, config: RunConfig) -> dict[str, float | None]:
    """One update under the names of TRL's PPOTrainer, in TRL's units where they differ from ours.

    TRL's objective/entropy is the negative log-prob of a whole completion: that of the reference (its perplexity) less
    the KL. Its approxkl is another estimate of the same update KL. Figures that we do not keep are left out.
    """
    kl, tokens = record.kl_to_reference, record.completion_length
    entropy = None
    if record.perplexity_reference and kl is not None:
        entropy = math.log(record.perplexity_reference) * tokens - kl
    return {
        "objective/kl": kl,
        "objective/entropy": entropy,
        "objective/non_score_reward": None if kl is None else -record.kl_coef * kl,
        "objective/rlhf_reward": record.penalised_reward,
        "objective/scores": record.score_mean,
        "policy/approxkl_avg": record.update_kl,
        "policy/clipfrac_avg": record.clip_fraction,
        "loss/policy_avg": record.policy_loss,
        "loss/value_avg": record.value_loss,
        "val/ratio": record.ratio_mean,
        "val/num_eos_tokens": round(record.eos_fraction * config.ppo.batch_size),
        "lr": record.learning_rate,
        "episode": record.episodes,
    }


def metrics_csv(
    config: RunConfig,
    metrics: Sequence[UpdateMetrics],
    events: Iterable[Event],
    evaluations: Sequence[Evaluation] = (),
) -> str:
    """One row for each update: our figures, then TRL's names, then what was measured at that update's look.

    The last column says which settings were changed between the row before it and it.
    """
    parts = _names(metrics, NESTED)
    columns = [name for name in UpdateMetrics.model_fields if name not in NESTED]
    text = {item.update: item.perplexity_text for item in evaluations}
    edits = [event for event in events if event.kind == changes.EDIT]
    trl = list(trl_figures(metrics[0], config)) if metrics else []
    heads = [*columns, *(f"{field}.{plain(name)}" for field, name in parts)]
    rows = []
    previous = -1
    for record in metrics:
        changed = [event.message for event in edits if previous <= event.update < record.update]
        rows.append(
            [
                *[getattr(record, name) for name in columns],
                *[getattr(record, field).get(name) for field, name in parts],
                *trl_figures(record, config).values(),
                *([text.get(record.update)] if text else []),
                plain("; ".join(changed)),
            ]
        )
        previous = record.update
    return _csv([*heads, *trl, *(["perplexity_text"] if text else []), "changed_before"], rows)


def samples_csv(samples: Sequence[Sample]) -> str:
    """One row for each completion of a fixed prompt, in the order they were written."""
    parts = _names(samples, BY_NAME)
    columns = [name for name in Sample.model_fields if name not in BY_NAME]
    rows = [
        [*[_cell(getattr(item, name)) for name in columns], *[getattr(item, field).get(name) for field, name in parts]]
        for item in samples
    ]
    return _csv([*columns, *(f"{field}.{plain(name)}" for field, name in parts)], rows)


def history(config: RunConfig, metrics: Sequence[UpdateMetrics]) -> list[tuple[int, dict[str, float]]]:
    """(update, figures by name) for trackers: ours under `playground/`, TRL's under their own names; gaps left out."""
    found = []
    for record in metrics:
        ours = record.model_dump(exclude={"update", *NESTED})
        ours |= {f"{field}/{name}": getattr(record, field)[name] for field, name in _names([record], NESTED)}
        figures = {f"playground/{name}": value for name, value in ours.items()} | trl_figures(record, config)
        found.append((record.update, {name: float(value) for name, value in figures.items() if value is not None}))
    return found


def plain(text: str) -> str:
    """Words without what a spreadsheet could take for a formula."""
    while (shown := _seen(text))[:1] and shown[0] in FORMULA:
        text = shown[1:]
    return shown


def _seen(text: str) -> str:
    """The text from its first character on that can be seen."""
    return text[next((place for place, letter in enumerate(text) if category(letter)[0] not in UNSEEN), len(text)) :]


def _names(records: Sequence[Record], fields: Sequence[str]) -> list[tuple[str, str]]:
    """(field, name) of every figure that any record has, in the order in which they first occur."""
    return [
        (field, name)
        for field in fields
        for name in dict.fromkeys(key for item in records for key in getattr(item, field))
    ]


def _cell(value: Any) -> Any:
    """A text that begins like a formula gets an apostrophe, which spreadsheets take for "this is text"."""
    if not isinstance(value, str):
        return value
    shown = _seen(value)
    strange = shown != value.lstrip(" \n")  # a tab, a NUL, a mark without width: what follows may be the start
    return f"'{value}" if strange or shown[:1] in tuple(FORMULA) else value


def _csv(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(heads)
    writer.writerows(rows)
    return buffer.getvalue()
