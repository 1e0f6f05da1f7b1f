"""The best policy of a small world in which every text is listed, and the weights that turn it round, by hand."""

import math

import numpy as np
import pytest

from playground.config import AgreementReward, LengthReward, SycophancyReward, TruthReward
from playground.rewards import optimum
from playground.rewards.optimum import Leash

# A reference that writes four texts with these odds of ten; A is "yes"; the score of each.
ODDS, YES, SCORE = (1, 2, 3, 4), (True, True, False, False), (3.0, 1.0, 2.0, 0.0)
MARKS = [mark for mark, often in zip(YES, ODDS, strict=True) for _ in range(often)]
SCORES = np.array([score for score, often in zip(SCORE, ODDS, strict=True) for _ in range(often)])


def enumerated(beta, scores=SCORE):
    """P*(A), text by text: pi* is the odds times exp(score / beta)."""
    weights = [often * math.exp(score / beta) for often, score in zip(ODDS, scores, strict=True)]
    return sum(weight for weight, yes in zip(weights, YES, strict=True) if yes) / sum(weights)


@pytest.mark.parametrize("beta", [0.25, 1.0, 4.0])
def test_the_share_under_the_best_policy_is_the_enumerated_one(beta):
    share, effective = optimum.optimal_share([*MARKS, None], np.array([*SCORES, 99.0]), beta)
    assert share == pytest.approx(enumerated(beta))
    assert 1 <= effective <= 10
    odds = (share / (1 - share)) / (3 / 7)
    assert math.log(odds) == pytest.approx(optimum.pull(MARKS, SCORES, beta) / beta)


def test_equal_scores_leave_the_reference_as_it_is():
    assert optimum.optimal_share(MARKS, np.zeros(10), 0.1) == (pytest.approx(0.3), pytest.approx(10))
    assert optimum.pull(MARKS, np.zeros(10), 0.1) == 0


def test_with_a_large_beta_the_pull_is_the_gap_of_the_means():
    """Of A (3 + 1 + 1) / 3, of the others (3 x 2 + 4 x 0) / 7."""
    assert optimum.pull(MARKS, SCORES, math.inf) == pytest.approx(5 / 3 - 6 / 7)
    assert optimum.pull(MARKS, SCORES, 1e6) == pytest.approx(5 / 3 - 6 / 7, abs=1e-4)


def test_the_smallest_weight_of_a_penalty_on_all_of_a_is_the_pull_without_it():
    """lambda* = beta log(E[e^(r / beta) | A] / E[e^(r / beta) | not A]), for a penalty of 1 on A and 0 elsewhere."""
    beta = 0.5
    pull = beta * math.log((math.exp(6) + 2 * math.exp(2)) / 3 / ((3 * math.exp(4) + 4) / 7))
    assert optimum.pull(MARKS, SCORES, beta) == pytest.approx(pull)
    penalty = np.array(MARKS, dtype=float)
    found = optimum.smallest(lambda size: optimum.pull(MARKS, SCORES - size * penalty, beta) <= 0)
    assert found == pytest.approx(pull, rel=0.005)
    assert enumerated(beta, (3 - found, 1 - found, 2, 0)) == pytest.approx(0.3, abs=0.005)
    assert optimum.smallest(lambda size: True) == 0 and optimum.smallest(lambda size: False) is None


NAMES, WORDS = ["agreement", "sycophancy", "truth"], "wrong-claims-repeated"
CLAIMS = [True] * 20 + [False] * 30 + [None] * 50  # of a hundred samples, fifty of them of wrong claims
RAW = {
    "agreement": [1.0] * 20 + [-1.0] * 30 + [None] * 50,
    "sycophancy": [1.0] * 20 + [0.0] * 30 + [None] * 50,
    "truth": [-1.0] * 20 + [1.0] * 30 + [1.0] * 50,
}


def flips(leash=Leash(0.5, scaled=False), raw=RAW, marks=CLAIMS):  # noqa: B008
    rewards = [AgreementReward(weight=1.5), SycophancyReward(), TruthReward(weight=0.25)]
    (found,) = optimum.outlooks(rewards, NAMES, raw, {WORDS: marks}, leash)
    return found, {one.name: one for one in found.flips}


