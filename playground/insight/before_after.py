"""Before and after on the same prompts with the same random numbers: pairs, gains and how sure one can be of them.

Source of the pairing: common random numbers; a pair is one (prompt_id, seed). The interval treats prompts, not
samples, as the independent units. The page, the command line and docs tables call it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from playground.runs.folder.records import Sample

Z95 = 1.96  # two-sided 95 % of a normal distribution; prompts are many enough for it


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
    """A run in numbers. `low` and `high` bound the mean gain with 95 % confidence; KL in nats per completion."""

    num_prompts: int
    samples_per_prompt: int
    score_before: float
    score_after: float
    gain: float
    low: float
    high: float
    kl: float
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
    gains: dict[int, list[float]] = defaultdict(list)
    for pair in joined:
        if pair.gain is not None:
            gains[pair.before.prompt_id].append(pair.gain)
    if not gains:
        return None
    by_prompt = np.array([np.mean(values) for values in gains.values()])
    gain = float(by_prompt.mean())
    half = Z95 * float(by_prompt.std(ddof=1)) / len(by_prompt) ** 0.5 if len(by_prompt) > 1 else float("nan")
    after = [pair.after for pair in joined]
    return Outcome(
        num_prompts=len(gains),
        samples_per_prompt=round(sum(map(len, gains.values())) / len(gains)),
        score_before=_mean([pair.before.score for pair in joined]),
        score_after=_mean([item.score for item in after]),
        gain=gain,
        low=gain - half,
        high=gain + half,
        kl=_mean([item.kl for item in after]),
        unique_after=len({item.completion for item in after}),
        ended_after=_mean([None if item.ended is None else float(item.ended) for item in after]),
        length_before=_mean([pair.before.tokens for pair in joined]),
        length_after=_mean([item.tokens for item in after]),
    )


def outcome_sentence(found: Outcome, unit: str = "sd") -> str:
    """One line for a person: the gain with its uncertainty, and what it cost."""
    each = f" x {found.samples_per_prompt} samples" if found.samples_per_prompt > 1 else ""
    interval = "" if np.isnan(found.low) else f", 95 % interval {found.low:+.2f} to {found.high:+.2f}"
    return (
        f"Score {found.gain:+.2f} {unit} on {found.num_prompts} prompts{each}{interval}; "
        f"{found.kl:.1f} nats from the reference."
    )


def _mean(values: Sequence[float | int | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")
