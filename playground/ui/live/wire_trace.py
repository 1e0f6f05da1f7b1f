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
from playground.ui.train import form

KNOBS = {"kl_coef": "kl.coef", "gamma": "ppo.gamma", "gae_lambda": "ppo.gae_lambda", "clip_range": "ppo.clip_range"}
DIGITS = 6
PLANTED = "This run trains with a planted mistake; what other settings would do to that is not computed."
MAX_UPDATE = 10**9


def told(run: RunDirectory, update: int, asked: Mapping[str, str]) -> dict[str, Any]:
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
    wanted = Settings.of(recorded) if no_what_if else settings_of(asked, recorded)
    changed = wanted != Settings.of(recorded)
    trace = what_if.recomputed(recorded, wanted) if changed else recorded
    steps = [step.model_dump(exclude={"rows", "log_ratios"}) for step in trace.steps]
    return {
        "update": update,
        "changed": changed,
        "no_what_if": no_what_if,
        "recorded": Settings.of(recorded)._asdict(),
        "settings": trace.settings.model_dump(),
        "batch": {"complete": trace.batch.complete, "kept": len(trace.batch.lengths),
                  **trace.batch.model_dump(include={"episodes", "tokens", "mean", "sd"})},
        "steps": steps,
        "clip_fraction": float(np.mean([step["clip_fraction"] for step in steps])),
        "pictures": [_picture(item, trace) for item in what_if.pictures(trace)],
        "episodes": [_episode(item, trace) for item in trace.episodes],
        "knobs": [{"name": name, **form.knob_data(field)} for name, field in KNOBS.items()],
    }  # fmt: skip


def settings_of(asked: Mapping[str, str], recorded: Trace) -> Settings:
    """The settings that somebody asks for, the recorded ones where nothing is said. Raises: PlaygroundError."""
    found = Settings.of(recorded)._asdict()
    for name, (low, high) in BOUNDS.items():
        if name not in asked:
            continue
        try:
            found[name] = float(asked[name])
        except ValueError:
            found[name] = math.nan
        if not low <= found[name] <= high:
            raise PlaygroundError(f"{KNOBS[name]} must be a number from {low:g} to {high:g}.")
    return Settings(**found)


def _episode(episode: TracedEpisode, trace: Trace) -> dict[str, Any]:
    by_group = trace.settings.baseline != "value"
    data = {name: _short(value) for name, value in episode.model_dump(exclude={"passes"}).items()}
    return {
        **data,
        "log_ratios": _short([ours - theirs for ours, theirs in _both(episode)]),
        "probabilities": _short(np.exp(episode.log_probs).tolist()),
        "score_paid": _short([paid - leash for paid, leash in zip(episode.rewards, episode.leash, strict=True)]),
        "group": _group(episode, trace) if by_group else None,
        "passes": [_pass(item, episode, trace.settings.clip_range) for item in episode.passes],
    }


def _both(episode: TracedEpisode) -> zip[tuple[float, float]]:
    return zip(episode.log_probs, episode.reference_log_probs, strict=True)


def _group(episode: TracedEpisode, trace: Trace) -> dict[str, Any]:
    """What the episodes of the same prompt earned, and which of them this one is."""
    size = trace.settings.samples_per_prompt
    place = episode.row % size
    earned = what_if.paid(trace)[episode.row - place :][:size]
    others = [value for other, value in enumerate(earned) if other != place]
    return {"earned": _short(earned), "place": place, "mean": _short(float(np.mean(earned))),
            "sd": _short(float(np.std(earned))), "others_mean": _short(float(np.mean(others)))}  # fmt: skip


def _pass(item: TracedPass, episode: TracedEpisode, clip_range: float) -> dict[str, Any]:
    """With both sides of the minimum in the loss: what the free ratio would earn, and what the clipped one does."""
    ratios, advantages = np.array(item.ratios), np.array(episode.whitened)
    clamped = ratios.clip(1 - clip_range, 1 + clip_range)
    sides = {"clamped": clamped, "free": ratios * advantages, "held": clamped * advantages}
    data = {name: _short(value) for name, value in item.model_dump().items()}
    return {**data, **{name: _short(values.tolist()) for name, values in sides.items()}}


def _picture(picture: Picture, trace: Trace) -> dict[str, Any]:
    """The tokens of an episode lie in the lists from its place in `starts` on."""
    starts, at = {}, 0
    for row in picture.rows:
        starts[row], at = at, at + trace.batch.lengths[row]
    drawn = len(picture.clipped)
    step, clipped = trace.steps[picture.step], sum(picture.clipped)
    return {**{name: _short(value) for name, value in picture._asdict().items()}, "starts": starts, "drawn": drawn,
            "tokens": step.tokens, "num_clipped": clipped, "share": clipped / max(drawn, 1), "epoch": step.epoch,
            "minibatch": step.minibatch, "after": step.after}  # fmt: skip


def _short(value: Any) -> Any:
    """Numbers at the precision of a drawing and of three digits; everything else as it is."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [_short(item) for item in value]
    return value
