"""Behaviours, rewards and judges in the terminal: what a run has changed in each, texts scored term by term, and the
score against the KL that it cost.

Decides nothing; `printing` and the command `score` call it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from playground.cli.terminal import add_row, console, number, plain
from playground.config import RunConfig
from playground.exports.report import COUNTS, Report
from playground.insight import before_after, judging
from playground.insight.frontier import against_kl
from playground.insight.intervals import Interval
from playground.rewards.mixture import term_names
from playground.runs import frontier_samples
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample

ROLES = {"scores": "trained on", "judges": "only watches"}


def term_rows(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """Each reward and judge before and after, with the paired change in sd and its standard error."""
    joined = before_after.pairs(samples)
    return [
        {**row._asdict(), "role": role, "change": _change(row.change)}
        for source, role in ROLES.items()
        for row in judging.rows(joined, source)
    ]


def _change(found: Interval | None) -> dict[str, Any] | None:
    return {"mean": found.mean, "error": found.error, "num_prompts": found.units} if found else None


def verdicts(config: RunConfig, samples: Sequence[Sample]) -> list[str]:
    """What each held-out judge says of the run so far, as sentences."""
    names = term_names(config.judges)
    signs = {name: -1.0 if judge.weight < 0 else 1.0 for name, judge in zip(names, config.judges, strict=True)}
    found = judging.judged(samples, signs, in_sd=config.score.normalise == "reference")
    if not found.updates:
        return []
    told = {name: f"Judge {name}{' (less is better)' if sign < 0 else ''}" for name, sign in signs.items()}
    return [judging.verdict(found, name, label) for name, label in told.items()]


def print_change(config: RunConfig, samples: Sequence[Sample]) -> None:
    """The table of rewards and judges, where there is more than one, and what the judges say."""
    joined = before_after.pairs(samples)
    found = [(role, row) for source, role in ROLES.items() for row in judging.rows(joined, source)]
    if len(found) > 1:
        table = _table("Reward", "Role", "Before", "After", "Change, own sd", figures_from=2)
        for role, row in found:
            change, words = row.change, "no opinion"
            if change:
                words = f"{number(change.mean, sign=True)} +- {number(change.half)} {row.unit}"
            add_row(table, row.name, role, number(row.before), number(row.after), words)
        console().print(table)
    for sentence in verdicts(config, samples):
        print(plain(sentence))


def print_counts(report: Report) -> None:
    """The table of behaviours, where any is counted."""
    rows = report.counts_told()
    if not rows:
        return
    known = COUNTS if report.verdicts else COUNTS[:-1]
    table = _table(*known, figures_from=1)
    for row in rows:
        add_row(table, *row[: len(known)])
    console().print(table)


def print_scored(texts: Sequence[str], tables: Sequence[Sequence[tuple[str, ...]]], unit: str) -> None:
    """Each text, and below it a table: term, weight, value, value in sd, what it adds."""
    for text, rows in zip(texts, tables, strict=True):
        print(plain(text.strip()))
        table = _table("Term", "Weight", "Value", "In sd", f"Adds, {unit}", figures_from=1)
        for row in rows:
            add_row(table, *row)
        console().print(table)
        print()


def _table(*headings: str, figures_from: int) -> Table:
    table = Table(*headings, box=None, pad_edge=False)
    for column in table.columns[figures_from:]:
        column.justify = "right"
    return table


def score_against_kl(run: RunDirectory, report: Report) -> dict[str, Any]:
    """The looks of a run, and what texts that were drawn for it show to be possible."""
    drawn, beta = frontier_samples.read(run), against_kl.leash(report.config, report.metrics)
    found = against_kl.possible(drawn, beta) if drawn else None
    return against_kl.as_data(against_kl.looks(report.samples, report.events), found)
