"""The frontier's estimate held to problems small enough to list every completion, where the best policy is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench import frontier
from bench.frontier import Optimum, best_score, reweighted, share
from playground.config import SamplingConfig
from tests.train import toy
from tests.train.enumerable import Array, CompletionSpace, expectation, kl, log_partition, optimum

SPACE = CompletionSpace(num_tokens=4, max_length=3, eos_id=3)  # 40 completions
PROMPTS, EACH, BETA = 300, 400, 0.5
ERRORS = 4  # standard errors


class Problem:
    """A reference, a reward and other policies, all random, for each of many prompts; draws from all of them.

    Args:
        towards: how far the other policies lie on the way from the reference to the best one: 1 is that one itself, 0
            the reference, -1 as far on the other side.
    """

    def __init__(self, seed: int, towards: tuple[float, ...]) -> None:
        generator = np.random.default_rng(seed)
        size = PROMPTS, len(SPACE.completions())
        self.reference = normalised(generator.normal(size=size))
        self.rewards = generator.normal(size=size)
        self.best = optimum(self.reference, self.rewards, BETA)
        others = [normalised(self.reference + part * self.rewards / BETA) for part in towards]
        self.policies = np.stack([self.reference, *others])
        every = [[generator.choice(size[1], EACH, p=np.exp(row)) for row in policy] for policy in self.policies]
        drawn = np.concatenate([np.array(rows) for rows in every], axis=1)
        self.log_probs = np.stack([np.take_along_axis(policy, drawn, axis=1) for policy in self.policies])
        self.scores = np.take_along_axis(self.rewards, drawn, axis=1)

    def off(self, found: Optimum) -> dict[str, float]:
        """How far an estimate is from the truth, as a mean over prompts, in standard errors of that mean."""
        exact = {
            "score": expectation(self.best, self.rewards),
            "kl": kl(self.best, self.reference),
            "log_partition": log_partition(self.reference, self.rewards, BETA),
        }
        off = {name: getattr(found, name) - value for name, value in exact.items()}
        return {name: float(abs(o.mean()) / (o.std() / math.sqrt(PROMPTS))) for name, o in off.items()}


def normalised(logits: Array) -> Array:
    return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)


@pytest.mark.parametrize("towards", [(0.5, 1.3), (0.0,), (-1.0, -0.5)], ids=["near", "reference only", "far"])
@pytest.mark.parametrize("seed", [0, 1])
def test_score_kl_and_log_z_of_the_best_policy_are_found_within_their_error(
    seed: int, towards: tuple[float, ...]
) -> None:
    problem = Problem(seed, towards)
    off = problem.off(reweighted(problem.log_probs, problem.scores, BETA))
    assert max(off.values()) < ERRORS, off


@pytest.mark.parametrize("left_out", [1, 2])
def test_a_policy_whose_density_is_left_out_makes_the_estimate_wrong(left_out: int) -> None:
    problem = Problem(0, (0.5, 1.3))
    without = np.delete(problem.log_probs, left_out, axis=0)
    off = problem.off(reweighted(without, problem.scores, BETA))
    assert min(off["score"], off["log_partition"]) > 2 * ERRORS, off


def test_as_many_samples_count_as_the_best_policy_leaves_of_them() -> None:
    """By hand: weights 1/2, 1/4, 1/4, 0 of four draws are worth 8/3. Where half of the draws are the best policy's own
    no weight is above twice the mean, so at least half of all count."""
    even = np.log(np.full((1, 1, 4), 0.25))
    found = reweighted(even, np.array([[math.log(2), 0.0, 0.0, -1e3]]), beta=1.0)
    assert found.effective == pytest.approx([8 / 3])
    assert found.log_partition == pytest.approx([0.0])
    problem = Problem(0, (1.0,))
    assert reweighted(problem.log_probs, problem.scores, BETA).effective.min() > 0.95 * EACH


@pytest.mark.parametrize("eos_id", [3, None])
def test_what_is_drawn_from_models_has_the_probability_that_each_model_gives_it(eos_id: int | None) -> None:
    """End-of-text included; a completion that was cut counts as it stands."""
    space = CompletionSpace(num_tokens=4, max_length=3, eos_id=eos_id)
    problem = toy.Problem(space, ["ab", "bcd"], np.zeros((2, len(space.completions()))), beta=0.5, temperature=0.7)
    models = [toy.table(problem, seed) for seed in range(3)]
    sampling = SamplingConfig(max_new_tokens=space.max_length, temperature=problem.temperature)
    drawn = frontier.draw(models, problem.tokens, problem.encoded, 40, sampling)
    written = [problem.tokens.decode([t for t in row if t >= 0]) for row in space.completions().tolist()]
    column = np.array([written.index(text) for text in drawn.texts]).reshape(2, -1)
    assert len(set(column.ravel())) > 20
    for model, found in zip(models, drawn.log_probs, strict=True):
        assert found == pytest.approx(np.take_along_axis(problem.log_probs(model), column, axis=1), abs=1e-5)
    assert drawn.ended == [text.endswith(".") for text in drawn.texts]
    reference = problem.log_probs(models[0])
    exact = [kl(problem.log_probs(model), reference) for model in models]
    error = drawn.kl.std(2) / math.sqrt(40)
    assert (abs(drawn.kl.mean(2) - exact) <= ERRORS * error + 1e-6).all()


def test_the_share_of_the_best_score_is_read_between_two_points_of_the_frontier() -> None:
    """By hand: points (2 nats, 1 sd) and (6 nats, 3 sd), so at 3 nats 1.5 sd; a policy with 1.2 sd has four fifths."""
    points = [Optimum(np.full(5, s), np.full(5, k), np.zeros(5), np.zeros(5)) for s, k in ((3.0, 6.0), (1.0, 2.0))]
    assert best_score(points, 3.0) == pytest.approx(1.5)
    assert share(points, np.full(5, 1.2), np.full(5, 3.0)) == pytest.approx((0.8, 0.0))
    assert best_score(points, 6.1) is None, "beyond the last point nothing is known"


def test_the_error_of_a_share_comes_from_the_prompts() -> None:
    """Four prompts, frontier flat at 1 sd, scores 0, 0, 2, 2: the mean of four draws has a deviation of 1 / 2."""
    points = [Optimum(np.ones(4), np.full(4, k), np.zeros(4), np.zeros(4)) for k in (0.0, 9.0)]
    found, error = share(points, np.array([0.0, 0.0, 2.0, 2.0]), np.full(4, 3.0))
    assert found == pytest.approx(1.0)
    assert error == pytest.approx(0.5, rel=0.15)


def test_policy_and_frontier_are_drawn_anew_together() -> None:
    """By hand: on a frontier of `each` sd a nat a policy with nats x each sd has all of it, whatever prompts count."""
    nats, each = np.array([1, 1, 3, 3]), np.array([1, 1, 3, 3])
    points = [Optimum(k * each, np.full(4, k), np.zeros(4), np.zeros(4)) for k in (0.0, 9.0)]
    assert share(points, 2 * each, np.full(4, 2)) == pytest.approx((1.0, 0.0))
    flat = [Optimum(np.full(4, k), np.full(4, k), np.zeros(4), np.zeros(4)) for k in (0.0, 9.0)]
    assert share(flat, nats, nats) == pytest.approx((1.0, 0.0))
