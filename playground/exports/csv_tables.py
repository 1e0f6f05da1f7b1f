"""The figures of a run as tables of updates, samples and behaviours, also under the names that TRL gives them."""

from __future__ import annotations

import math
from itertools import dropwhile
from typing import TYPE_CHECKING

from playground.analysis import frames
from playground.analysis.run_report import RunReport
from playground.config import RunConfig
from playground.runs.folder import changes
from playground.runs.folder.records import UpdateMetrics

if TYPE_CHECKING:
    import pandas as pd

FORMULA = "=+-@\uff1d\uff0b\uff0d\uff20"  # what a spreadsheet takes for the start of one


def trl_figures(record: UpdateMetrics, config: RunConfig) -> dict[str, float | None]:
    """One update under the names and in the units of TRL's PPOTrainer. Its objective/entropy is the negative log-prob
    of a whole completion: that of the reference (its perplexity) less the KL."""
    kl, tokens = record.kl_to_reference, record.completion_length
    entropy = None
    if record.perplexity_reference and kl is not None and tokens is not None:
        entropy = math.log(record.perplexity_reference) * tokens - kl
    return {
        "objective/kl": kl,
        "objective/entropy": entropy,
        "objective/non_score_reward": None if kl is None or record.kl_coef is None else -record.kl_coef * kl,
        "objective/rlhf_reward": record.penalised_reward,
        "objective/scores": record.score_mean,
        "policy/approxkl_avg": record.update_kl,
        "policy/clipfrac_avg": record.clip_fraction,
        "loss/policy_avg": record.policy_loss,
        "loss/value_avg": record.value_loss,
        "val/ratio": record.ratio_mean,
        "val/num_eos_tokens": _ended(record, config),
        "lr": record.learning_rate,
        "episode": record.episodes,
    }


def _ended(record: UpdateMetrics, config: RunConfig) -> int | None:
    """How many texts of the batch ended by themselves."""
    if record.eos_fraction is None or not config.reads("ppo.batch_size"):
        return None
    return round(record.eos_fraction * config.ppo.batch_size)


def metrics_csv(report: RunReport) -> str:
    """One row for each update: our figures, then TRL's names, then what the evaluation at that update measured, and
    which settings were changed between the row before it and it."""
    table = frames.metrics(report.metrics).rename(columns=_head)
    trl = [trl_figures(record, report.config) for record in report.metrics]
    if trl:
        for name in trl[0]:
            table[name] = [figures[name] for figures in trl]
    if text := {item.update: item.perplexity_text for item in report.evaluations}:
        table["perplexity_text"] = table["update"].map(text)
    edits = [event for event in report.events if event.kind == changes.EDIT]
    before = [-1, *table["update"]]
    table["changed_before"] = [
        plain("; ".join(event.message for event in edits if previous <= event.update < update))
        for previous, update in zip(before, table["update"], strict=False)
    ]
    return _written(table, report)


def samples_csv(report: RunReport) -> str:
    """One row for each completion of a fixed prompt, in the order they were written."""
    table = frames.samples(report.samples).rename(columns=_head)
    for name in ("prompt", "completion"):
        table[name] = table[name].map(_cell)
    return _written(table, report)


def behaviours_csv(report: RunReport) -> str:
    """One row for each behaviour at each evaluation; `low` and `high` bound the share, at 95 %."""
    table = frames.shares(report.behaviours)
    table["words"] = table["words"].map(_cell)
    return _written(table.reset_index(), report)


def history(report: RunReport) -> dict[int, dict[str, float]]:
    """By update the figures for trackers: ours under `playground/`, TRL's under their own names; gaps left out."""
    found = {}
    for record, ours in zip(report.metrics, frames.metrics(report.metrics).to_dict("records"), strict=True):
        named = {f"playground/{name.replace('.', '/', 1)}": value for name, value in ours.items() if name != "update"}
        named |= trl_figures(record, report.config)
        known = {name: value for name, value in named.items() if value is not None}
        found[record.update] = {name: float(value) for name, value in known.items() if not math.isnan(value)}
    return found


def _written(table: pd.DataFrame, report: RunReport) -> str:
    """As CSV. A run that is wrong on purpose says so in every row: a row may be all that is copied."""
    if report.wrong_on_purpose:
        table["wrong_on_purpose"] = report.wrong_on_purpose
    return str(table.to_csv(index=False, lineterminator="\r\n"))


def safe_csv(table: pd.DataFrame) -> str:
    """As CSV, with what a user has written, in cells or headings, as text."""
    import pandas as pd

    told = table.map(lambda value: _cell(str(value)) if isinstance(value, (str, list, dict)) else value)
    return str(pd.DataFrame(told).rename(columns=_head).to_csv(index=False, lineterminator="\r\n"))


def plain(text: str) -> str:
    """Words without what a spreadsheet could take for a formula."""
    return _without(text, f" {FORMULA}")


def _without(text: str, begins: str) -> str:
    """The text without these characters at its beginning, nor those that a spreadsheet may pass over unseen."""
    return "".join(dropwhile(lambda letter: letter in begins or not letter.isprintable(), text))


def _head(column: str) -> str:
    """The name of a column; what follows the dot is the name of a reward, which a user may have written."""
    field, dot, name = column.partition(".")
    return f"{field}{dot}{plain(name)}"


def _cell(text: str) -> str:
    """A text that begins like a formula gets an apostrophe, which spreadsheets take for "this is text"."""
    shown = _without(text, " ")
    strange = shown != text.lstrip(" \n")  # a tab, a NUL, a mark without width: what follows may be the start
    if strange or shown[:1] in tuple(FORMULA):
        return f"'{text}"
    return text
