"""The log of another trainer, judged by the checks of our own runs as far as its columns allow. `logs.toml` has their
names in each trainer's log, and what each check needs. What is lit says that a rule holds in the log, and where that
rule has been seen to be right: no more than docs/diagnosis.md has measured. Nothing is offered to try, for remedies
were tested on our own runs."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from playground.analysis.diagnosis import ORDER, WORDS, alert, learning_checks, machinery_checks
from playground.analysis.diagnosis.alert import Alert, Check
from playground.analysis.diagnosis.run_records import NotMeasured, Records, Thresholds
from playground.config import RunConfig, SentimentReward
from playground.errors import InvalidConfig, Problem
from playground.imports import log_columns
from playground.imports.log_columns import FIGURES, FORMATS, TABLES
from playground.imports.log_files import Row, rows
from playground.runs.folder.records import UpdateMetrics
from playground.setup.describe import count_of

PLAIN: dict[str, Check] = {  # of one figure of a log by itself
    "kl-runaway": learning_checks.kl_large,
    "entropy-gone": learning_checks.entropy_fell,
    "value-fit": machinery_checks.value_fit,
}
NAMED = 12  # columns, or steps, of a log that a sentence lists
TEXT, NOTHING = "text in the place of a number", "none of the figures that are known"
NOT_FINITE = "figures that are not finite (NaN or infinite) or too large"


class ForeignLog(NamedTuple):
    """A log as our figures. `columns`: our figure -> the column, or columns, that it comes from. `left_out`: how many
    rows have no figure that can be read. `not_finite`: of any column, the steps at which it is NaN or infinite."""

    label: str
    columns: dict[str, str]
    metrics: list[UpdateMetrics]
    notes: list[str]
    left_out: int
    not_finite: dict[str, list[int]]


class ForeignAlert(NamedTuple):
    """A check of a log. `measured`: in which runs of known cause it has been lit; "" where it is not lit."""

    alert: Alert
    measured: str = ""

    def as_data(self) -> dict[str, Any]:
        """As plain data."""
        return {**self.alert.as_data(), "measured": self.measured}


def read(path: Path, columns: Sequence[str] = ()) -> ForeignLog:
    """A log with its figures found. `columns`: `ours=theirs`, before the known names; `run=NAME` chooses a run.

    Raises:
        InvalidConfig: it cannot be read, none of its columns is known, or `columns` names none.
    """
    pairs = [pair.strip() for text in columns for pair in text.split(",") if pair.strip()]
    run = next((pair[4:].strip() for pair in pairs if pair.startswith("run=")), "")
    log_rows, notes_on_file = rows(path, run)
    names = {name for _, row in log_rows for name, value in row.items() if value is not None}
    own = _named_columns([pair for pair in pairs if not pair.startswith("run=")], names)
    label, chosen, notes = log_columns.known(names, own)
    if not chosen:
        message = (
            f"No column of this log is known ({_listed(names)}). Say which is which, for example --columns "
            f"clip_fraction=NAME. Ours are the figures of docs/definitions.md."
        )
        raise InvalidConfig([Problem("", message)])
    reasons = [_why_left_out(row, chosen.values()) for _, row in log_rows]
    metrics = [
        log_columns.update(step, row, chosen) for (step, row), why in zip(log_rows, reasons, strict=True) if not why
    ]
    notes += [*_left_out(reasons), *_spacing(metrics), *notes_on_file]
    if run:
        notes.append(f"Of the run {run}.")
    return ForeignLog(label, chosen, metrics, notes, sum(map(bool, reasons)), _not_finite(log_rows))


def judged(log: ForeignLog, thresholds: Thresholds) -> list[ForeignAlert]:
    """Every check, those that are lit first."""
    groups = "groups_same_score" in log.columns
    reward = (SentimentReward(),)
    config = RunConfig(rewards=reward, method="grpo") if groups else RunConfig(rewards=reward)
    records = Records(config, log.metrics, at=thresholds)
    alerts = [_judged(name, records, log.columns) for name in WORDS]
    if log.not_finite:
        alerts.append(_of_not_finite(log.not_finite))
    return sorted(alerts, key=lambda foreign: ORDER[foreign.alert.state])


def _judged(name: str, records: Records, columns: Mapping[str, str]) -> ForeignAlert:
    rule = WORDS[name]["rule"].format(at=records.at)

    def not_measured(why: str) -> ForeignAlert:
        return ForeignAlert(Alert(name, WORDS[name]["label"], "not measured", rule, [], why))

    if name in TABLES["never"]:
        return not_measured(f"It needs more than a log has: {TABLES['never'][name]}.")
    needs, runs = TABLES["judged"][name]["needs"], TABLES["judged"][name]["seen"]
    missing = [figure for figure in needs if figure not in columns]
    plain = TABLES["plain"].get(name)
    if missing and plain and columns.keys() >= {*plain["needs"]}:
        return _plainly(name, plain, records, columns)
    if missing:
        return not_measured(f"Missing: {'; '.join(map(_elsewhere, missing))}.")
    result = alert(name, records)._replace(remedies=())
    if not result.lit:
        return ForeignAlert(result)
    where = "never lit on all seeds of a run of known cause"
    if runs:
        where = f"lit on all seeds of {' and '.join(runs)}"
    return ForeignAlert(result, f"In this project's own runs: {where}.")


def _plainly(name: str, words: Mapping[str, Any], records: Records, columns: Mapping[str, str]) -> ForeignAlert:
    """What one figure says by itself."""
    label, rule = words["label"], words["rule"].format(at=records.at)
    try:
        check = PLAIN[name](records)
    except NotMeasured as why:
        return ForeignAlert(Alert(name, label, "not measured", rule, [], str(why)))
    evidence = f"{columns[words['needs'][0]]}: {check.evidence}"
    if check.state == "quiet":
        return ForeignAlert(Alert(name, label, "quiet", rule, [], evidence))
    lit = Alert(name, label, "amber", rule, check.updates, evidence, words["cause"])
    return ForeignAlert(lit, "How often this bound is right was not measured.")


def _elsewhere(figure: str) -> str:
    """A figure, and how the trainers that log it call it."""
    tables = [table for table in FORMATS.values() if figure in table]
    names = [f"{table['label']}: {table[figure][0]}" for table in tables]
    return f"`{figure}` ({'; '.join(names) or 'no trainer known here logs it'})"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)[:NAMED])


def _named_columns(pairs: Sequence[str], names: set[str]) -> dict[str, str]:
    """`--columns a=b,c=d`. Raises: InvalidConfig, every problem at once."""
    columns, problems = {}, []
    for pair in pairs:
        ours, equals, column = (part.strip() for part in pair.partition("="))
        problem = ""
        if not equals or ours not in FIGURES:
            problem = f"Write ours=theirs, with a figure of docs/definitions.md (got {pair[:60]!r})."
        elif not names.issuperset(log_columns.parts(column)):
            problem = f"The log has no column {column[:60]!r}. It has: {_listed(names)}."
        if problem:
            problems.append(Problem("columns", problem))
        columns[ours] = column
    if problems:
        raise InvalidConfig(problems)
    return columns


def _why_left_out(row: Row, columns: Iterable[str]) -> str:
    """Why a row has no figure; "" where it has one."""
    parts: set[str] = set()
    for column in columns:
        if log_columns.value(row, column) is not None:
            return ""
        parts.update(log_columns.parts(column))
    values = [row[part] for part in parts & row.keys()]
    if None in values:
        return TEXT
    return NOT_FINITE if values else NOTHING


def _left_out(reasons: Sequence[str]) -> list[str]:
    """How many rows of a log are left out, and why."""
    counts = Counter(filter(None, reasons))
    if not counts:
        return []
    words = "; ".join(f"{count:,} {'has' if count == 1 else 'have'} {why}" for why, count in counts.most_common())
    return [f"{counts.total():,} of {len(reasons):,} rows left out: {words}."]


def _not_finite(log_rows: Sequence[tuple[int, Row]]) -> dict[str, list[int]]:
    steps: dict[str, list[int]] = {}
    for step, row in log_rows:
        for name, value in row.items():
            if value is not None and not math.isfinite(value):
                steps.setdefault(name, []).append(step)
    return steps


def _of_not_finite(steps: Mapping[str, Sequence[int]]) -> ForeignAlert:
    """A check that only logs have: in our own records every figure is finite."""
    names = sorted(steps, key=lambda name: -len(steps[name]))
    evidence = []
    for name in names[:NAMED]:
        evidence.append(f"{name} at {count_of(len(steps[name]), 'step')}, first at {min(steps[name])}")
    if len(names) > NAMED:
        evidence.append(f"and {len(names) - NAMED} more columns")
    text = f"{'; '.join(evidence)}."
    words, updates = TABLES["not-finite"], sorted({*itertools.chain(*steps.values())})
    lit = Alert("not-finite", words["label"], "amber", words["rule"], updates[-NAMED:], text, words["cause"])
    return ForeignAlert(lit, words["measured"])


def _spacing(metrics: Sequence[UpdateMetrics]) -> list[str]:
    gaps = sorted(after.update - before.update for before, after in itertools.pairwise(metrics))
    if not gaps or (middle := gaps[len(gaps) // 2]) <= 1:
        return []
    return [f"The rows are {middle} steps apart: three of the newest five rows are a trend over {5 * middle} steps."]
