"""The frontier's estimate held to problems small enough to list every completion, where the best policy is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench import frontier
from bench.frontier import Optimum, reweighted
from playground.config import SamplingConfig
from tests.training import toy
from tests.training.enumerable import Array, CompletionSpace, expectation, kl, log_partition, optimum

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
