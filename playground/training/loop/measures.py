"""Small figures that both engines report in the same way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import psutil
import torch
from torch import nn

from playground.config import RewardConfig
from playground.pocket.wording import distinct_n
from playground.ppo.advantages import SAME_SCORE
from playground.rewards import verify
from playground.rewards.mixture import mean_known, term_names
from playground.runs.folder.records import UpdateMetrics
from playground.training.loop.scoring import Scores
from playground.training.models.language_model import LanguageModel


def of_steps(steps: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """The figures that are declared as a mean or a maximum over an update's optimizer steps."""
    declared = {name: about.steps for name, about in UpdateMetrics.about().items() if about.steps}
    return {
        name: mean_known(steps.get(name, ())) if how == "mean" else max(steps.get(name, ()), default=None)
        for name, how in declared.items()
    }


def of_completions(completions: Sequence[str], scores: Scores) -> dict[str, Any]:
    """What an update's texts and their scores say: how the scores are spread, and what each reward brings."""
    p10, p50, p90 = np.quantile(scores.scores, [0.1, 0.5, 0.9])
    return {
        "score_mean": float(np.mean(scores.scores)),
        "score_std": float(np.std(scores.scores)),
        "score_p10": float(p10),
        "score_p50": float(p50),
        "score_p90": float(p90),
        "raw_score_mean": mean_known(scores.raw),
        "terms": {name: mean_known(values) for name, values in scores.terms.items()},
        "contributions": {name: mean_known(values) for name, values in scores.contributions.items()},
        "disagreement": mean_known(scores.disagreement),
        "distinct_2": distinct_n(completions, 2),
    }


def same_score_groups(scores: Sequence[float], size: int) -> float | None:
    """The share of groups, each of `size` texts of one prompt in a row, in which all have the same score: from them
    RLOO and GRPO learn nothing of the reward. None where a score is not finite."""
    if not scores or not np.isfinite(scores).all():
        return None
    groups = np.reshape(scores, (-1, size))
    return float(np.mean(np.ptp(groups, axis=1) <= SAME_SCORE))


def of_answers(rewards: Sequence[RewardConfig], completions: Sequence[str], scores: Scores) -> dict[str, Any]:
    """Shares of right answers and, where a form is asked for, of those in it; of rewards that check answers."""
    figures: dict[str, Any] = {}
    right = _right(rewards, scores)
    if right is not None:
        figures["answers_right"] = mean_known(right)
    form = next((spec for spec in verify.verifiers(rewards) if spec.form), None)
    if form is not None:
        figures["answers_in_form"] = float(np.mean([verify.keeps_form(form, text) for text in completions]))
    return figures


def alike_groups(rewards: Sequence[RewardConfig], scores: Scores, size: int) -> dict[str, Any]:
    """The shares of groups, each of `size` answers to one prompt in a row, that are all right, and all wrong; without
    those whose true answer is not known."""
    right = _right(rewards, scores) or []
    groups = [right[first : first + size] for first in range(0, len(right), size)]
    counts = [sum(value == 1 for value in group) for group in groups if None not in group]
    if not counts:
        return {}
    shares = {"groups_all_right": counts.count(size), "groups_all_wrong": counts.count(0)}
    return {name: count / len(counts) for name, count in shares.items()}


def _right(rewards: Sequence[RewardConfig], scores: Scores) -> list[float | None] | None:
    """1 or 0 of each answer, by the first reward that compares them."""
    first = verify.first_of(rewards)
    return next(
        (scores.terms[name] for name, spec in zip(term_names(rewards), rewards, strict=True) if spec is first), None
    )


def capped_exp(value: float) -> float:
    """exp(value), at most about 10^304, which a float can still hold."""
    return math.exp(min(value, 700.0))


def memory_gb(device: torch.device) -> float:
    """10^9 bytes: the peak of the GPU's allocator, or the resident set of this process now."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e9
    return psutil.Process().memory_info().rss / 1e9


def sizes(model: nn.Module) -> dict[str, int]:
    """How many weights there are: in all, trained, those that tokens are multiplied with (not embeddings, but a tied LM
    head), and of these the LM head, through which only completion tokens go."""
    every = {id(parameter): _numel(parameter) for parameter in model.parameters()}
    trained = {id(parameter): parameter.numel() for parameter in model.parameters() if parameter.requires_grad}
    matrices = {
        id(parameter): _numel(parameter)
        for module in model.modules()
        if not isinstance(module, nn.Embedding)
        for parameter in module.parameters(recurse=False)
    }
    return {
        "parameters": sum(every.values()),
        "trained_parameters": sum(trained.values()),
        "matrix_parameters": sum(matrices.values()),
        "head_parameters": _numel(model.lm_head.weight) if isinstance(model, LanguageModel) else 0,
    }


def _numel(parameter: nn.Parameter) -> int:
    """Numbers in a weight, also where bitsandbytes packs two into a byte (nf4)."""
    state = getattr(parameter, "quant_state", None)
    return math.prod(state.shape) if state is not None and hasattr(state, "shape") else parameter.numel()
