"""One update in slow motion, as the page shows it. Reads the run's file; `routes` calls it, static/inside/ draws.

Everything that the page puts into a formula is computed here or was recorded: it only writes numbers down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from playground.errors import PlaygroundError, RunNotFound
from playground.insight.slow_motion import what_if
from playground.insight.slow_motion.what_if import BOUNDS, Picture, Settings
from playground.runs.folder import traces
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.traces import Trace, TracedEpisode, TracedPass
from playground.ui.live.run_serializer import plain
from playground.ui.train import form

KNOBS = {"kl_coef": "kl.coef", "gamma": "ppo.gamma", "gae_lambda": "ppo.gae_lambda", "clip_range": "ppo.clip_range"}
DIGITS = 6  # of a number in a formula
PLANTED = "This run trains with a planted mistake; what other settings would do to that is not computed."
MAX_UPDATE = 10**9


def trace_data(run: RunDirectory, update: int, asked: Mapping[str, str]) -> dict[str, Any]:
    """A trace as plain data for JSON.

    Args:
        asked: other settings, by the names of `KNOBS`, as text; empty for what was recorded.

    Raises:
        RunNotFound: if there is no such trace. PlaygroundError: for settings that are no numbers, or out of range.
    """
    recorded = traces.read(run, update) if update < MAX_UPDATE else None
    if recorded is None:
        raise RunNotFound(f"Update {update} was not recorded in slow motion, or its file cannot be read.")
    no_what_if = PLANTED if run.config().faults else ""
    before = Settings.of(recorded)
    wanted = before if no_what_if else settings_of(asked, before)
    trace = what_if.recomputed(recorded, wanted) if wanted != before else recorded
    batch = trace.batch.model_dump(include={"episodes", "tokens", "mean", "sd"})
    return {
        "update": update,
        "changed": wanted != before,
        "no_what_if": no_what_if,
        "recorded": before._asdict(),
        "settings": trace.settings.model_dump(),
        "batch": {**batch, "complete": trace.batch.complete, "kept": len(trace.batch.lengths)},
        "steps": [step.model_dump(exclude={"rows", "log_ratios"}) for step in trace.steps],
        "clip_fraction": float(np.mean([step.clip_fraction for step in trace.steps])),
        "knobs": [{"name": name, **form.knob_data(field)} for name, field in KNOBS.items()],
        **plain(
            {
                "pictures": [_picture(item, trace) for item in what_if.pictures(trace)],
                "episodes": [_episode(item, trace) for item in trace.episodes],
            },
            DIGITS,
        ),
    }


def settings_of(asked: Mapping[str, str], recorded: Settings) -> Settings:
    """The settings that are asked for, the recorded ones where nothing is said. Raises: PlaygroundError."""
    found = {}
    for name, (low, high) in BOUNDS.items():
        try:
            found[name] = float(asked.get(name, getattr(recorded, name)))
        except ValueError:
            found[name] = math.nan
        if name in asked and not low <= found[name] <= high:
            raise PlaygroundError(f"{KNOBS[name]} must be a number from {low:g} to {high:g}.")
    return Settings(**found)


def _episode(episode: TracedEpisode, trace: Trace) -> dict[str, Any]:
    log_probs = np.array(episode.log_probs)
    return {
        **dict(episode),
        "log_ratios": (log_probs - episode.reference_log_probs).tolist(),
        "probabilities": np.exp(log_probs).tolist(),
        "score_paid": np.subtract(episode.rewards, episode.leash).tolist(),
        "group": _group(episode, trace) if trace.settings.baseline != "value" else None,
        "passes": [_pass(item, episode, trace.settings.clip_range) for item in episode.passes],
    }


def _group(episode: TracedEpisode, trace: Trace) -> dict[str, Any]:
    """What the episodes of the same prompt earned, and which of them this one is."""
    size = trace.settings.samples_per_prompt
    place = episode.row % size
    earned = what_if.paid(trace)[episode.row - place :][:size]
    others_mean = float(np.mean(np.delete(earned, place)))
    return {
        "earned": earned,
        "place": place,
        "mean": float(np.mean(earned)),
        "sd": float(np.std(earned)),
        "others_mean": others_mean,
    }


def _pass(item: TracedPass, episode: TracedEpisode, clip_range: float) -> dict[str, Any]:
    """With both sides of the minimum in the loss: what the free ratio would earn, and what the clipped one does."""
    ratios, advantages = np.array(item.ratios), np.array(episode.whitened)
    clamped = ratios.clip(1 - clip_range, 1 + clip_range)
    sides = {"clamped": clamped, "free": ratios * advantages, "held": clamped * advantages}
    return {**dict(item), **{name: values.tolist() for name, values in sides.items()}}


def _picture(picture: Picture, trace: Trace) -> dict[str, Any]:
    """The tokens of an episode lie in the lists from its place in `starts` on."""
    lengths = [trace.batch.lengths[row] for row in picture.rows]
    drawn, clipped = len(picture.clipped), sum(picture.clipped)
    return {
        **picture._asdict(),
        **trace.steps[picture.step].model_dump(include={"tokens", "epoch", "minibatch", "after"}),
        "starts": dict(zip(picture.rows, np.cumsum([0, *lengths]).tolist(), strict=False)),
        "drawn": drawn,
        "num_clipped": clipped,
        "share": clipped / max(drawn, 1),
    }
