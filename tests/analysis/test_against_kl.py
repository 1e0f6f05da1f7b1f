"""Score against KL: the path of a run, what was possible (in a world in which every text is listed), and the two marks
on the slider of beta."""

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest

from playground.analysis import against_kl, regimes
from playground.analysis.against_kl import BestOf, Point, Possible
from playground.analysis.path import PathPoint, at, path_of
from playground.analysis.regimes import Measured
from playground.rewards.best_answers import kl_bound, kl_of_best
from playground.runs.folder.records import Event
from playground.runs.frontier_samples import FrontierSamples
from tests.nights import SEEDS
from tests.support import sample
from tests.training.enumerable import expectation, kl, log_partition, optimum


def evaluations(*points):
    """(update, KL, gain) of 16 prompts with levels of their own."""
    return [
        sample(prompt, "during" if update else "before", gain + prompt / 4, kl=kl, update=update)
        for update, kl, gain in points
        for prompt in range(16)
    ]


def best_of(**data):
    return [Event(seq=0, time=0.0, kind="best_of", data=data)]


def test_a_path_has_means_over_prompts_with_their_interval_and_the_last_attempt_counts():
    samples = [
        sample(0, "during", 1.0, kl=2.0, update=5),
        sample(0, "during", 3.0, kl=2.0, update=5, seed=1),
        sample(1, "during", 4.0, kl=4.0, update=5),
        sample(2, "during", None, kl=9.0, update=5),
        sample(0, "before", 0.5, kl=0.0, update=0),
    ]
    first, second = path_of(samples)
    assert (first.update, first.kl, first.score, first.half) == (0, 0.0, 0.5, None)
    assert (second.update, second.kl, second.score) == (5, 3.0, 3.0)
    assert second.half == pytest.approx(12.706)  # prompts have 2 and 4: their mean is 3, its error 1, one degree
    assert second.gain == 0.5, "of the answer that has a score at both"
    assert path_of([*samples, sample(1, "during", 6.0, kl=4.0, update=5)])[1].score == 4.0
    assert path_of([]) == []
    assert path_of(evaluations((5, 1.0, 1.0)))[0].gain is None


def test_the_gain_at_a_distance_is_read_off_the_path():
    path = [PathPoint(0, kl, gain, None, gain, half) for kl, gain, half in ((0, 0, 0), (4, 3, 0.4), (2, 1, 0.2))]
    halfway, later = at(path, 1), at(path, 3)
    assert (halfway.gain, halfway.gain_half) == (0.5, pytest.approx(0.1))
    assert (later.gain, later.gain_half) == (2, pytest.approx(0.3))
    assert at(path, 4).gain == 3
    assert at(path, 4.1) is None
    assert at([], 1) is None


def test_the_path_of_the_best_of_n_shows_what_the_best_of_fewer_would_be():
    samples = evaluations((0, 0.0, 0.25), (5, 1.84, 2.25))
    path = path_of(samples, best_of(n=[1, 2, 16], score=[0.1, 0.7, 2.1], kl=[0, math.log(2) - 0.5, 1.84]))
    assert [point.kl for point in path] == [0, math.log(2) - 0.5, 1.84]
    assert [point.gain for point in path] == pytest.approx([0, 0.6, 2.0])
    assert path[1].score - path[0].score == pytest.approx(0.6)
    assert path[0].score == path_of(samples)[0].score
    for damaged in ({}, {"score": [1.0], "kl": "x"}, {"score": [1.0], "kl": [0, 1]}, {"score": ["a"], "kl": [0]}):
        assert [point.gain for point in path_of(samples, best_of(**damaged))] == [0, 2], "its evaluations are left"


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


@pytest.mark.parametrize("sd", [0.5, 1.0, 40.0])
def test_the_marks_of_a_bell_are_the_rules_of_thumb_in_units_of_its_spread(sd):
    scores = [NormalDist(0, sd).inv_cdf((place + 0.5) / 4001) for place in range(4001)]  # at the quantiles of a bell
    marks = regimes.regimes(Measured(scores, float(np.std(scores)), 20.0), answers=64)
    assert marks.gain == pytest.approx(2 * sd / 8, rel=0.01)
    assert marks.tight == pytest.approx(sd**2 / marks.gain, rel=0.02)  # the gain is Var / beta
    assert marks.loose == pytest.approx(sd / math.sqrt(2 * 20), rel=0.02)  # the KL is Var / (2 beta^2)


def test_a_score_of_two_values_is_not_taken_for_a_bell():
    """Half the texts score 1, half -1: the best policy gains tanh(1 / beta), and is never farther than log 2."""
    two = Measured([-1.0, 1.0] * 32, 1.0, 3.0)
    marks = regimes.regimes(two, answers=64)
    assert marks.loose is None
    assert marks.tight == pytest.approx(1 / math.atanh(0.25), rel=0.01)
    near = regimes.regimes(two._replace(nats=0.3), answers=64).loose
    up = (1 + math.tanh(1 / near)) / 2
    assert up * math.log(2 * up) + (1 - up) * math.log(2 * (1 - up)) == pytest.approx(0.3, rel=0.01)
