"""pass@k: the chance that at least one of k answers to a prompt is right, before training and now, over the fixed
prompts. Where training lifts it for one answer and not for many, the model has become surer of what it could do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from playground.analysis.intervals import by_unit, interval
from playground.rewards.verify import RIGHT
from playground.runs.folder.records import Sample

KS = (1, 2, 4, 8, 16)


class Share(NamedTuple):
    """A share of prompts and its 95 % interval over prompts (Student's t); without one where all are alike."""

    mean: float
    low: float | None
    high: float | None


class PassAt(NamedTuple):
    """pass@k before and now; `low` and `high` bound the `change`, prompt by prompt, where it is known."""

    k: int
    before: Share
    now: Share
    change: float
    low: float | None
    high: float | None


def pass_at(answers: int, right: int, k: int) -> float:
    """The chance that k of so many answers, drawn without putting back, hold a right one: 1 - C(n - c, k) / C(n, k),
    unbiased for any k up to n (Chen et al. 2021, equation 1)."""
    return 1 - math.comb(answers - right, k) / math.comb(answers, k)


def passes(samples: Sequence[Sample]) -> list[PassAt]:
    """For each k up to the answers of a prompt; empty where no answers were checked, or only once."""
    updates = sorted({sample.update for sample in samples})
    if len(updates) < 2:
        return []
    first = _marks(samples, updates[0])
    last = _marks(samples, updates[-1])
    prompts = sorted(first.keys() & last.keys())
    if not prompts:
        return []
    before = [first[prompt] for prompt in prompts]
    now = [last[prompt] for prompt in prompts]
    fewest = min(map(len, [*before, *now]))
    return [_passed(k, before, now) for k in KS if k <= fewest]


def rows(figures: Sequence[PassAt]) -> list[tuple[str, str, str, str]]:
    """For reading: k, before, now, and the change; each as "67 % (58 to 76)"."""
    table = []
    for figure in figures:
        name = f"pass@{figure.k}"
        table.append((name, _per_cent(figure.before), _per_cent(figure.now), _points(figure)))
    return table


def _points(item: PassAt) -> str:
    return f"{100 * item.change:+z.0f} points{_bounds(item, '+z.0f')}"


def _per_cent(share: Share) -> str:
    return f"{100 * share.mean:.0f} %{_bounds(share, '.0f')}"


def _bounds(item: PassAt | Share, form: str) -> str:
    """In parentheses, where they are known."""
    if item.low is None or item.high is None:
        return ""
    return f" ({100 * item.low:{form}} to {100 * item.high:{form}})"


def _marks(samples: Sequence[Sample], update: int) -> dict[int, list[float]]:
    """By prompt: 1 for each right answer, 0 for each other."""
    return by_unit((item.prompt_id, item.behaviours.get(RIGHT)) for item in samples if item.update == update)


def _passed(k: int, before: Sequence[Sequence[float]], now: Sequence[Sequence[float]]) -> PassAt:
    chances = [[pass_at(len(marks), int(sum(marks)), k) for marks in end] for end in (before, now)]
    change = interval((new - old for old, new in zip(*chances, strict=True)), span=1.0)
    return PassAt(k, _share(chances[0]), _share(chances[1]), change.mean, *change.bounds)


def _share(chances: Sequence[float]) -> Share:
    of_prompts = interval(chances, span=1.0)
    return Share(of_prompts.mean, *(of_prompts.share_bounds or (None, None)))
