"""The cases of three of the functions, the smallest first: so the first that fails is the smallest that shows it."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

from playground.training.exercise.comparing import Case, Names, called, settings
from playground.training.exercise.toys import Batch, language_model, value_head

ONE_TOKEN = Batch([[5, 3]], [[7]])
ONE = Batch([[5, 3]], [[7, 4, 1]])
LENGTHS = Batch([[5, 3]] * 2, [[7, 4, 1], [6]])  # completions of different lengths
RAGGED = Batch([[5, 3, 9, 2], [4], [8, 6]], [[7, 4, 1], [6], [2, 5, 5, 9]])  # prompts too


def kl_cases(ours: Names) -> list[Case]:
    """Of compute_kl."""
    found = [
        ("one completion of three tokens", ONE, 1.0),
        ("two completions, of three tokens and of one", LENGTHS, 1.0),
        ("prompts and completions of different lengths", RAGGED, 1.0),
        ("the same at temperature 0.7", RAGGED, 0.7),
    ]
    return [_kl_case(ours, *case) for case in found]


def _kl_case(ours: Names, words: str, batch: Batch, temperature: float) -> Case:
    changes = {"temperature": temperature}
    log_probs = batch.log_probs(ours, language_model(0), settings(ours, ours, **changes))
    reference_log_probs = batch.log_probs(ours, language_model(1), settings(ours, ours, **changes))
    given = {
        "completions": batch.completions,
        "log pi": log_probs,
        "log pi_ref": reference_log_probs,
        "mask": batch.mask.long(),
    }

    def run(names: Names) -> dict[str, Any]:
        episodes = batch.episodes(names, log_probs)
        return {"kl": called(names, "compute_kl", language_model(1), episodes, settings(names, ours, **changes))}

    return Case(words, given, run)


def advantage_cases(ours: Names) -> list[Case]:
    """Of compute_advantages."""
    numbers = torch.Generator().manual_seed(0)
    mask = torch.arange(4) < torch.tensor([4, 1, 2]).unsqueeze(1)
    found: list[tuple[str, list[float], Any, Any, Any, dict[str, float]]] = [
        ("two tokens, nothing but a score", [1.0], [[0.0, 0.0]], [[0.0, 0.0]], [[True, True]], {}),
        ("two tokens, nothing but KL", [0.0], [[0.4, -0.2]], [[0.0, 0.0]], [[True, True]], {"kl_coef": 0.5}),
        ("three tokens with values", [1.0], [[0.0] * 3], [[0.5, 0.2, 0.7]], [[True] * 3], {}),
        (
            "the same with gamma 0.9 and lambda 0.5",
            [1.0],
            [[0.0] * 3],
            [[0.5, 0.2, 0.7]],
            [[True] * 3],
            {"gamma": 0.9, "gae_lambda": 0.5},
        ),
        ("completions of two tokens and of one", [1.0, -1.0], [[0.0] * 2] * 2, [[0.0] * 2] * 2, mask[[2, 1], :2], {}),
        (
            "completions of different lengths, with all that counts",
            [1.5, -0.5, 0.8],
            torch.randn(3, 4, generator=numbers) * mask,
            torch.randn(3, 4, generator=numbers) * mask,
            mask,
            {"kl_coef": 0.5, "gamma": 0.95, "gae_lambda": 0.8},
        ),
    ]
    return [_advantage_case(ours, *case) for case in found]


def _advantage_case(
    ours: Names, words: str, scores: Any, kl: Any, values: Any, mask: Any, changes: dict[str, float]
) -> Case:
    tensors = {"scores": scores, "kl": kl, "values": values, "mask": mask}
    tensors = {name: torch.as_tensor(value) for name, value in tensors.items()}
    ours_settings = settings(ours, ours, **changes)
    knobs = {name: getattr(ours_settings, name) for name in ("kl_coef", "gamma", "gae_lambda")}

    def run(names: Names) -> dict[str, Any]:
        copies = [tensor.clone() for tensor in tensors.values()]
        found = called(names, "compute_advantages", *copies, settings(names, ours, **changes))
        if not isinstance(found, tuple | list) or len(found) != 2:
            return {"advantages": found, "returns": "nothing: a pair (advantages, returns) is asked for"}
        return {"advantages": found[0], "returns": found[1]}

    return Case(words, {**tensors, "mask": tensors["mask"].long(), **knobs}, run)


def step_cases(ours: Names) -> list[Case]:
    """Of ppo_step: the ratios are set by what is said to be log pi_old."""
    one = [(1.0, 1.0), (1.5, 1.0), (1.5, -1.0), (0.5, 1.0), (0.5, -1.0)]
    small = [
        _step_case(
            ours, f"one token with ratio {ratio:g} and advantage {advantage:g}", ONE_TOKEN, [[ratio]], [[advantage]]
        )
        for ratio, advantage in one
    ]
    ratios = [[1.1, 0.6, 1.5, 1.0], [1.4, 1.0, 1.0, 1.0], [0.7, 1.3, 0.9, 1.25]]
    advantages = [[0.5, -1.2, 0.3, 0.0], [-0.7, 0.0, 0.0, 0.0], [1.1, 0.9, -0.4, 1.6]]
    short, ragged = (LENGTHS, [ratios[0][:3]] * 2, [advantages[2][:3]] * 2), (RAGGED, ratios, advantages)
    return [
        *small,
        _step_case(ours, "completions of three tokens and of one", *short),
        _step_case(ours, "prompts and completions of different lengths", *ragged),
        _step_case(ours, "the same at temperature 0.7", *ragged, temperature=0.7),
        _step_case(ours, "the same with max_grad_norm 0.5", *ragged, max_grad_norm=0.5),
        _step_case(ours, "two steps, one after the other", *ragged, steps=2),
    ]  # fmt: skip


def _step_case(
    ours: Names, words: str, batch: Batch, ratios: Any, advantages: Any, *, steps: int = 1, **changes: float
) -> Case:
    changes = {"max_grad_norm": 1000.0, "clip_range": 0.2, "value_coef": 0.3} | changes
    policy, head, mask = language_model(2), value_head(2), batch.mask
    now = batch.log_probs(ours, policy, settings(ours, ours, **changes))
    ratio, advantage = torch.as_tensor(ratios) * mask, torch.as_tensor(advantages) * mask
    old, returns = torch.where(mask, now - ratio.log(), 0.0), 0.5 * mask
    with torch.no_grad():  # old values on the far side of what is predicted now: a clip around them always shows
        before = ours["features"](policy, batch.ids, batch.real)[:, -mask.shape[1] - 1 : -1]
        predicted = head(before).squeeze(2)
    values = mask * (predicted + (predicted - returns).sign())
    given = {"ratios": ratio, "advantages": advantage, "returns": returns, "values": values, "mask": mask.long()}
    given |= changes

    def run(names: Names) -> dict[str, Any]:
        models = copy.deepcopy(policy), copy.deepcopy(head)
        optimizer = torch.optim.SGD([{"params": [*model.parameters()]} for model in models], lr=0.1)
        said: Any = {}
        for _ in range(steps):
            tensors = advantage.clone(), returns.clone(), settings(names, ours, **changes)
            said = called(names, "ppo_step", *models, optimizer, batch.episodes(names, old, values), *tensors)
        moved = [_moved(before, after) for before, after in zip((policy, head), models, strict=True)]
        known = said if isinstance(said, dict) else {}
        losses = {name: known.get(name) for name in ("policy_loss", "value_loss", "clip_fraction")}
        return losses | {"step of the policy": moved[0], "step of the value head": moved[1]}

    return Case(words, given, run)


def _moved(before: Any, after: Any) -> Tensor:
    """How far each weight has gone."""
    pairs = zip(before.parameters(), after.parameters(), strict=True)
    return torch.cat([(new - old).detach().flatten() for old, new in pairs])
