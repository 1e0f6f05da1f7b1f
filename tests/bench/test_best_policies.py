"""The best policy there is, as bench/ computes it: of listed texts, of drawn ones, and how many of those repeat."""

import itertools
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from bench import chalkboard, frontier, leash, sycophancy
from playground.config import SamplingConfig
from playground.lessons import boards
from tests.support import PROJECT
from tests.training import toy
from tests.training.enumerable import CompletionSpace, expectation, kl, optimum

END = 3
FIRST = [0.2, 0.3, 0.4, 0.1]  # of a model with four tokens, the last of them the end
THEN = [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25], [0.7, 0.1, 0.1, 0.1]]


class LastToken:
    """A model that knows only the last token, and how many there are."""

    vocabulary = 4

    def hidden(self, ids):
        """The last token of each place, and how many stand before it."""
        return torch.stack([ids, torch.arange(ids.shape[1]).expand_as(ids)], -1)

    def logits(self, hidden):
        """After the prompt of two tokens the first, then the second."""
        rows = [FIRST if place == 1 else THEN[token] for token, place in hidden.tolist()]
        return torch.tensor(rows).log()


def test_all_texts_of_two_tokens_are_listed_with_how_likely_they_are():
    """Against the same by hand: an end in the first place is a text of its own."""
    probabilities = np.exp(chalkboard.log_probs_of(LastToken(), SimpleNamespace(ends=(END,)), [0, 0]))
    expected = np.zeros((4, 4))
    for first, second in itertools.product(range(4), repeat=2):
        if first != END:
            expected[first, second] = FIRST[first] * THEN[first][second]
    expected[END, 0] = FIRST[END]
    assert probabilities == pytest.approx(expected, abs=1e-6)
    assert probabilities.sum() == pytest.approx(1, abs=1e-12)


def six_texts(seed=0):
    """Their log-probs, and their scores."""
    draws = np.random.default_rng(seed)
    return np.log(draws.dirichlet(np.ones(6))), draws.choice([-1.0, 0.0, 2.0], 6)


@pytest.mark.parametrize("beta", [0.1, 0.5, 3.0])
def test_the_best_policy_is_that_of_the_enumeration_and_its_objective_beta_log_z(beta):
    reference, scores = six_texts()
    best, exact = chalkboard.best(reference, scores, beta), optimum(reference, scores, beta)
    assert best.log_probs == pytest.approx(exact)
    assert (best.score, best.kl) == pytest.approx((expectation(exact, scores), kl(exact, reference)))
    assert best.kl == pytest.approx(chalkboard.kl_between(exact, reference))
    z = sum(math.exp(log_prob + score / beta) for log_prob, score in zip(reference, scores, strict=True))
    assert best.score - beta * best.kl == pytest.approx(beta * math.log(z))


def of_levels(table, beta):
    """The best policy from how likely each score is."""
    return chalkboard.best(np.log(table[:, 1]), table[:, 0], beta)


def test_score_and_kl_of_the_best_follow_from_how_likely_each_score_is():
    reference, scores = six_texts(2)
    table = np.array(chalkboard.levels(reference, scores))
    assert len(table) == len(set(scores)) < len(scores)
    for beta in (0.2, 1.0, 7.0):
        whole, short = chalkboard.best(reference, scores, beta), of_levels(table, beta)
        assert (whole.score, whole.kl) == pytest.approx((short.score, short.kl))


def test_the_page_is_checked_against_these_numbers():
    """tests/js/lessons/optimum.test.js reads the same file."""
    numbers = json.loads((PROJECT / "tests" / "js" / "lessons" / "optimum.json").read_text())
    for case in numbers["best"]:
        best, expected = (
            of_levels(np.array(numbers["levels"]), case["beta"]),
            (case["score"], case["kl"], case["log_z"]),
        )
        assert (best.score, best.kl, best.log_partition) == pytest.approx(expected, abs=1e-12)


def test_the_boards_of_the_lessons_have_all_betas_and_whole_probabilities_and_are_small():
    shown, board = boards.data("leash"), boards.data("chalkboard")
    assert [stop["beta"] for stop in shown["leashes"]] == list(leash.BETAS)
    assert all(len(stop["texts"]) == len(shown["prompts"]) == len(shown["before"]) for stop in shown["leashes"])
    assert all(sum(share for _, share in table) == pytest.approx(1) for table in board["levels"])
    assert sum(boards.path_of(name).stat().st_size for name in boards.NAMES) < 1_000_000


@pytest.mark.parametrize("eos_id", [3, None])
def test_what_is_drawn_from_models_has_the_probability_that_each_model_gives_it(eos_id):
    """End-of-text included; a completion that was cut counts as it stands."""
    space = CompletionSpace(num_tokens=4, max_length=3, eos_id=eos_id)
    problem = toy.Problem(space, ["ab", "bcd"], np.zeros((2, len(space.completions()))), beta=0.5, temperature=0.7)
    models = [toy.table(problem, seed) for seed in range(3)]
    sampling = SamplingConfig(max_new_tokens=space.max_length, temperature=problem.temperature)
    drawn = frontier.draw(models, problem.tokens, problem.encoded, 40, sampling)
    written = [problem.tokens.decode([token for token in row if token >= 0]) for row in space.completions().tolist()]
    column = np.array([written.index(text) for text in drawn.texts]).reshape(2, -1)
    assert len(set(column.ravel())) > 20
    for model, log_probs in zip(models, drawn.log_probs, strict=True):
        assert log_probs == pytest.approx(np.take_along_axis(problem.log_probs(model), column, axis=1), abs=1e-5)
    assert drawn.ended == [text.endswith(".") for text in drawn.texts]
    reference = problem.log_probs(models[0])
    exact = [kl(problem.log_probs(model), reference) for model in models]
    four_errors = 4 * drawn.kl.std(2) / math.sqrt(40)
    assert (abs(drawn.kl.mean(2) - exact) <= four_errors + 1e-6).all()


def test_the_share_that_the_best_policy_repeats_is_that_of_the_reference_reweighted_by_the_odds_of_the_score():
    # the first prompt: one of three is marked and e^(log 2 / 1) = 2 times as likely, so 2 / (2 + 1 + 1)
    scores = np.array([[np.log(2), 0.0, 0.0], [5.0, 5.0, 5.0]])
    marks = np.array([[True, False, False], [True, True, False]])
    assert sycophancy.optimum_share(scores, marks, 1.0) == pytest.approx((2 / 4 + 2 / 3) / 2)
    assert sycophancy.optimum_share(scores, marks, 0.5) == pytest.approx((4 / 6 + 2 / 3) / 2)
