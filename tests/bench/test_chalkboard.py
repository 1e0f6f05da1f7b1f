"""The chalkboard: all texts of a toy, listed; the best policy; what is shipped."""

import itertools
import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from bench import chalkboard, leash
from playground.lessons import boards

END = 3
FIRST = [0.2, 0.3, 0.4, 0.1]  # of a model with four tokens, the last of them the end
THEN = [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25], [0.7, 0.1, 0.1, 0.1]]
NUMBERS = Path(__file__).parents[1] / "js" / "lessons" / "optimum.json"


class Toy:
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
    found = np.exp(chalkboard.log_probs_of(Toy(), SimpleNamespace(ends=(END,)), [0, 0]))
    expected = np.zeros((4, 4))
    for first, second in itertools.product(range(4), repeat=2):
        if first != END:
            expected[first, second] = FIRST[first] * THEN[first][second]
    expected[END, 0] = FIRST[END]
    assert found == pytest.approx(expected, abs=1e-6)
    assert found.sum() == pytest.approx(1, abs=1e-12)


def toy(seed=0):
    """Log-probs of six texts, and their scores."""
    draws = np.random.default_rng(seed)
    return np.log(draws.dirichlet(np.ones(6))), draws.choice([-1.0, 0.0, 2.0], 6)


@pytest.mark.parametrize("beta", [0.1, 0.5, 3.0])
def test_no_policy_has_more_score_less_penalty_than_the_best_one(beta):
    """Against 3,000 random policies, and by its definition: the objective is beta log Z."""
    reference, scores = toy()
    best = chalkboard.best(reference, scores, beta)
    objective = best.score - beta * best.kl
    z = sum(math.exp(log_prob + score / beta) for log_prob, score in zip(reference, scores, strict=True))
    assert objective == pytest.approx(beta * math.log(z))
    assert best.kl == pytest.approx(chalkboard.kl_between(best.log_probs, reference))
    for policy in np.log(np.random.default_rng(1).dirichlet(np.ones(6), 3000)):
        mine = float((np.exp(policy) * scores).sum()) - beta * chalkboard.kl_between(policy, reference)
        assert mine < objective


def test_score_and_kl_of_the_best_follow_from_how_likely_each_score_is():
    reference, scores = toy(2)
    table = np.array(chalkboard.levels(reference, scores))
    assert len(table) == len(set(scores)) < len(scores)
    for beta in (0.2, 1.0, 7.0):
        whole, short = (
            chalkboard.best(*given, beta) for given in ((reference, scores), (np.log(table[:, 1]), table[:, 0]))
        )
        assert (whole.score, whole.kl) == pytest.approx((short.score, short.kl))


def test_the_page_is_checked_against_these_numbers():
    """tests/js/lessons/optimum.test.js reads the same file."""
    told = json.loads(NUMBERS.read_text())
    table = np.array(told["levels"])
    for case in told["best"]:
        best = chalkboard.best(np.log(table[:, 1]), table[:, 0], case["beta"])
        assert (best.score, best.kl, best.log_partition) == pytest.approx(
            (case["score"], case["kl"], case["log_z"]), abs=1e-12
        )


def test_what_is_shipped_is_of_these_leashes_and_small():
    shown, board = boards.data("leash"), boards.data("chalkboard")
    assert [stop["beta"] for stop in shown["leashes"]] == list(leash.BETAS)
    assert all(len(stop["texts"]) == len(shown["prompts"]) == len(shown["before"]) for stop in shown["leashes"])
    assert all(run["seed"] in leash.SEEDS for stop in shown["leashes"] for run in stop["runs"])
    assert {one["beta"] for one in board["trained"]} <= {*chalkboard.BETAS}
    assert all(sum(share for _, share in table) == pytest.approx(1) for table in board["levels"])
    assert sum(boards.path_of(name).stat().st_size for name in boards.NAMES) < 1_000_000
