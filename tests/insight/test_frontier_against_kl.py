"""Score against KL, held to a world in which every text and its probability is listed, and to sentences by hand."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest

from playground.insight.frontier import against_kl
from playground.insight.frontier.against_kl import BestOf, Look, Possible, Reached
from playground.insight.frontier.reweighting import Point
from playground.rewards.best_answers import kl_bound, kl_of_best
from playground.runs.folder.records import BEST_OF, Event, Sample
from playground.runs.frontier_samples import FrontierSamples
from playground.setup import catalog

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


def world(seed, *, mixed=True):
    random = np.random.default_rng(seed)
    reference = normalised(random.normal(size=(PROMPTS, TEXTS)))
    scores = random.normal(size=(PROMPTS, TEXTS))
    policy = normalised(reference + scores / 0.4)
    policies = [reference, policy] if mixed else [reference]
    texts = np.concatenate(
        [[random.choice(TEXTS, EACH, p=np.exp(row)) for row in log_probs] for log_probs in policies], axis=1
    )
    ratios = [np.take_along_axis(other - reference, texts, axis=1).tolist() for other in policies[1:]]
    drawn = FrontierSamples(
        updates=[0, 40][: len(policies)],
        each=EACH,
        scores=np.take_along_axis(scores, texts, axis=1).tolist(),
        log_ratios=ratios,
    )
    return World(reference, policy, scores, drawn)


@pytest.mark.parametrize("seed", [0, 1, 2])
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


def test_with_the_runs_own_texts_more_samples_count_where_the_run_is():
    mixed, alone = (against_kl.possible(world(0, mixed=both).drawn, 0.2) for both in (True, False))
    counted = [next(point.effective for point in one.optimum if point.beta == 0.2) for one in (mixed, alone)]
    assert counted[0] > 3 * counted[1]


def test_the_slope_of_the_frontier_is_beta():
    made = world(1)
    for beta in (0.4, 0.8):
        (high, far), (low, near) = made.best(beta * 0.98), made.best(beta * 1.02)
        assert (high - low) / (far - near) == pytest.approx(beta, rel=1e-3)
        found = against_kl.possible(made.drawn, beta).optimum
        place = next(index for index, point in enumerate(found) if point.beta == beta)
        before, after = found[place - 1], found[place + 1]
        slope = (after.score - before.score) / (after.kl - before.kl)
        assert after.beta < slope < before.beta


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
    assert [one.kl_half for one in found.best_of[:2]] == [None, None], "no texts that score alike, so it is known"
    spread = (kl_bound(4) - kl_of_best(scores[1], 4)) / 2  # of two prompts, one degree
    assert found.best_of[2].kl_half == pytest.approx(12.706 * spread)
    assert found.best_of[1].kl == pytest.approx(math.log(2) - 0.5)


def test_equal_scores_leave_nothing_to_optimise():
    drawn = FrontierSamples(updates=[0], each=3, scores=[[1.0] * 3] * 2, log_ratios=[])
    found = against_kl.possible(drawn, 0.5)
    assert found.optimum == [] and [one.score for one in found.best_of] == [1.0] * 3
    assert "not known" in against_kl.sentence([Look(0, 0, 1, 0.1), Look(5, 2, 1.2, 0.1)], found)


def sample(update, prompt, score, kl, seed=0):
    stage = "before" if update == 0 else "during"
    return Sample(
        update=update, stage=stage, prompt_id=prompt, prompt="p", completion="c", seed=seed, score=score, kl=kl
    )


def test_looks_are_means_over_prompts_with_their_interval():
    samples = [sample(5, 0, 1.0, 2.0), sample(5, 0, 3.0, 2.0, seed=1), sample(5, 1, 4.0, 5.0), sample(0, 0, 0.5, 0.0)]
    first, second = against_kl.looks([*samples, sample(5, 2, None, 9.0)])
    assert first == Look(0, 0.0, 0.5, None)
    assert (second.update, second.kl, second.score) == (5, 3.0, 3.0)
    assert second.half == pytest.approx(12.706 * 1.0)  # prompts have 2 and 4: their mean is 3, its error 1, one degree
    again = against_kl.looks([*samples, sample(5, 1, 6.0, 5.0)])
    assert again[1].score == 4.0, "of several attempts at a question the last one counts"


def test_the_best_of_n_goes_its_own_way():
    data = {"n": [1, 2, 4], "score": [0.0, 0.5, 1.0], "kl": [0.0, 0.193, 0.636]}
    samples = [sample(at, prompt, 0.25 + at, at / 10) for at in (0, 1) for prompt in (0, 1)]
    event = Event(seq=1, time=0, kind=BEST_OF, data=data)
    found = against_kl.looks(samples, [event])
    assert [(look.kl, look.score) for look in found] == [(0.0, 0.25), (0.193, 0.75), (0.636, 1.25)]


OPTIMUM = [Point(4.0, 0.0, 0.0, 500), Point(1.0, 1.0, 1.0, 200), Point(0.5, 2.0, 3.0, 40), Point(0.1, 3.0, 9.0, 4)]
FOUND = Possible(0.0, [BestOf(1, 0.0, 0.0), BestOf(8, 1.2, 1.4, 0.1)], OPTIMUM, [0, 40], 512, 64)


def ends(kl, score):
    return [Look(0, 0.0, 0.0, 0.2), Look(40, kl, score, 0.25)]


REACHED = Reached(40, 1536, 1.2, 0.25, 2.0, 1.5, 0.8, 0.71, 0.89)


@pytest.mark.parametrize(
    ("kl", "score", "reached", "words"),
    [
        # by the texts that were drawn, not by the fixed prompts
        (
            2.2,
            1.9,
            REACHED,
            (
                "At 2 nats the run scores 1.20 \u00b1 0.25 by 1,536 texts drawn after update 40;",
                "1.50 to be possible there, so it has 80 % of the gain (95 % interval 71 to 89 %).",
                "best of 8 answers of the reference scores 1.40, at 1.2 \u00b1 0.1 nats, nearer to it.",
            ),
        ),
        (2.0, 1.2, REACHED._replace(share=None, low=None, high=None), ("cannot be told from chance.",)),
        (
            6.0,
            2.5,
            REACHED._replace(kl=6.0, score=2.5, best=None, share=None),
            ("not known: fewer than 30 of the drawn texts count there.", "1.40, at 1.2 \u00b1 0.1 nats."),
        ),
        (2.0, 1.2, None, ("At 2 nats the run scores 1.20 \u00b1 0.25; these samples show 1.50 to be possible there.",)),
    ],
)
def test_it_is_said_how_far_the_run_is_from_what_is_possible(kl, score, reached, words):
    told = against_kl.sentence(ends(kl, score), FOUND._replace(reached=reached))
    assert all(part in told for part in words), told


def drawn_of_bells(prompts, each, gain, generator):
    """A reference whose scores are a bell, and a policy whose scores are the same bell moved by `gain`: the best that
    there is at its KL, gain^2 / 2."""
    reference, policy = generator.normal(size=(prompts, each)), gain + generator.normal(size=(prompts, each))
    scores = np.concatenate([reference, policy], axis=1)
    ratios = gain * scores - gain**2 / 2
    return FrontierSamples(updates=[0, 40], each=each, scores=scores.tolist(), log_ratios=[ratios.tolist()])


def test_the_share_is_of_the_drawn_texts_and_its_interval_holds_the_truth():
    """The policy is on the frontier, so its share is 1."""
    generator, held = np.random.default_rng(0), 0
    for _ in range(20):
        reached = against_kl.possible(drawn_of_bells(48, 16, 1.0, generator)).reached
        assert reached.update == 40 and reached.texts == 48 * 16
        assert reached.kl == pytest.approx(0.5, abs=0.15) and reached.score == pytest.approx(1.0, abs=0.15)
        held += reached.low <= 1.0 <= reached.high
        assert reached.high - reached.low < 0.4
    assert held >= 17
    none = against_kl.possible(FrontierSamples(updates=[0], each=2, scores=[[0.0, 1.0]] * 2, log_ratios=[]))
    assert none.reached is None


def test_of_few_prompts_no_share_is_told_for_other_draws_of_them_are_too_much_alike():
    generator = np.random.default_rng(0)
    for prompts, told in ((2, False), (4, False), (15, False), (16, True)):
        reached = against_kl.possible(drawn_of_bells(prompts, 24, 0.6, generator)).reached
        assert [value is not None for value in (reached.share, reached.low, reached.high)] == [told] * 3, prompts


def test_nothing_is_said_before_the_second_look_or_before_texts_were_drawn():
    assert against_kl.sentence(ends(2.0, 1.2)[:1], FOUND) == ""
    assert against_kl.sentence(ends(2.0, 1.2), None) == ""


def test_points_are_trusted_up_to_the_first_that_too_few_samples_are_behind():
    assert len(against_kl.trusted(OPTIMUM)) == 3
    assert against_kl.trusted([*OPTIMUM, Point(0.05, 3.1, 10.0, 90)]) == OPTIMUM[:3]
    assert against_kl.best_at(OPTIMUM, 3.0) == 2.0 and against_kl.best_at(OPTIMUM, 3.1) is None


def test_a_method_without_a_leash_has_no_slope():
    config = catalog.preset("kinder-reviews")
    assert against_kl.final_beta(config, []) == config.kl.coef
    assert against_kl.final_beta(catalog.preset("best-of-n"), []) is None
    assert against_kl.final_beta(catalog.preset("no-leash"), []) is None
