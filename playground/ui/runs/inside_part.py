"""A run from within: recorded answers token by token, and one update in slow motion, as it was or under other settings.

Every number that the page puts into a formula is computed here or was recorded. static/inside/ draws.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from playground.config import RunConfig, methods
from playground.errors import PlaygroundError, RunNotFound
from playground.runs.folder import traces
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import is_kept
from playground.runs.folder.token_records import TokenFigures
from playground.runs.folder.traces import Trace, TracedEpisode, TracedPass, TracedStep
from playground.runs.model_service import ModelService
from playground.ui.feed.run_serializer import plain
from playground.ui.payloads.inside import (
    AbsentData,
    GroupData,
    MinimalData,
    PictureData,
    PromptGroupData,
    TokensData,
    TraceData,
)
from playground.ui.train import form

KNOBS = {"kl_coef": "kl.coef", "gamma": "ppo.gamma", "gae_lambda": "ppo.gae_lambda", "clip_range": "ppo.clip_range"}
BOUNDS = {"gamma": (0.0, 1.0), "gae_lambda": (0.0, 1.0), "kl_coef": (0.0, 1000.0), "clip_range": (1e-4, 1e9)}
DIGITS = 6  # of a number in a formula
PLANTED = "This run trains with a planted mistake; what other settings would do to that is not computed."
MINIMAL = json.loads(Path(__file__).with_name("minimal.json").read_text(encoding="utf-8"))  # `make exercise`
MAX_UPDATE = 10**9


def looks(run: RunDirectory, prompt_id: int, seed: int | None) -> TokensData:
    """What was recorded of one fixed prompt's answers at each look; without any, why not."""
    config = run.config()
    figures: dict[int, TokenFigures] = {}
    for line in run.token_figures(prompt_id):
        if seed is None or line.seed == seed:
            figures[line.update] = line  # of two lines of a look the later one
    return {
        "looks": [line.model_dump(exclude={"attempt", "prompt_id"}) for _, line in sorted(figures.items())],
        "absent": absent(config),
        "unit": config.score_unit,
        "why": "" if figures else _why_none(run, config),
    }


def absent(config: RunConfig) -> AbsentData:
    """Which figures a run cannot have, and why, in a sentence each."""
    method = methods.METHODS[config.method]
    sentences: AbsentData = {}
    if not config.pays_tokens:
        who = method.label
        if config.by_trl and method.in_own_loop:
            who = "TRL's trainer of this method"
        sentences["reward"] = f"{who} pays no single tokens, so there is no reward, leash cost or advantage of one."
    if not config.has_critic:
        why = "There is no critic here, so no token has a value"
        if config.pays_tokens:
            why += "; an advantage is measured against other answers to the same prompt, and a look writes one"
        sentences["value"] = f"{why}."
    return sentences


def _why_none(run: RunDirectory, config: RunConfig) -> str:
    if config.kind == "watched":
        return "Another program trains this run, and does not say what it computes for a token."
    kept = config.evaluation.token_samples
    if not kept:
        return "This run keeps no answers token by token (evaluation.token_samples is 0)."
    if is_kept(run.tokens_path):
        return f"Of each look, the first answers to the first {kept} fixed prompts are kept token by token."
    return "This was made before answers were kept token by token. Train a run of your own to open them."


def trace_data(run: RunDirectory, update: int) -> TraceData:
    """A trace as plain data for JSON. Raises: RunNotFound, if there is no such trace."""
    recorded = _read(run, update)
    return _data(run, recorded, recorded)


def what_if_data(run: RunDirectory, update: int, asked: Mapping[str, str], service: ModelService) -> TraceData:
    """The same under other settings (`asked`: by the names of `KNOBS`, as text), as the model service computes it.
    Raises: RunNotFound, if there is no such trace; PlaygroundError."""
    recorded = _read(run, update)
    changes = {name: value for name, value in _checked(asked).items() if value != getattr(recorded.settings, name)}
    if run.config().faults or not changes:
        return _data(run, recorded, recorded)
    question = {"run": str(run.path), "update": update, "settings": changes}
    (answer,) = service.ask("what-if", question)
    return _data(run, recorded, Trace.model_validate(answer))


