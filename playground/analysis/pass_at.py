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
    ends = [_marks(samples, update) for update in (updates[0], updates[-1])] if len(updates) > 1 else [{}, {}]
    prompts = sorted(ends[0].keys() & ends[1].keys())
    fewest = min((len(end[prompt]) for end in ends for prompt in prompts), default=0)
    return [_passed(k, *([end[prompt] for prompt in prompts] for end in ends)) for k in KS if k <= fewest]


def rows(found: Sequence[PassAt]) -> list[tuple[str, str, str, str]]:
    """For reading: k, before, now, and the change; each as "67 % (58 to 76)"."""
    return [(f"pass@{item.k}", _per_cent(item.before), _per_cent(item.now), _points(item)) for item in found]


def _points(item: PassAt) -> str:
    bounds = "" if item.low is None or item.high is None else f" ({100 * item.low:+z.0f} to {100 * item.high:+z.0f})"
    return f"{100 * item.change:+z.0f} points{bounds}"


def _per_cent(share: Share) -> str:
    bounds = "" if share.low is None or share.high is None else f" ({100 * share.low:.0f} to {100 * share.high:.0f})"
    return f"{100 * share.mean:.0f} %{bounds}"


def _marks(samples: Sequence[Sample], update: int) -> dict[int, list[float]]:
    """By prompt: 1 for each right answer, 0 for each other."""
    return by_unit((item.prompt_id, item.behaviours.get(RIGHT)) for item in samples if item.update == update)


def _passed(k: int, before: Sequence[Sequence[float]], now: Sequence[Sequence[float]]) -> PassAt:
    chances = [[pass_at(len(marks), int(sum(marks)), k) for marks in end] for end in (before, now)]
    change = interval((new - old for old, new in zip(*chances, strict=True)), span=1.0)
    low, high = (None, None) if change.half is None else (change.low, change.high)
    return PassAt(k, _share(chances[0]), _share(chances[1]), change.mean, low, high)


def _share(chances: Sequence[float]) -> Share:
    of_prompts = interval(chances, span=1.0)
    return Share(of_prompts.mean, *(of_prompts.share_bounds or (None, None)))
