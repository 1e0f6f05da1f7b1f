"""A recorded update under other settings: the same tokens, scores and values, rewarded and credited differently, by the
functions of `playground.ppo` that train. What the model did stays as it was (texts, ratios, gradient norms), so this
tells what a setting does to one update, not where training would have gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from playground.errors import RunNotFound
from playground.ppo.advantages import advantages_of, generalised_advantages, token_rewards
from playground.ppo.losses import clipped_tokens, policy_loss, value_loss
from playground.ppo.masked import masked_mean, masked_variance
from playground.runs.folder import traces
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.traces import Trace, TracedEpisode, TracedPass, TracedSettings
from playground.training.loop.formulas import doubles, formulas_of, padded, price


def answer(question: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The trace of update `update` of the run at `run` under `settings`, as plain data. Raises: RunNotFound."""
    trace = traces.read(RunDirectory(Path(question["run"])), int(question["update"]))
    if trace is None:
        raise RunNotFound("That update was not recorded in slow motion, or its file cannot be read.")
    yield recomputed(trace, question["settings"]).model_dump()


def recomputed(trace: Trace, changes: Mapping[str, float]) -> Trace:
    """The trace with other values of gamma, gae_lambda, kl_coef and clip_range."""
    settings, batch = trace.settings.model_copy(update=dict(changes)), trace.batch
    lengths = torch.tensor(batch.lengths)
    mask = torch.arange(max(batch.lengths, default=0)) < lengths[:, None]  # [B, C], of the episodes that were kept
    token_kl, values = padded(batch.token_kl, mask), padded(batch.values, mask)
    rewards = token_rewards(token_kl, doubles(batch.scores), mask, price(settings))
    deltas = torch.zeros_like(rewards)
    left_out = [row for row, step in enumerate(batch.last_steps) if step is None]
    learned = mask.clone()
    learned[left_out] = False
    advantages, whitened, targets = advantages_of(settings, rewards, values, mask, learned)
    if settings.baseline == "value":
        returns = targets
        deltas, _ = generalised_advantages(rewards, values, mask, settings.gamma, 0.0)
    else:
        advantages = advantages * mask
        returns = rewards.sum(1)[:, None] * mask
    parts = {
        "leash": -price(settings) * token_kl,
        "rewards": rewards,
        "deltas": deltas,
        "advantages": advantages,
        "whitened": whitened,
        "returns": returns,
    }

    def traced(episode: TracedEpisode) -> TracedEpisode:
        row = episode.row, slice(len(episode.pieces))
        found = {name: part[row].tolist() for name, part in parts.items() if getattr(episode, name)}
        credit = whitened[row], values[row], targets[row]
        return episode.model_copy(
            update={**found, "passes": [_pass(traced, settings, *credit) for traced in episode.passes]}
        )

    spread = {
        "mean": masked_mean(advantages, learned).item(),
        "sd": masked_variance(advantages, learned).sqrt().item(),
        "whitened": whitened[mask].tolist(),
    }
    changed = {"settings": settings, "batch": batch.model_copy(update=spread)}
    again = trace.model_copy(update={**changed, "episodes": [traced(episode) for episode in trace.episodes]})
    return again.model_copy(update={"formulas": formulas_of(again)}) if batch.log_ratios else again


def _pass(
    item: TracedPass, settings: TracedSettings, whitened: Tensor, old_values: Tensor, targets: Tensor
) -> TracedPass:
    log_ratio, values = doubles(item.ratios).log(), doubles(item.values)
    clips = settings.clip_range, settings.clip_range_high
    return item.model_copy(
        update={
            "clipped": clipped_tokens(log_ratio, whitened, *clips).tolist(),
            "policy_losses": policy_loss(log_ratio, whitened, *clips).tolist(),
            "value_losses": value_loss(values, old_values, targets, settings.value_clip_range).tolist(),
        }
    )