def _read(run: RunDirectory, update: int) -> Trace:
    recorded = None
    if update < MAX_UPDATE:
        recorded = traces.read(run, update)
    if recorded is None:
        raise RunNotFound(f"Update {update} was not recorded in slow motion, or its file cannot be read.")
    return recorded


def _checked(asked: Mapping[str, str]) -> dict[str, float]:
    numbers = {}
    for name, (low, high) in BOUNDS.items():
        if name in asked:
            try:
                numbers[name] = float(asked[name])
            except ValueError:
                numbers[name] = math.nan
            if not low <= numbers[name] <= high:
                raise PlaygroundError(f"{KNOBS[name]} must be a number from {low:g} to {high:g}.")
    return numbers


def _data(run: RunDirectory, recorded: Trace, trace: Trace) -> TraceData:
    batch, knobs = trace.batch, recorded.settings
    return {
        "update": trace.update,
        "changed": trace.settings != recorded.settings,
        "no_what_if": PLANTED if run.config().faults else "",
        "recorded": {
            "kl_coef": knobs.kl_coef,
            "gamma": knobs.gamma,
            "gae_lambda": knobs.gae_lambda,
            "clip_range": knobs.clip_range,
        },
        "settings": trace.settings.model_dump(),
        "batch": {
            "episodes": batch.episodes,
            "tokens": batch.tokens,
            "mean": batch.mean,
            "sd": batch.sd,
            "complete": batch.complete,
            "kept": len(batch.lengths),
        },
        "steps": [step.model_dump(exclude={"rows", "log_ratios"}) for step in trace.steps],
        "clip_fraction": float(np.mean([step.clip_fraction for step in trace.steps])),
        "knobs": [{"name": name, **form.knob_data(field)} for name, field in KNOBS.items()],
        "pictures": plain([_picture(at, step, trace) for at, step in enumerate(trace.steps) if step.rows], DIGITS),
        "episodes": plain([_episode(item, trace) for item in trace.episodes], DIGITS),
        "groups": plain(_groups(trace), DIGITS),
        "texts": [{**dict(text), "score": batch.scores[text.row]} for text in trace.texts],
        "formulas": plain([formula.model_dump() for formula in trace.formulas], DIGITS + 2),
        "minimal": _minimal(trace),
    }


def _groups(trace: Trace) -> list[PromptGroupData]:
    """The texts that are shown under each formula, prompt by prompt."""
    texts, size = trace.texts, trace.settings.samples_per_prompt
    if not texts:
        return []
    if size == 1:
        return [{"prompt": "", "places": list(range(len(texts))), "mean": None, "sd": None, "alike": False}]
    groups: list[PromptGroupData] = []
    for first in range(0, len(texts), size):
        places = list(range(first, min(first + size, len(texts))))
        scores = [trace.batch.scores[texts[place].row] for place in places]
        groups.append(
            {
                "prompt": texts[first].prompt,
                "places": places,
                "mean": float(np.mean(scores)),
                "sd": float(np.std(scores)),
                "alike": texts[first].alike,
            }
        )
    return groups


def _minimal(trace: Trace) -> dict[str, MinimalData]:
    """That file has a critic, and the KL as k1."""
    if trace.settings.baseline != "value":
        return {}
    return {step: lines for step, lines in MINIMAL.items() if step != "leash" or trace.settings.estimator == "k1"}


