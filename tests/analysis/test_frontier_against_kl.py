"""Score against KL, held to a world in which every text and its probability is listed, and to sentences by hand."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from playground.analysis import against_kl
from playground.analysis.against_kl import BestOf, Point, Possible
from playground.analysis.path import PathPoint
from playground.rewards.best_answers import kl_bound, kl_of_best
from playground.runs.frontier_samples import FrontierSamples
from tests.nights import SEEDS

PROMPTS, TEXTS, EACH = 40, 12, 300


@dataclass
class World:
    """A reference, a trained policy and a score for each text of each prompt, all listed; and texts drawn from both."""

    reference: np.ndarray
    policy: np.ndarray
    scores: np.ndarray
    drawn: FrontierSamples

    def best(self, beta):
        """Score and KL of pi_ref exp(score / beta) / Z, text by text, mean over prompts."""
        logits = self.reference + self.scores / beta
        log_probs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        chance = np.exp(log_probs)
        return (chance * self.scores).sum(1).mean(), (chance * (log_probs - self.reference)).sum(1).mean()


def normalised(logits):
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


def world(seed):
    random = np.random.default_rng(seed)
    reference = normalised(random.normal(size=(PROMPTS, TEXTS)))
    scores = random.normal(size=(PROMPTS, TEXTS))
    policy = normalised(reference + scores / 0.4)
    policies = [reference, policy]
    texts = np.concatenate(
        [[random.choice(TEXTS, EACH, p=np.exp(row)) for row in log_probs] for log_probs in policies], axis=1
    )
    ratios = [np.take_along_axis(other - reference, texts, axis=1).tolist() for other in policies[1:]]
    drawn = FrontierSamples(
        updates=[0, 40],
        each=EACH,
        scores=np.take_along_axis(scores, texts, axis=1).tolist(),
        log_ratios=ratios,
    )
    return World(reference, policy, scores, drawn)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_policies_are_those_of_the_enumeration(seed):
    made = world(seed)
    found = against_kl.possible(made.drawn, beta=0.3)
    assert 0.3 in [point.beta for point in found.optimum], "the run's own beta is one of the points"
    for point in found.optimum:
        if 0.25 < point.beta < 4:
            score, kl = made.best(point.beta)
            assert point.score == pytest.approx(score, abs=0.06)
            assert point.kl == pytest.approx(kl, abs=0.06)
            assert point.effective > against_kl.LEAST_EFFECTIVE
    assert found.start == pytest.approx((np.exp(made.reference) * made.scores).sum(1).mean(), abs=0.05)
    assert (found.texts, found.prompts, found.updates) == (PROMPTS * EACH, PROMPTS, [0, 40])
    kls = [point.kl for point in found.optimum]
    assert kls == sorted(kls)


def test_the_best_of_n_is_the_mean_over_all_choices_within_each_prompt():
    scores = [[0.0, 3.0, 1.0, 2.0], [5.0, 5.0, -1.0, 0.5]]
    found = against_kl.possible(FrontierSamples(updates=[0], each=4, scores=scores, log_ratios=[]))
    by_hand = {
        n: np.mean([np.mean([max(some) for some in itertools.combinations(row, n)]) for row in scores])
        for n in (1, 2, 4)
    }
    assert {one.n: one.score for one in found.best_of} == pytest.approx(by_hand)
    assert [one.kl for one in found.best_of[:2]] == [kl_bound(1), kl_bound(2)]
    assert found.best_of[2].kl == pytest.approx((kl_bound(4) + kl_of_best(scores[1], 4)) / 2)
    spread = (kl_bound(4) - kl_of_best(scores[1], 4)) / 2  # of two prompts, one degree
    assert found.best_of[2].kl_half == pytest.approx(12.706 * spread)


OPTIMUM = [Point(4.0, 0.0, 0.0, 500), Point(1.0, 1.0, 1.0, 200), Point(0.5, 2.0, 3.0, 40), Point(0.1, 3.0, 9.0, 4)]
FOUND = Possible(0.0, [BestOf(1, 0.0, 0.0), BestOf(8, 1.2, 1.4, 0.1)], OPTIMUM, [0, 40], 512, 64)


def ends(kl, score):
    return [PathPoint(0, 0.0, 0.0, 0.2), PathPoint(40, kl, score, 0.25)]


def test_it_is_said_how_far_the_run_is_from_what_is_possible():
    near, far = (against_kl.sentence(ends(kl, 1.2), FOUND) for kl in (2.0, 6.0))
    assert near == "At 2 nats the run scores 1.20 \u00b1 0.25; by these samples 1.50 is possible there."
    assert "unknown: fewer than 30" in far
    assert against_kl.sentence(ends(2.0, 1.2)[:1], FOUND) == "" == against_kl.sentence(ends(2.0, 1.2), None)


def test_points_are_trusted_up_to_the_first_that_too_few_samples_are_behind():
    assert len(against_kl.trusted(OPTIMUM)) == 3
    assert against_kl.trusted([*OPTIMUM, Point(0.05, 3.1, 10.0, 90)]) == OPTIMUM[:3]
    assert against_kl.best_at(OPTIMUM, 3.0) == 2.0
    assert against_kl.best_at(OPTIMUM, 3.1) is None
