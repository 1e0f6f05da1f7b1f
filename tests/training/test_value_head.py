"""The value head against the exact expected return of every prefix, under a policy that stands still."""

import numpy as np
import pytest
import torch

from tests.nights import nightly
from tests.training import tiny, toy
from tests.training.enumerable import CompletionSpace

SPACE = CompletionSpace(num_tokens=4, max_length=3, eos_id=3)


@torch.no_grad()
def values_of(trainer, problem):
    """What the head says at every prompt and unfinished prefix, [states], in the order of `exact`."""
    values = []
    for depth in range(SPACE.max_length):
        for prompt in problem.encoded:
            ids = torch.tensor([prompt.ids + prefix for prefix in SPACE.prefixes(depth).tolist()])
            last = torch.zeros(ids.shape, dtype=torch.bool)
            last[:, -1] = True
            values.extend(trainer.critic(ids, last, trainer.policy.hidden(ids)[last]).tolist())
    return np.array(values)


def exact(trainer, problem):
    """Of the same states: the exact expected return, and how often the policy comes by."""
    steps, reference, gamma = *map(problem.steps, (trainer.policy, trainer.reference)), trainer.config.ppo.gamma
    returns = SPACE.expected_returns(steps, reference, problem.rewards, problem.beta, gamma)
    visits = [np.ones_like(returns[0])]
    for step in steps[:-1]:
        onward = visits[-1][..., None] * np.exp(step[..., SPACE.going_on])
        visits.append(onward.reshape(len(onward), -1))
    return np.concatenate([r.ravel() for r in returns]), np.concatenate([v.ravel() for v in visits])


@pytest.mark.parametrize(("seed", "gamma"), [(0, 1.0), nightly(1, 1.0), nightly(2, 1.0), (0, 0.9)])
def test_on_features_that_tell_prefixes_apart_the_value_head_finds_the_exact_expected_return(seed, gamma):
    """The policy has nothing to train, and it is not the reference, so that the returns hold KL and score."""
    problem = toy.Problem(SPACE, ["ab", "bcd"], toy.structured_rewards(SPACE, 2, seed, first=2.0), beta=0.5)
    policy, reference = toy.table(problem, seed + 10), toy.table(problem, seed)
    policy.requires_grad_(False)
    sizes = tiny.ppo(batch_size=512, minibatch_size=256, micro_batch_size=256, num_epochs=2, num_updates=60)
    trainer = toy.trainer(problem, policy, reference, **sizes, ppo__learning_rate=3e-3, ppo__gamma=gamma)
    before = tiny.weights(policy)
    trainer.train(lambda metrics: None)
    assert all(map(torch.equal, before, policy.parameters()))
    returns, visits = exact(trainer, problem)
    values = values_of(trainer, problem)
    unexplained = np.cov(returns - values, aweights=visits) / np.cov(returns, aweights=visits)
    assert unexplained < 0.02
    often = visits > 0.05
    assert often.sum() >= 8
    assert values[often] == pytest.approx(returns[often], abs=0.2)