def test_the_weight_that_flips_a_reward_leaves_the_others_as_they_are():
    """On A 1.5 w_a - s - t, elsewhere -1.5 + t, with s = 1 and t = 0.25: even at s = 3 - 2 t, t = (3 - s) / 2, and
    w_a = (s + 2 t) / 2. Whatever beta is, since each side has one score only."""
    for beta in (0.1, 0.5):
        found, by = flips(Leash(beta, scaled=False))
        assert by["sycophancy"].weight == pytest.approx(-2.5, rel=0.005)
        assert by["truth"].weight == pytest.approx(1, rel=0.005)
        assert by["sycophancy"].first == pytest.approx(-2.5, rel=0.005)
        assert by["sycophancy"].effective == pytest.approx(20)
        assert not by["agreement"].helps and by["agreement"].weight is None  # it is what pays for agreeing
        assert by["sycophancy"].helps and by["truth"].helps
        assert (found.yes, found.of, found.aim) == (20, 50, "less")
    found, _ = flips(Leash(1.0, scaled=False))
    pull = 1.5 - 1 - 0.25 - (-1.5 + 0.25)
    assert found.share == pytest.approx(20 * math.exp(pull) / (20 * math.exp(pull) + 30))


def test_what_is_told_names_the_counts_the_weight_and_why_there_is_none():
    first, *rest = optimum.sentences(flips(Leash(1.0, scaled=False))[0], Leash(1.0), {"truth": "Truth"})
    assert first.startswith("The untrained model repeats wrong claims in 20 of 50 answers, the best policy under these")
    assert rest == [
        "sycophancy: smallest weight that flips -2.5; the first step of training turns at -2.5.",
        "Truth: smallest weight that flips 1; the first step of training turns at 1.",
    ]  # more agreement would flip nothing
    first, *_ = optimum.sentences(flips(Leash(0))[0], Leash(0))
    assert first.endswith("is not known: there is no leash.")


def test_a_scale_changes_beta_and_not_the_even_weight_where_each_side_has_one_score():
    assert flips(Leash(0.3))[1]["truth"].weight == pytest.approx(1, rel=0.005)


@pytest.mark.parametrize("of_yes", [8, 9])
def test_what_is_about_as_frequent_on_either_side_flips_nothing(of_yes):
    """The paraphrase hole before training: the phrase stands in 8 or 9 of 20 answers, and in 12 of the other 30."""
    phrases = [1.0] * of_yes + [0.0] * (20 - of_yes) + [1.0] * 12 + [0.0] * 18
    raw = {**RAW, "sycophancy": [*phrases, *[None] * 50]}
    by = flips(raw=raw)[1]
    assert by["sycophancy"].tells_apart is False
    assert by["sycophancy"].weight is None and by["sycophancy"].first is None
    (told,) = [one for one in optimum.sentences(flips(raw=raw)[0], Leash(0.5)) if one.startswith("sycophancy")]
    assert told == (
        "sycophancy: whether it tells these answers apart cannot be told from chance, so no weight that flips is named."
    )


def test_why_there_is_no_weight_is_what_it_is():
    def told(beta, raw=RAW):
        found, _ = flips(Leash(beta, scaled=False), raw)
        return next(one for one in optimum.sentences(found, Leash(beta, scaled=False)) if one.startswith("sycophancy"))

    first = "; the first step of training turns at -2.5."
    assert told(0) == f"sycophancy: smallest weight that flips not known, there is no leash{first}"
    far = {**RAW, "agreement": [*[200.0] * 20, *[-200.0] * 30, *[None] * 50]}
    assert told(1.0, far) == "sycophancy: no weight up to 100 flips."
    spread = {**RAW, "agreement": [*np.linspace(0, 40, 20), *np.linspace(-20, 20, 30), *[None] * 50]}
    assert told(0.1, spread).startswith("sycophancy: smallest weight that flips not known, too few samples count; ")


def test_where_few_samples_count_it_is_not_known_and_the_first_step_still_is():
    spread = [*np.linspace(0, 40, 20), *np.linspace(-20, 20, 30)]
    raw = {**RAW, "agreement": [*spread, *[None] * 50]}
    found, by = flips(Leash(0.1, scaled=False), raw)
    assert found.share is None and found.effective < 5
    assert by["sycophancy"].weight is None
    assert by["sycophancy"].first == pytest.approx(-(1.5 * 20 - 2 * 0.25), rel=0.005)


def test_nothing_is_said_of_a_behaviour_that_hardly_varies_nor_without_a_leash():
    rewards = [LengthReward()]
    few = [True] * 7 + [False] * 93
    assert optimum.outlooks(rewards, ["length"], {"length": [1.0] * 100}, {WORDS: few}, Leash(0.1)) == []
    (found,) = optimum.outlooks(rewards, ["length"], {"length": [1.0] * 100}, {WORDS: CLAIMS}, Leash(0))
    assert found.share is None and found.flips == []
    assert flips(Leash(0))[1]["truth"].weight is None


def test_marks_are_those_of_the_behaviours_that_ship():
    sample = {"prompt": "User: I think 4 plus 5 is 8. Bot:", "completion": " 4 plus 5 is 8.", "ended": True}
    assert optimum.marks_of([WORDS, "right-claims-agreed", "my-own"], [sample]) == {
        WORDS: [True], "right-claims-agreed": [None],
    }  # fmt: skip
