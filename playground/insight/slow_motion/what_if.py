"""A recorded update under other settings: the same tokens, scores and values, paid and credited in another way.

What the model did stays as it was: what it wrote, its ratios in each step, its gradient norms. Those would have been
others too from the first step on, so this tells what a setting does to one update, not where training would have gone.
Pure; `ui.inside.trace_part` calls it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from playground.insight.slow_motion import ppo_twin as ppo
from playground.insight.slow_motion.ppo_twin import Array, Mask
from playground.runs.folder.traces import Trace, TracedEpisode, TracedPass

BOUNDS = {"gamma": (0.0, 1.0), "gae_lambda": (0.0, 1.0), "kl_coef": (0.0, 1000.0), "clip_range": (1e-4, 1e9)}


class Settings(NamedTuple):
    """What can be changed afterwards."""

    gamma: float
    gae_lambda: float
    kl_coef: float
    clip_range: float

    @classmethod
    def of(cls, trace: Trace) -> Settings:
        """As they were."""
        return cls(*(getattr(trace.settings, name) for name in cls._fields))


class Batch(NamedTuple):
    """The episodes of which a trace knows all tokens, [B, C]."""

    mask: Mask
    token_kl: Array
    values: Array
    scores: Array

    @classmethod
    def of(cls, trace: Trace) -> Batch:
        """From the lists of a trace."""
        batch, lengths = trace.batch, np.array(trace.batch.lengths, dtype=int)
        mask = np.arange(max(lengths, default=0)) < lengths[:, None]
        return cls(mask, padded(batch.token_kl, mask), padded(batch.values, mask), np.array(batch.scores, dtype=float))


def padded(flat: Iterable[float], mask: Mask) -> Array:
    """The tokens of several episodes, one behind the other, as [B, C]."""
    whole = np.zeros(mask.shape)
    whole[mask] = list(flat)
    return whole


def paid(trace: Trace) -> list[float]:
    """What each episode of the batch earned: its score less what its KL costs."""
    known = Batch.of(trace)
    return [float(sum_) for sum_ in ppo.token_rewards(*_paying(known), trace.settings.kl_coef).sum(1)]


def _paying(known: Batch) -> tuple[Array, Array, Mask]:
    return known.token_kl, known.scores, known.mask


def recomputed(trace: Trace, settings: Settings) -> Trace:
    """The trace as it would read under other settings."""
    asked, known = trace.settings, Batch.of(trace)
    rewards = ppo.token_rewards(*_paying(known), settings.kl_coef)
    deltas = np.zeros_like(rewards)
    if asked.baseline == "value":
        credited = rewards, known.values, known.mask, settings.gamma
        advantages, returns = ppo.generalised_advantages(*credited, settings.gae_lambda)
        targets, (deltas, _) = returns, ppo.generalised_advantages(*credited, 0.0)
    else:
        earned, standardise = rewards.sum(1), asked.baseline == "group"
        better = ppo.group_advantages(earned, asked.samples_per_prompt, standardise=standardise)
        advantages, returns = (np.broadcast_to(part[:, None], rewards.shape) for part in (better, earned))
        targets = np.zeros_like(rewards)
    whitened = ppo.whiten(advantages, known.mask)
    leash = -settings.kl_coef * known.token_kl

    def traced(episode: TracedEpisode) -> TracedEpisode:
        row = slice(episode.row, episode.row + 1), slice(0, len(episode.pieces))
        parts = {"leash": leash, "rewards": rewards, "deltas": deltas, "advantages": advantages, "whitened": whitened,
                 "returns": returns}  # fmt: skip
        found = {name: part[row][0].tolist() for name, part in parts.items() if getattr(episode, name)}
        credit = whitened[row][0], known.values[row][0], targets[row][0]
        passes = [_pass(item, *credit, settings, asked.value_clip_range) for item in episode.passes]
        return episode.model_copy(update={**found, "passes": passes})

    batch = {
        "mean": ppo.masked_mean(advantages, known.mask),
        "sd": math.sqrt(ppo.masked_variance(advantages, known.mask)),
        "whitened": whitened[known.mask].tolist(),
    }
    return trace.model_copy(
        update={
            "settings": asked.model_copy(update=settings._asdict()),
            "batch": trace.batch.model_copy(update=batch),
            "episodes": [traced(episode) for episode in trace.episodes],
        }
    )


def _pass(
    item: TracedPass, whitened: Array, old_values: Array, targets: Array, settings: Settings, value_clip: float | None
) -> TracedPass:
    log_ratio = np.log(np.array(item.ratios))
    return item.model_copy(
        update={
            "clipped": ppo.clipped_tokens(log_ratio, whitened, settings.clip_range).tolist(),
            "policy_losses": ppo.policy_loss(log_ratio, whitened, settings.clip_range).tolist(),
            "value_losses": ppo.value_loss(np.array(item.values), old_values, targets, value_clip).tolist(),
        }
    )


class Picture(NamedTuple):
    """The tokens of the last minibatch of an epoch: how far each has moved, and where its advantage wants it.

    `step` is its place in `Trace.steps`; `rows` are its episodes, one behind the other in the lists. `counts` has how
    many tokens are below, within and above the clip range, for advantages above 0 and below it. `edges` are the logs of
    1 - eps and 1 + eps; None where there is none.
    """

    step: int
    rows: list[int]
    log_ratios: list[float]
    advantages: list[float]
    clipped: list[bool]
    counts: dict[str, list[int]]
    edges: tuple[float | None, float | None]


def pictures(trace: Trace) -> list[Picture]:
    """One for each epoch, in order."""
    known, clip_range = Batch.of(trace), trace.settings.clip_range
    whitened = padded(trace.batch.whitened, known.mask)
    return [
        _picture(place, step.rows, np.array(step.log_ratios), whitened[step.rows][known.mask[step.rows]], clip_range)
        for place, step in enumerate(trace.steps)
        if step.rows
    ]


def _picture(step: int, rows: list[int], log_ratios: Array, advantages: Array, clip_range: float) -> Picture:
    ratios = np.exp(log_ratios)
    below, above = ratios < 1 - clip_range, ratios > 1 + clip_range
    sides = (below, ~(below | above), above)
    wanted = {"up": advantages > 0, "down": advantages < 0}
    return Picture(
        step=step,
        rows=rows,
        log_ratios=log_ratios.tolist(),
        advantages=advantages.tolist(),
        clipped=ppo.clipped_tokens(log_ratios, advantages, clip_range).tolist(),
        counts={name: [int((side & sign).sum()) for side in sides] for name, sign in wanted.items()},
        edges=(math.log(1 - clip_range) if clip_range < 1 else None, math.log(1 + clip_range)),
    )
