"""The plateau: the first evaluation of the fixed prompts at which the 95 % interval of what was still to come, (last -
this) / (last - first), lies below a tenth (Fieller 1954, paired over the prompts). Where none is that certain, the one
by which half of the gain had come is named instead; and none where the score has been clearly above the last (95 % for
all looks together, Bonferroni), or fell clearly after it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playground.analysis import frames
from playground.analysis.intervals import of_prompts
from playground.rewards.agreement import students_t
from playground.runs.folder.records import Sample

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

LEFT = 0.1  # of the whole gain; with less to come it has begun
FEWEST_EVALUATIONS = 5
FEWEST_AFTER = 2  # evaluations after its beginning that must bear it out


class Plateau(NamedTuple):
    """After which update training hardly paid, and the most that was still to come then, as a share of the gain. `half`
    is the first evaluation by which half of the gain had come, between `half_low` and `half_high` (95 %). `reason` says
    why there is none: `few evaluations`, `no gain`, `swings`, `still rising`, `undecided`, or `a dial` of steering."""

    update: int | None
    left: float | None = None
    half: int | None = None
    half_low: int | None = None
    half_high: int | None = None
    reason: str = ""


def curve_of(samples: Sequence[Sample]) -> pd.DataFrame:
    """The score of each answer to the fixed prompts (columns, by prompt and seed) at every evaluation (rows, by
    update); answers that have no score at one of them are left out."""
    scored = frames.latest(samples).dropna(subset="score")
    return scored.pivot_table("score", "update", ["prompt_id", "seed"]).dropna(axis=1)


def plateau(samples: Sequence[Sample], method: str = "ppo") -> Plateau:
    """That of a run so far."""
    if method == "steer":
        return Plateau(None, reason="a dial")
    curve = curve_of(samples)
    updates, scores = [int(update) for update in curve.index], curve.to_numpy(float)
    if len(updates) < FEWEST_EVALUATIONS or scores.shape[1] < 2:
        return Plateau(None, reason="few evaluations")
    prompts = curve.columns.get_level_values("prompt_id").to_numpy()
    span = float(scores.max() - scores.min())

    def surely_positive(values: Array, looks: int = 1) -> bool:
        return lies_above(values, span, prompts, looks)

    gains, gain = scores - scores[0], scores[-1] - scores[0]
    if not surely_positive(gain):
        return Plateau(None, reason="no gain")
    if any(surely_positive(score - scores[-1], len(scores) - 1) for score in scores[1:-1]):
        return Plateau(None, reason="swings")
    half = int((gains.mean(1) >= gain.mean() / 2).argmax())
    low = next(row for row, gain_then in enumerate(gains) if not surely_positive(gain / 2 - gain_then))
    high = next((row for row, gain_then in enumerate(gains) if surely_positive(gain_then - gain / 2)), len(gains) - 1)
    halves = updates[half], updates[low], updates[high]
    for row, score in list(enumerate(scores))[1:-FEWEST_AFTER]:
        to_come, later = scores[-1] - score, scores[row + 1 :]
        fell = any(surely_positive(score - after, len(later)) for after in later)
        if not fell and surely_positive(LEFT * gain - to_come):
            return Plateau(updates[row], most_left(to_come, gain, surely_positive), *halves)
    last = np.array(updates[-FEWEST_AFTER - 1 :]) - np.mean(updates[-FEWEST_AFTER - 1 :])
    slopes = last @ scores[-FEWEST_AFTER - 1 :] / (last @ last)  # least squares, of each prompt
    return Plateau(None, None, *halves, "still rising" if surely_positive(slopes) else "undecided")


def plateau_sentence(plateau: Plateau) -> str:
    """One line for a person; empty while there is too little to say anything."""
    if plateau.update is not None and plateau.left is not None:
        left = "nothing"
        if plateau.left > 0:
            left = f"at most {math.ceil(100 * plateau.left)} %"
        return f"Training paid until about update {plateau.update}: {left} of the gain came after it (95 % confidence)."
    if plateau.reason == "no gain":
        return "No plateau: the score on the fixed prompts has not clearly risen."
    if plateau.reason == "swings":
        return "No plateau: the score on the fixed prompts rose and fell, by more than chance."
    if plateau.half is None:
        return ""
    spread = ""
    if plateau.half_low != plateau.half_high:
        spread = f" (95 % interval {plateau.half_low} to {plateau.half_high})"
    rising = ", and the score was still rising at the end" if plateau.reason == "still rising" else ""
    return f"No clear plateau: half of the gain came by update {plateau.half}{spread}{rising}."


def most_left(to_come: Array, gain: Array, surely_positive: Callable[[Array], bool]) -> float:
    """The upper end of Fieller's interval of mean(to_come) / mean(gain), which is below `LEFT`; 0 for what is less."""
    low, high = 0.0, LEFT
    while high - low > 1e-4:
        middle = (low + high) / 2
        if surely_positive(middle * gain - to_come):
            high = middle
        else:
            low = middle
    if surely_positive(-to_come):
        return 0.0
    return high


def lies_above(values: Array, span: float, prompts: NDArray[np.int64], looks: int = 1) -> bool:
    """True where the mean of answers lies above 0 by more than its 95 % interval, of all `looks` together. `prompts`:
    that of each answer; `span` as there."""
    groups: dict[int, list[float]] = defaultdict(list)
    for prompt, value in zip(prompts.tolist(), values.tolist(), strict=True):
        groups[prompt].append(value)
    mean = of_prompts(groups.values(), span)
    if looks == 1:
        return mean.low > 0
    return mean.mean > students_t(NormalDist().inv_cdf(1 - 0.025 / looks), mean.units - 1) * mean.error
