"""The weighted sum of rewards, its terms, and the scale that makes it a score.

Knows only functions of text (see rules.py). The trainer, the model service and the page score through this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from playground import config
from playground.errors import RewardFailed, RewardNotFinite
from playground.rewards import rules


class Scored(NamedTuple):
    """Raw rewards of a batch: the weighted sum and each unweighted term; None = no opinion."""

    totals: list[float | None]
    terms: dict[str, list[float | None]]


class Mixture:
    """Several reward functions with weights. A term without an opinion contributes nothing to the sum."""

    def __init__(self, functions: dict[str, tuple[float, rules.Reward]]) -> None:
        self._functions = functions

    @classmethod
    def from_config(
        cls,
        specs: Sequence[config.RewardConfig],
        build: Callable[[config.RewardConfig], rules.Reward] = rules.build,
    ) -> Mixture:
        """The mixture a configuration names. Terms are named by kind, numbered when a kind occurs twice.

        Args:
            build: what makes a function of an entry; training passes one that can load models.
        """
        functions: dict[str, tuple[float, rules.Reward]] = {}
        for spec in specs:
            name: str = spec.kind
            number = 2
            while name in functions:
                name, number = f"{spec.kind} {number}", number + 1
            functions[name] = (spec.weight, build(spec))
        return cls(functions)

    def __call__(self, prompts: Sequence[str], completions: Sequence[str]) -> Scored:
        """Score a batch.

        Raises:
            RewardFailed: a function raised or returned the wrong number of values.
            RewardNotFinite: it returned a value that is not finite.
        """
        terms = {name: _call(name, function, prompts, completions) for name, (_, function) in self._functions.items()}
        totals: list[float | None] = []
        for row in range(len(completions)):
            parts = [
                weight * value
                for name, (weight, _) in self._functions.items()
                if (value := terms[name][row]) is not None
            ]
            totals.append(sum(parts) if parts else None)
        return Scored(totals, terms)


@dataclass(frozen=True)
class Scale:
    """score = (raw - mean) / sd, clipped. `mean` and `sd` are those of the reference's samples, or 0 and 1."""

    mean: float = 0.0
    sd: float = 1.0
    clip: float | None = None

    @classmethod
    def of(cls, totals: Sequence[float | None], clip: float | None = None) -> Scale:
        """The scale of raw totals. Where they do not vary there is nothing to scale by, and sd is 1."""
        known = [value for value in totals if value is not None]
        if not known:
            return cls(0.0, 1.0, clip)
        mean = math.fsum(known) / len(known)
        variance = math.fsum((value - mean) ** 2 for value in known) / len(known)
        return cls(mean, math.sqrt(variance) if variance > 1e-12 else 1.0, clip)

    def __call__(self, totals: Sequence[float | None]) -> list[float]:
        """Raw totals -> scores. No opinion becomes 0: as good as the reference's average."""
        scores = []
        for value in totals:
            score = 0.0 if value is None else (value - self.mean) / self.sd
            scores.append(score if self.clip is None else min(max(score, -self.clip), self.clip))
        return scores


def _call(name: str, function: rules.Reward, prompts: Sequence[str], completions: Sequence[str]) -> list[float | None]:
    try:
        values = list(function(prompts=prompts, completions=completions))
    except Exception as error:
        raise RewardFailed(f"The reward `{name}` failed: {type(error).__name__}: {error}") from error
    if len(values) != len(completions):
        raise RewardFailed(f"The reward `{name}` returned {len(values)} values for {len(completions)} completions.")
    for value in values:
        if value is not None and not math.isfinite(value):
            raise RewardNotFinite(f"The reward `{name}` returned {value}; a reward must be a finite number or None.")
    return [None if value is None else float(value) for value in values]