def _episode(episode: TracedEpisode, trace: Trace) -> dict[str, Any]:
    log_probs = np.array(episode.log_probs)
    return {
        **dict(episode),
        "log_ratios": (log_probs - episode.reference_log_probs).tolist(),
        "probabilities": np.exp(log_probs).tolist(),
        "score_paid": np.subtract(episode.rewards, episode.leash).tolist(),
        "group": _group(episode, trace) if trace.settings.baseline in ("group", "leave_one_out") else None,
        "passes": [_pass(item, episode, trace) for item in episode.passes],
    }


def _group(episode: TracedEpisode, trace: Trace) -> GroupData:
    """What the episodes of the same prompt earned, and which of them this one is."""
    batch, size = trace.batch, trace.settings.samples_per_prompt
    column = episode.row % size
    price = 0.0
    if trace.settings.where == "reward":
        price = trace.settings.kl_coef
    costs = _by_episode(trace, [price * kl for kl in batch.token_kl])
    paid = [score - float(cost.sum()) for score, cost in zip(batch.scores, costs, strict=True)]
    earned = paid[episode.row - column :][:size]
    others_mean = float(np.mean(np.delete(earned, column)))
    return {
        "earned": earned,
        "place": column,
        "mean": float(np.mean(earned)),
        "sd": float(np.std(earned)),
        "others_mean": others_mean,
    }


def _clips(trace: Trace) -> tuple[float, float]:
    """How far a ratio may go below 1, and above it."""
    low, high = trace.settings.clip_range, trace.settings.clip_range_high
    return low, low if high is None else high


def _pass(item: TracedPass, episode: TracedEpisode, trace: Trace) -> dict[str, Any]:
    """With both sides of the minimum in the loss: what the free ratio would earn, and what the clipped one does."""
    low, high = _clips(trace)
    ratios, advantages = np.array(item.ratios), np.array(episode.whitened)
    clamped = ratios.clip(1 - low, 1 + high)
    sides = {"clamped": clamped, "free": ratios * advantages, "held": clamped * advantages}
    sides["kl_losses"] = trace.settings.kl_coef * np.array(item.loss_kls)
    return {**dict(item), **{name: values.tolist() for name, values in sides.items()}}


def _picture(at: int, step: TracedStep, trace: Trace) -> PictureData:
    """The tokens of the last minibatch of an epoch, `trace.steps[at]`: how far each has moved, and where its advantage
    wants it. `counts`: tokens below, within and above the clip range, for advantages above 0 and below it. `edges`: the
    logs of 1 - eps and 1 + eps. `starts`: where the tokens of an episode begin.
    """
    low, high = _clips(trace)
    ratios = np.exp(step.log_ratios)
    whitened = _by_episode(trace, trace.batch.whitened)
    advantages = np.concatenate([whitened[row] for row in step.rows])
    below, above = ratios < 1 - low, ratios > 1 + high
    up, down = advantages > 0, advantages < 0
    clipped = (up & above) | (down & below)
    drawn, num_clipped = len(clipped), int(clipped.sum())
    sides = (below, ~(below | above), above)
    return {
        "step": at,
        "rows": step.rows,
        "log_ratios": step.log_ratios,
        "advantages": advantages.tolist(),
        "clipped": clipped.tolist(),
        "counts": {
            "up": [int((side & up).sum()) for side in sides],
            "down": [int((side & down).sum()) for side in sides],
        },
        "edges": (math.log(1 - low) if low < 1 else None, math.log(1 + high)),
        "tokens": step.tokens,
        "epoch": step.epoch,
        "minibatch": step.minibatch,
        "after": step.after,
        "starts": dict(
            zip(step.rows, np.cumsum([0, *(len(whitened[row]) for row in step.rows)]).tolist(), strict=False)
        ),
        "drawn": drawn,
        "num_clipped": num_clipped,
        "share": num_clipped / max(drawn, 1),
    }


def _by_episode(trace: Trace, flat: list[float]) -> list[Any]:
    """A list of the batch's tokens, episode by episode."""
    return np.split(np.array(flat), np.cumsum(trace.batch.lengths)[:-1])
