"""Score against KL, held to a world in which every text and its probability is listed, and to sentences by hand."""

import itertools
import math

import numpy as np
import pytest

from playground.analysis import against_kl
from playground.analysis.against_kl import BestOf, Point, Possible
from playground.analysis.path import PathPoint
from playground.rewards.best_answers import kl_bound, kl_of_best
from playground.runs.frontier_samples import FrontierSamples
from tests.nights import SEEDS
from tests.training.enumerable import expectation, kl, log_partition, optimum

TEXTS, EACH, BETA = 40, 400, 0.5
ERRORS = 4  # standard errors


class World:
    """A reference, other policies and the score of each text of each prompt, all listed; texts drawn from all policies.

    Args:
        towards: how far the others lie on the way from the reference to the best policy: 1 is that one itself, 0 the
            reference, -1 as far on the other side.
    """

    def __init__(self, seed, towards, prompts=300):
        random = np.random.default_rng(seed)
        self.reference = normalised(random.normal(size=(prompts, TEXTS)))
        self.every_score = random.normal(size=(prompts, TEXTS))
        others = [normalised(self.reference + part * self.every_score / BETA) for part in towards]
        policies = np.stack([self.reference, *others])
        texts = np.concatenate(
            [[random.choice(TEXTS, EACH, p=np.exp(row)) for row in policy] for policy in policies], axis=1
        )
        self.log_probs = np.stack([np.take_along_axis(policy, texts, axis=1) for policy in policies])
        self.scores = np.take_along_axis(self.every_score, texts, axis=1)

    def best(self, beta):
        """Score, KL and log Z of the best policy for each prompt, text by text."""
        best = optimum(self.reference, self.every_score, beta)
        partition = log_partition(self.reference, self.every_score, beta)
        return {
            "score": expectation(best, self.every_score),
            "kl": kl(best, self.reference),
            "log_partition": partition,
        }

    def errors_of(self, estimate):
        """How far an estimate is from the truth, as a mean over prompts, in standard errors of that mean."""
        off = {name: getattr(estimate, name) - exact for name, exact in self.best(BETA).items()}
        return {name: abs(error.mean()) / (error.std() / math.sqrt(len(error))) for name, error in off.items()}


def normalised(logits):
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


@pytest.mark.parametrize("towards", [(0.5, 1.3), (0.0,), (-1.0, -0.5)], ids=["near", "reference only", "far"])
@pytest.mark.parametrize("seed", SEEDS)
def test_score_kl_and_log_z_of_the_best_policy_are_found_within_their_error(seed, towards):
    world = World(seed, towards)
    errors = world.errors_of(against_kl.reweighted(world.log_probs, world.scores, BETA))
    assert max(errors.values()) < ERRORS, errors


@pytest.mark.parametrize("left_out", [1, 2])
def test_a_policy_whose_density_is_left_out_makes_the_estimate_wrong(left_out):
    world = World(0, (0.5, 1.3))
    without = np.delete(world.log_probs, left_out, axis=0)
    errors = world.errors_of(against_kl.reweighted(without, world.scores, BETA))
    assert min(errors["score"], errors["log_partition"]) > 2 * ERRORS, errors


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_policies_that_the_drawn_texts_of_a_run_show_are_those_of_the_enumeration(seed):
    world = World(seed, (1.25,), prompts=24)
    ratios = (world.log_probs[1:] - world.log_probs[0]).tolist()
    drawn = FrontierSamples(updates=[0, 40], each=EACH, scores=world.scores.tolist(), log_ratios=ratios)
    possible = against_kl.possible(drawn, beta=0.3)
    assert 0.3 in [point.beta for point in possible.optimum], "the run's own beta is one of the points"
    for point in possible.optimum:
        if 0.25 < point.beta < 4:
            best = world.best(point.beta)
            assert point.score == pytest.approx(best["score"].mean(), abs=0.06)
            assert point.kl == pytest.approx(best["kl"].mean(), abs=0.06)
            assert point.effective > against_kl.LEAST_EFFECTIVE
    assert possible.start == pytest.approx(expectation(world.reference, world.every_score).mean(), abs=0.05)
    assert (possible.texts, possible.prompts, possible.updates) == (24 * EACH, 24, [0, 40])
    kls = [point.kl for point in possible.optimum]
    assert kls == sorted(kls)


def test_the_best_of_n_is_the_mean_over_all_choices_within_each_prompt():
    scores = [[0.0, 3.0, 1.0, 2.0], [5.0, 5.0, -1.0, 0.5]]
    possible = against_kl.possible(FrontierSamples(updates=[0], each=4, scores=scores, log_ratios=[]))
    by_hand = {
        n: np.mean([np.mean([max(some) for some in itertools.combinations(row, n)]) for row in scores])
        for n in (1, 2, 4)
    }
    assert {best.n: best.score for best in possible.best_of} == pytest.approx(by_hand)
    assert [best.kl for best in possible.best_of[:2]] == [kl_bound(1), kl_bound(2)]
    assert possible.best_of[2].kl == pytest.approx((kl_bound(4) + kl_of_best(scores[1], 4)) / 2)
    spread = (kl_bound(4) - kl_of_best(scores[1], 4)) / 2  # of two prompts, one degree
    assert possible.best_of[2].kl_half == pytest.approx(12.706 * spread)


OPTIMUM = [Point(4.0, 0.0, 0.0, 500), Point(1.0, 1.0, 1.0, 200), Point(0.5, 2.0, 3.0, 40), Point(0.1, 3.0, 9.0, 4)]
POSSIBLE = Possible(0.0, [BestOf(1, 0.0, 0.0), BestOf(8, 1.2, 1.4, 0.1)], OPTIMUM, [0, 40], 512, 64)


def ends(kl, score):
    return [PathPoint(0, 0.0, 0.0, 0.2), PathPoint(40, kl, score, 0.25)]


def test_the_sentence_says_how_far_the_run_is_from_what_is_possible():
    near, far = (against_kl.sentence(ends(kl, 1.2), POSSIBLE) for kl in (2.0, 6.0))
    assert near == "At 2 nats the run scores 1.20 \u00b1 0.25; by these samples 1.50 is possible there."
    assert "unknown: fewer than 30" in far
    assert against_kl.sentence(ends(2.0, 1.2)[:1], POSSIBLE) == "" == against_kl.sentence(ends(2.0, 1.2), None)


def test_points_are_trusted_up_to_the_first_that_too_few_samples_are_behind():
    assert len(against_kl.trusted(OPTIMUM)) == 3
    assert against_kl.trusted([*OPTIMUM, Point(0.05, 3.1, 10.0, 90)]) == OPTIMUM[:3]
    assert against_kl.best_at(OPTIMUM, 3.0) == 2.0
    assert against_kl.best_at(OPTIMUM, 3.1) is None
