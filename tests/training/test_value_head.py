"""The value head against the exact expected return of every prefix, under a policy that stands still."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from playground.training.loop.trainer import PPOTrainer
from playground.training.models.language_model import LanguageModel
from tests.nights import nightly
from tests.training import toy
from tests.training.enumerable import CompletionSpace


def problem(seed: int, max_length: int = 3) -> toy.Problem:
    space = CompletionSpace(num_tokens=4, max_length=max_length, eos_id=3)
    return toy.Problem(space, ["ab", "bcd"], toy.structured_rewards(space, 2, seed, first=2.0), beta=0.5)


def train_value_head(problem: toy.Problem, policy: LanguageModel, reference: LanguageModel, **changes) -> PPOTrainer:
    """The policy has nothing to train, and it is not the reference, so that the returns hold KL and score."""
    policy.requires_grad_(False)
    sizes = {"ppo__batch_size": 512, "ppo__minibatch_size": 256, "ppo__micro_batch_size": 256}
    learning = {"ppo__num_updates": 60, "ppo__num_epochs": 2, "ppo__learning_rate": 3e-3}
    trainer = toy.trainer(problem, policy, reference, **{**sizes, **learning, **changes})
    before = [parameter.clone() for parameter in policy.parameters()]
    for _ in range(trainer.config.ppo.num_updates):
        trainer.update()
    assert all(torch.equal(a, b) for a, b in zip(before, policy.parameters(), strict=True))
    return trainer


@torch.no_grad()
def says(trainer: PPOTrainer, problem: toy.Problem) -> np.ndarray:
    """The value head at every prompt and unfinished prefix, [states], in the order of `exact`."""
    values = []
    for depth in range(problem.space.max_length):
        for prompt in problem.encoded:
            ids = [prompt.ids + prefix for prefix in problem.space.prefixes(depth).tolist()]
            last = torch.zeros(len(ids), len(ids[0]), dtype=torch.bool)
            last[:, -1] = True
            hidden = trainer.policy.hidden(torch.tensor(ids))[last]
            values.extend(trainer.critic(torch.tensor(ids), last, hidden).tolist())
    return np.array(values)


def exact(trainer: PPOTrainer, problem: toy.Problem) -> tuple[np.ndarray, np.ndarray]:
    """Of the same states: the exact expected return, and how often the policy comes by."""
    steps, gamma = problem.steps(trainer.policy), trainer.config.ppo.gamma
    reference = problem.steps(trainer.reference)
    returns = problem.space.expected_returns(steps, reference, problem.rewards, problem.beta, gamma)
    visits = [np.ones_like(returns[0])]
    for step in steps[:-1]:
        onward = visits[-1][..., None] * np.exp(step[..., problem.space.going_on])
        visits.append(onward.reshape(len(onward), -1))
    return np.concatenate([r.ravel() for r in returns]), np.concatenate([v.ravel() for v in visits])


def explained(predicted: np.ndarray, actual: np.ndarray, weights: np.ndarray) -> float:
    """1 - Var[actual - predicted] / Var[actual] over the states that the policy visits."""

    def variance(values: np.ndarray) -> float:
        return float(np.cov(values, aweights=weights))

    return 1 - variance(actual - predicted) / variance(actual)


@pytest.mark.parametrize(("seed", "gamma"), [(0, 1.0), nightly(1, 1.0), nightly(2, 1.0), (0, 0.9)])
def test_on_features_that_tell_prefixes_apart_it_finds_the_exact_expected_return(seed, gamma):
    here = problem(seed)
    trainer = train_value_head(here, toy.table(here, seed + 10), toy.table(here, seed), ppo__gamma=gamma)
    returns, visits = exact(trainer, here)
    values = says(trainer, here)
    assert explained(values, returns, visits) > 0.98
    often = visits > 0.05
    assert often.sum() >= 8
    assert values[often] == pytest.approx(returns[often], abs=0.2)
