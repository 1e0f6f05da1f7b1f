"""Before and after on the same prompts with the same random numbers: pairs, gains and how sure one can be of them.

Source of the pairing: common random numbers; a pair is one (prompt_id, seed). The interval treats prompts, not
samples, as the independent units. The page, the command line and docs tables call it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from playground.insight import frames
from playground.runs.folder.records import Sample

Z95 = 1.96  # two-sided 95 % of a normal distribution
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)  # of Student's t with 1 to 10 degrees


def t95(count: int) -> float:
    """Two-sided 95 % of Student's t for the mean of `count` values, 2 or more; above 11 by its series in 1 / degrees
    (Fisher 1926), within 0.003."""
    degrees = count - 1
    if degrees <= len(T95):
        return T95[max(degrees, 1) - 1]
    return Z95 + (Z95**3 + Z95) / (4 * degrees) + (5 * Z95**5 + 16 * Z95**3 + 3 * Z95) / (96 * degrees**2)


class Pair(NamedTuple):
    """One fixed prompt and random seed, answered before and after."""

    before: Sample
    after: Sample

    @property
    def gain(self) -> float | None:
        """After minus before, in the units of the score; None when either side has no score."""
        if self.before.score is None or self.after.score is None:
            return None
        return self.after.score - self.before.score


class Outcome(NamedTuple):
    """A run in numbers. `low` and `high` bound the mean gain with 95 % confidence, as do those of the KL, in nats per
    completion."""

    num_prompts: int
    samples_per_prompt: int
    score_before: float
    score_after: float
    gain: float
    low: float
    high: float
    kl: float
    kl_low: float
    kl_high: float
    unique_after: int
    ended_after: float
    length_before: float
    length_after: float


def pairs(samples: Sequence[Sample], update: int | None = None) -> list[Pair]:
    """Join the samples before training with those of a later moment on (prompt_id, seed).

    Args:
        update: which moment; by default the newest one with samples.
    """
    before = {(item.prompt_id, item.seed): item for item in samples if item.stage == "before"}
    later = [item for item in samples if item.stage != "before"]
    if update is None:
        update = max((item.update for item in later), default=0)
    after = {(item.prompt_id, item.seed): item for item in later if item.update == update}
    return [Pair(before[key], after[key]) for key in before if key in after]


def outcome(joined: Sequence[Pair]) -> Outcome | None:
    """Summary of the pairs, or None when there is nothing to compare."""
    before, after = (frames.samples([pair[side] for pair in joined]) for side in (0, 1))
    by_prompt = (after["score"] - before["score"]).groupby(before["prompt_id"]).agg(["mean", "count"]).dropna()
    if by_prompt.empty:
        return None
    gain, half = by_prompt["mean"].mean(), t95(len(by_prompt)) * by_prompt["mean"].sem()
    drift = after.groupby("prompt_id")["kl"].mean()
    kl, kl_half = drift.mean(), t95(len(drift)) * drift.sem()
    return Outcome(
        num_prompts=len(by_prompt),
        samples_per_prompt=round(by_prompt["count"].mean()),
        score_before=float(before["score"].mean()),
        score_after=float(after["score"].mean()),
        gain=float(gain),
        low=float(gain - half),
        high=float(gain + half),
        kl=float(kl),
        kl_low=float(max(kl - kl_half, 0.0)),
        kl_high=float(kl + kl_half),
        unique_after=after["completion"].nunique(),
        ended_after=float(after["ended"].astype(float).mean()),
        length_before=float(before["tokens"].astype(float).mean()),
        length_after=float(after["tokens"].astype(float).mean()),
    )


def outcome_sentence(found: Outcome, unit: str = "sd") -> str:
    """One line for a person: the gain with its uncertainty, and what it cost."""
    each = f" x {found.samples_per_prompt} samples" if found.samples_per_prompt > 1 else ""
    spread = "" if math.isnan(found.kl_high) else f" ({found.kl_low:.1f} to {found.kl_high:.1f})"
    interval = "" if math.isnan(found.low) else f", 95 % interval {found.low:+.2f} to {found.high:+.2f}"
    return (
        f"Score {found.gain:+.2f} {unit} on {found.num_prompts} prompts{each}{interval}; "
        f"{found.kl:.1f} nats{spread} from the reference."
    )
