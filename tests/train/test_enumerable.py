"""Expected values by hand or by brute force over sequences, with plain Python loops."""

import itertools
import math

import numpy as np
import pytest

from tests.train.enumerable import CompletionSpace, best_objective, expectation, frontier, kl, objective, optimum

WITH_EOS = CompletionSpace(num_tokens=3, max_length=3, eos_id=1)
WITHOUT = CompletionSpace(num_tokens=3, max_length=3)


def random_steps(space: CompletionSpace, seed: int, prompts: tuple[int, ...] = ()) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    logits = [
        generator.normal(size=(*prompts, len(space.prefixes(depth)), space.num_tokens))
        for depth in range(space.max_length)
    ]
    return [rows - np.logaddexp.reduce(rows, axis=-1, keepdims=True) for rows in logits]


def random_policy(space: CompletionSpace, seed: int) -> np.ndarray:
    return space.sequence_log_probs(random_steps(space, seed))


def row(space: CompletionSpace, prefix: tuple[int, ...]) -> int:
    return [tuple(p) for p in space.prefixes(len(prefix)).tolist()].index(prefix)


def all_completions(space: CompletionSpace) -> set[tuple[int, ...]]:
    """By definition: cut every string of T tokens behind its first end-of-sequence token."""
    cut = set()
    for string in itertools.product(range(space.num_tokens), repeat=space.max_length):
        end = string.index(space.eos_id) + 1 if space.eos_id in string else space.max_length
        cut.add(string[:end])
    return cut


@pytest.mark.parametrize(
    ("space", "count"), [(WITHOUT, 27), (WITH_EOS, 1 + 2 + 4 * 3), (CompletionSpace(8, 4, 7), 2801)]
)
def test_every_completion_is_listed_once(space, count):
    listed = [tuple(token for token in row if token >= 0) for row in space.completions().tolist()]
    assert len(listed) == count
    assert set(listed) == all_completions(space)


@pytest.mark.parametrize("space", [WITHOUT, WITH_EOS])
def test_the_probability_of_a_completion_is_the_product_over_its_tokens_and_they_add_up_to_1(space):
    steps = random_steps(space, 0)
    log_probs = space.sequence_log_probs(steps)
    by_hand = space.rewards(lambda y: sum(steps[t][row(space, y[:t]), token] for t, token in enumerate(y)))
    assert log_probs == pytest.approx(by_hand)
    assert np.exp(log_probs).sum() == pytest.approx(1)


def test_the_optimum_of_two_completions_by_hand():
    """Reference 1/4 and 3/4, rewards log 3 and 0, beta 1: weights 3/4 and 3/4, so a fair coin and J* = log 1.5."""
    reference, rewards = np.log([0.25, 0.75]), np.array([math.log(3), 0.0])
    assert np.exp(optimum(reference, rewards, 1.0)) == pytest.approx([0.5, 0.5])
    assert best_objective(reference, rewards, 1.0) == pytest.approx(math.log(1.5))
    assert kl(np.log([0.5, 0.5]), reference) == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))


@pytest.mark.parametrize("beta", [0.1, 1.0, 5.0])
def test_every_policy_falls_short_of_the_best_objective_by_beta_times_its_kl_to_the_optimum(beta):
    reference = random_policy(WITH_EOS, 0)
    rewards = np.random.default_rng(7).normal(size=reference.shape)
    best = optimum(reference, rewards, beta)
    assert optimum(reference, rewards + 3.0, beta) == pytest.approx(best), "what is of the prompt alone moves nothing"
    assert objective(best, reference, rewards, beta) == pytest.approx(best_objective(reference, rewards, beta))
    for seed in range(1, 6):
        policy = random_policy(WITH_EOS, seed)
        shortfall = best_objective(reference, rewards, beta) - objective(policy, reference, rewards, beta)
        assert shortfall == pytest.approx(beta * kl(policy, best))
        assert shortfall > 0


@pytest.mark.parametrize("space", [WITHOUT, WITH_EOS])
@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_expected_returns_are_averages_over_all_ways_to_go_on(space, gamma):
    beta = 0.4
    steps, reference = random_steps(space, 0), random_steps(space, 1)
    rewards = np.random.default_rng(2).normal(size=len(space.completions()))
    reward_of = dict(zip([tuple(t for t in y if t >= 0) for y in space.completions().tolist()], rewards, strict=True))
    returns = space.expected_returns(steps, reference, rewards, beta, gamma)
    for depth in range(space.max_length):
        for number, prefix in enumerate(map(tuple, space.prefixes(depth).tolist())):
            total = 0.0
            for whole in reward_of:
                if whole[:depth] == prefix and len(whole) > depth:
                    chance, discounted = 1.0, gamma ** (len(whole) - 1 - depth) * reward_of[whole]
                    for t in range(depth, len(whole)):
                        place = row(space, whole[:t]), whole[t]
                        chance *= math.exp(steps[t][place])
                        discounted -= gamma ** (t - depth) * beta * (steps[t][place] - reference[t][place])
                    total += chance * discounted
            assert returns[depth][number] == pytest.approx(total), prefix
    if gamma == 1:
        policies = space.sequence_log_probs(steps), space.sequence_log_probs(reference)
        assert returns[0] == pytest.approx([objective(*policies, rewards, beta)])


def test_along_the_frontier_reward_and_kl_fall_with_beta_from_the_best_completion_to_the_reference():
    reference = random_policy(WITH_EOS, 0)
    rewards = np.random.default_rng(7).normal(size=reference.shape)
    found = frontier(reference, rewards, [1e-3, 0.1, 1.0, 10.0, 1e6])
    assert (np.diff(found) < 0).all()
    assert found[0][0] == pytest.approx(rewards.max(), abs=1e-6)
    assert found[1][0] == pytest.approx(-reference[rewards.argmax()], abs=1e-6)  # all mass on it costs -log pi_ref
    assert found[0][-1] == pytest.approx(expectation(reference, rewards), abs=1e-5)
    assert found[1][-1] == pytest.approx(0, abs=1e-9)
