"""`method: best_of_n` held to what can be listed: the distribution of the best of n texts is known exactly."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from playground.rewards.best_answers import best_rows, expected_best, expected_curve, kl_bound, kl_of_best
from playground.rewards.mixture import Mixture
from playground.training.loop.evaluation import FixedPrompts
from playground.training.loop.scoring import Scorer
from playground.training.loop.untrained import BestOfN
from tests.nights import SEEDS
from tests.training import tiny, toy
from tests.training.enumerable import CompletionSpace, expectation
from tests.training.test_optimum import small_problem

SMALL = CompletionSpace(num_tokens=4, max_length=3, eos_id=3)


def of_best(log_probs, rewards, n):
    """Log-probs of the best of n independent completions, where no two rewards are equal: F(y)^n - F(below y)^n."""
    order = np.argsort(rewards)
    reached = np.cumsum(np.exp(log_probs[order])).clip(max=1)
    best = np.empty_like(log_probs)
    best[order] = np.log(np.diff(reached**n, prepend=0.0))
    return best


def trainer(seed, n, batch=512, updates=4):
    problem = small_problem(seed)
    sizes = tiny.ppo(batch_size=batch, minibatch_size=batch, num_updates=updates, samples_per_prompt=n)
    method = toy.trainer(problem, toy.table(problem, seed), method="best_of_n", seed=seed, **sizes)
    assert isinstance(method, BestOfN)
    return problem, method


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [2, 8])
def test_the_answers_of_best_of_n_are_distributed_as_the_best_of_n(seed, n):
    problem, method = trainer(seed, n)
    of_prompts = zip(problem.log_probs(method.reference), problem.rewards, strict=True)
    exact = [float(expectation(of_best(log_probs, rewards, n), rewards)) for log_probs, rewards in of_prompts]
    heard = [method.update() for _ in range(4)]
    spread = float(np.mean([item.score_std for item in heard]))
    error = spread / math.sqrt(4 * 512 / n)
    assert np.mean([item.score_mean for item in heard]) == pytest.approx(np.mean(exact), abs=4 * error)
    plain = expectation(problem.log_probs(method.reference), problem.rewards).mean()
    assert np.mean(exact) > plain + 4 * error, "the best is better than any"


@pytest.mark.parametrize("n", [4, 16])
@pytest.mark.parametrize("shares", [[0.9, 0.1], [0.5, 0.3, 0.15, 0.04, 0.01], [0.01] * 100])
def test_the_distance_of_best_of_n_is_that_of_the_levels_of_the_reward(shares, n):
    """q, the likelihood of a level after the choice, listed; and what n texts of each of 400 prompts say of it."""
    reached = np.cumsum(shares)
    q = np.diff(reached**n, prepend=0.0)
    assert kl_of_best([0.1 * number for number in range(n)], n) == kl_bound(n)
    assert kl_of_best([1.0] * n, n) == 0.0
    exact = float(np.sum(np.where(q > 0, q * np.log(np.maximum(q, 1e-300) / shares), 0.0)))
    assert exact <= kl_bound(n)
    generator = np.random.default_rng(0)
    drawn = generator.choice(len(shares), size=(400, n), p=np.array(shares) / sum(shares)).astype(float)
    each = [kl_of_best(row, n) for row in drawn.tolist()]
    error = float(np.std(each)) / 20
    assert float(np.mean(each)) == pytest.approx(exact, abs=0.04 * exact + 2 * error)
    curve = expected_curve(drawn.ravel().tolist(), n)
    assert curve.kl == pytest.approx([np.mean([kl_of_best(row, size) for row in drawn.tolist()]) for size in curve.n])


def test_best_of_n_learns_nothing_and_all_its_texts_are_counted():
    _, method = trainer(0, 8, batch=64, updates=2)
    before = tiny.weights(method.policy)
    heard = []
    method.train(heard.append)
    assert all(map(torch.equal, before, method.policy.parameters()))
    assert [item.episodes for item in heard] == [64, 128]
    assert heard[-1].tokens_trained == 0
    assert heard[0].tokens > 8 * heard[0].completion_length, "all texts are on the bill, not only the chosen ones"
    assert all(0 < item.kl_to_reference <= kl_bound(8) + 1e-9 for item in heard)
    assert heard[0].policy_loss is None
    assert heard[0].explained_variance is None


def test_the_mean_best_of_m_is_that_of_all_choices():
    scores = [0.3, -1.0, 2.5, 0.3, 1.0]
    for m in range(1, 6):
        every = [max(choice) for choice in itertools.combinations(scores, m)]
        assert expected_best(scores, m) == pytest.approx(sum(every) / len(every))
    assert best_rows([1, 3, 3, 5, 4, 0], 3) == [1, 3]
    curve = expected_curve([*scores, *reversed(scores)], 5)
    assert curve.n == [1, 2, 4, 5]
    assert curve.score[-1] == 2.5
    assert curve.kl[0] == 0
    assert curve.score[0] == pytest.approx(np.mean(scores))


def test_the_fixed_prompts_get_the_best_of_n_and_the_first_of_them_is_the_answer_without():
    config, policy, tokens = tiny.config(evaluation__num_prompts=3), tiny.model(), tiny.tokens()
    prompts, scorer = tiny.prompts("ab", "c", "dd"), Scorer(config, tiny.count_letter())
    fixed = FixedPrompts(config, tokens, prompts, scorer)
    plain = fixed.evaluate("before", 0, policy, None)
    best = fixed.evaluate("after", 1, policy, None, tries=6)
    assert len(plain.scores) == 3
    assert len(best.scores) == 18
    assert best.scores[::6] == plain.scores
    for number, sample in enumerate(best.samples):
        scores = best.scores[6 * number : 6 * number + 6]
        assert (sample.seed, sample.score) == (plain.samples[number].seed, max(scores))
        assert sample.kl == kl_of_best(scores, 6)
        assert sample.scores["letter"] == sample.completion.count("a")
    assert [item.score for item in best.samples] != plain.scores
    alike = Scorer(config, Mixture({"one": (1.0, lambda prompts, completions, **_: [1.0] * len(prompts))}))
    same = replace(fixed, scorer=alike).evaluate("after", 1, policy, None, tries=6)
    assert [item.kl for item in same.samples] == [0.0] * 3, "a choice among equals changes nothing"
