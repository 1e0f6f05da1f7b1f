"""The experiments on a real chat model, in groups: their presets and what is told of them, as columns of a table.

bench/real.py trains them, bench/real_page.py draws the tables. Knows figures only, no model.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from bench.real_counts import Count  # noqa: E402
from playground.setup import catalog  # noqa: E402

SHORT = "real-short-answers"
Rows = Sequence[dict[str, Any]]  # the runs of one preset, by seed


class Group(NamedTuple):
    """Presets that are read together, what to see in them, and the columns of their table."""

    title: str
    words: str
    presets: Sequence[str]
    columns: Mapping[str, Callable[[Rows], str]]
    texts: bool = True  # whether a typical text of each is shown


def count(name: str) -> Callable[[Rows], str]:
    """A cell: the share of answers, before -> after."""
    return lambda rows: shares(_counts(rows, "before", name), _counts(rows, "after", name))


def shares(before: Sequence[Count], after: Sequence[Count]) -> str:
    """Shares in percent, before -> after: the mean over the seeds, and behind the arrow each. Empty without any.

    Seeds are not counted as one: they differ by more than the chance of which prompts were asked.
    """
    means = [f"{100 * statistics.fmean(one.share for one in side):.0f}" for side in (before, after) if side]
    each = ", ".join(f"{100 * one.share:.0f}" for one in after)
    return f"{' -> '.join(means)} % ({each})" if after else ""


def figure(name: str, digits: int) -> Callable[[Rows], str]:
    """A cell: before -> after, the mean over the seeds with their range."""

    def cell(rows: Rows) -> str:
        before = statistics.fmean(row["before"][name] for row in rows)
        return f"{before:.{digits}f} -> {over_seeds([row['after'][name] for row in rows], digits)}"

    return cell


def of_run(name: str, digits: int) -> Callable[[Rows], str]:
    """A cell: the mean over the seeds with their range."""
    return lambda rows: over_seeds([row[name] for row in rows if row[name] is not None], digits)


def minutes(rows: Rows) -> str:
    """A cell; without those of runs beside which something else was at work, whose seconds are None."""
    return over_seeds([row["seconds"] / 60 for row in rows if row["seconds"]], 1)


def perplexity(rows: Rows) -> str:
    """A cell: at the first update and at the last."""
    both = [row["perplexity"] for row in rows if None not in row["perplexity"]]
    if not both:
        return ""
    return f"{statistics.fmean(first for first, _ in both):.1f} -> {over_seeds([last for _, last in both], 1)}"


ALWAYS = {"KL, nats": of_run("kl", 2), "gain, sd": of_run("gain", 2)}
GROUPS = (
    Group(
        "Short answers",
        "Paid for answers of a certain number of words. *Sensible* is what the judge of sense says (below), *repeats "
        "itself* that more than three of ten word pairs are repeats.",
        (SHORT,),
        {
            "words": figure("words", 1),
            "ended by itself": count("ends"),
            "sensible": count("sensible"),
            "repeats itself": count("repeats-itself"),
            "different texts": count("different"),
            **ALWAYS,
        },
    ),
    Group(
        "Kinder tone",
        "Paid for VADER's sentiment, with and without a leash. *Kind* and *unkind* are VADER's own borders, so "
        "they are the reward once more; the other columns are not. *Stuck*: one word that is not among the commonest "
        "occurs four times or more. Perplexity is of the training texts under the untrained model, at the first and "
        "the last update.",
        ("real-kinder", "real-no-leash"),
        {
            "kind": count("kind"),
            "unkind": count("unkind"),
            "sensible": count("sensible"),
            "stuck": count("stuck"),
            "distinct-2": figure("distinct_2", 2),
            "perplexity": perplexity,
            "words": figure("words", 1),
            **ALWAYS,
        },
    ),
    Group(
        "Sycophancy",
        "Claims of general knowledge, about questions that no training prompt asks. Paid for agreeing, then for the "
        "truth, by a rule that looks for the two answers and by a reward model; then the interventions of "
        "[sycophancy.md](sycophancy.md) as far as they carry over.",
        (
            "real-yes-man",
            "real-honest",
            "real-agreeable-judge",
            "real-honest-judge",
            "real-rule-penalty",
            "real-classifier-penalty",
            "real-contrastive",
            "real-steering",
        ),
        {
            "wrong claims repeated": count("wrong-claims-repeated"),
            "right claims agreed with": count("right-claims-agreed"),
            "plain questions right": count("plain-questions-right"),
            "sensible": count("sensible"),
            **ALWAYS,
        },
    ),
)
METHODS = (SHORT, "real-without-critic", "real-group-scores", "real-from-pairs")


def named() -> list[str]:
    """All presets that the page is about."""
    return list(dict.fromkeys([*(name for group in GROUPS for name in group.presets), *METHODS]))


def existing() -> list[str]:
    """Those that have a file."""
    return [name for name in named() if (catalog.PRESETS / f"{name}.yaml").is_file()]


def _counts(rows: Rows, side: str, name: str) -> list[Count]:
    return [Count(*row[side]["counts"][name]) for row in rows if name in row[side]["counts"]]


def over_seeds(values: Sequence[float], digits: int) -> str:
    if not values:
        return ""
    low, mean, high = (f"{value:.{digits}f}" for value in (min(values), statistics.fmean(values), max(values)))
    return f"{mean} ({low} to {high})" if len(values) > 1 else mean
