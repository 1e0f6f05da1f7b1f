"""The knee: from which update on training no longer pays, and how sure one can be of it. Numbers and words only.

Measured on the fixed prompts, which are the same at every look, random numbers included: two looks in a row share a
part of their noise, which two training batches do not. The knee is the first look from which on the score, over the
whole rest of the run (least squares), rises less than a tenth as fast as at its fastest (of a curve smoothed over three
looks). A slope between two neighbouring looks is mostly noise, so it is the rest as a whole that must be flat, and
certainly flatter than what came before. The page, the command line and the model card call it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playground.insight import frames
from playground.insight.before_after import t95
from playground.runs.folder.records import Sample

if TYPE_CHECKING:
    import pandas as pd

SLOPE_SHARE = 0.1  # of the steepest rise
FEWEST_LOOKS = 5
FEWEST_AFTER = 2  # looks after the knee that must bear it out
RESAMPLES = 300


class Knee(NamedTuple):
    """Where training stops paying.

    `update` is None while there is none. `low` and `high` hold the middle 80 % of the knees that other draws of the
    prompts would give, `certainty` the share of such draws that have one; `gain_share` is how much of the whole gain
    was made by then. `reason` says why there is none: `few looks`, `no gain`, `still rising`, and
    `undecided` where these prompts cannot tell.
    """

    update: int | None
    low: int | None = None
    high: int | None = None
    certainty: float = 0.0
    gain_share: float | None = None
    reason: str = ""


def curve_of(samples: Sequence[Sample]) -> pd.DataFrame:
    """The mean score of each fixed prompt (columns) at every look (rows, by update); prompts that have no score at some
    look are left out, and of several attempts at an update the last one counts."""
    latest = frames.samples(samples).drop_duplicates(["update", "prompt_id", "seed"], keep="last")
    return latest.dropna(subset="score").groupby(["update", "prompt_id"])["score"].mean().unstack().dropna(axis=1)


def knee(samples: Sequence[Sample]) -> Knee:
    """The knee of a run so far."""
    curve = curve_of(samples)
    updates, scores = curve.index.to_numpy(float), curve.to_numpy(float)
    if len(updates) < FEWEST_LOOKS or scores.shape[1] < 2:
        return Knee(None, reason="few looks")
    if not surely_positive(scores[-1] - scores[0]):
        return Knee(None, reason="no gain")
    mean = scores.mean(1)
    generator = np.random.default_rng(0)
    draws = generator.integers(0, scores.shape[1], (RESAMPLES, scores.shape[1]))
    others = positions(updates, scores[:, draws].mean(2).T)
    known = updates[others[others >= 0]]
    found = int(positions(updates, mean[None])[0])
    if found < 0:
        last = slice(-FEWEST_AFTER - 1, None)
        reason = "still rising" if surely_positive(slopes(updates[last], scores[last])) else "undecided"
        return Knee(None, certainty=len(known) / RESAMPLES, reason=reason)
    bend = slopes(updates[: found + 1], scores[: found + 1]) - slopes(updates[found:], scores[found:])
    if not surely_positive(bend):
        return Knee(None, certainty=len(known) / RESAMPLES, reason="undecided")
    low, high = np.quantile(known, [0.1, 0.9], method="nearest") if len(known) else (updates[found], updates[found])
    return Knee(
        update=int(updates[found]),
        low=int(min(low, updates[found])),
        high=int(max(high, updates[found])),
        certainty=len(known) / RESAMPLES,
        gain_share=float((mean[found] - mean[0]) / (mean[-1] - mean[0])),
    )


def knee_sentence(found: Knee) -> str:
    """One line for a person; empty while there is too little to say anything."""
    if found.update is None:
        return {
            "no gain": "No knee: the score on the fixed prompts has not clearly risen.",
            "still rising": "No knee: the score was still rising at the end, so more updates may pay.",
            "undecided": "No knee that can be told from luck on these prompts, nor whether the score still rises.",
        }.get(found.reason, "")
    spread = "" if found.low == found.high else f" (other prompts would say {found.low} to {found.high})"
    share = "" if found.gain_share is None else f", with {_percent(found.gain_share)} of the gain made"
    doubt = "" if found.certainty >= 0.8 else " It is not certain: with other prompts there would often be none."
    return f"Training paid until about update {found.update}{spread}{share}.{doubt}"


def slopes(updates: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least squares slope of each prompt's score [K, P] over updates [K] -> [P]."""
    centred = updates - updates.mean()
    found: NDArray[np.float64] = centred @ scores / (centred @ centred)
    return found


def surely_positive(values: NDArray[np.float64]) -> bool:
    """True where the mean of independent values lies above 0 by more than its 95 % interval."""
    return bool(values.mean() > t95(len(values)) * values.std(ddof=1) / len(values) ** 0.5)


def smoothed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each value of the last axis averaged with its neighbours, 1:2:1; the ends stay, so that the whole gain does."""
    inner = (values[..., :-2] + 2 * values[..., 1:-1] + values[..., 2:]) / 4
    return np.concatenate([values[..., :1], inner, values[..., -1:]], axis=-1)


def positions(updates: NDArray[np.float64], curves: NDArray[np.float64]) -> NDArray[np.int64]:
    """Index of the knee of each curve [R, K] over `updates` [K]; -1 where there is none."""
    rises = np.diff(smoothed(curves)) / np.diff(updates)
    steepest = rises.max(1)
    found = np.full(len(curves), -1)
    for position in range(len(updates) - FEWEST_AFTER - 1, 0, -1):  # the first one counts, so it is written last
        slope = slopes(updates[position:], curves[:, position:].T)
        flat = (steepest > 0) & (slope < SLOPE_SHARE * steepest) & (position > rises.argmax(1))
        found[flat] = position
    return found


def _percent(share: float) -> str:
    return f"{round(100 * min(share, 1.0))} %"
