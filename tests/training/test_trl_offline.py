"""`method: dpo` and `method: sft`: TRL's trainers, fed with what the start model writes, held to their exact optima."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from playground.config import methods
from playground.errors import InvalidConfig, TrainingDiverged
from playground.training.models.language_model import Tokens
from playground.training.trl_adapter import special_tokens
from playground.training.trl_texts import OfflineTrainer, Text
from tests.thoroughness import SEEDS
from tests.training import tiny, toy
from tests.training.enumerable import CompletionSpace, kl, optimum
from tests.training.test_best_of_n import of_best

SPACE = CompletionSpace(num_tokens=4, max_length=3, eos_id=3)  # 40 completions
BOUND = 0.05


def problem(seed: int, beta: float = 1.0) -> toy.Problem:
    return toy.Problem(SPACE, ["ab", "bcd"], toy.structured_rewards(SPACE, 2, seed), beta)


def trainer(of: toy.Problem, method: str, seed: int = 0, **changes: object) -> OfflineTrainer:
    sizes = {
        "ppo__num_updates": 24, "ppo__batch_size": 1024, "ppo__minibatch_size": 128, "ppo__micro_batch_size": 128,
        "ppo__num_epochs": 1, "ppo__learning_rate": 1e-3,
    }  # fmt: skip
    changes.setdefault("ppo__micro_batch_size", changes.get("ppo__minibatch_size", 128))
    made = toy.trainer(of, toy.transformer(SPACE, seed), **{**sizes, "method": method, "seed": seed, **changes})
    assert isinstance(made, OfflineTrainer)
    return made


def run(made: OfflineTrainer) -> list:
    heard: list = []
    made.train(heard.append)
    return heard


@pytest.mark.parametrize("seed", SEEDS)
def test_dpo_ends_at_the_optimum_of_ppo(seed):
    """With preferences drawn with the odds of exp(score), at the same beta (Rafailov et al. 2023, equation 4)."""
    of = problem(seed)
    made = trainer(of, "dpo", seed)
    assert of.distance(made) > 0.4
    heard = run(made)
    assert of.distance(made) < BOUND
    drift = np.mean([item.kl_to_reference for item in heard[-5:]])
    assert drift == pytest.approx(of.drift(made), abs=0.5), "measured on texts of the policy"


@pytest.mark.thorough
def test_with_preferences_that_are_always_right_dpo_does_not_end_there():
    of = problem(0)
    made = trainer(of, "dpo", dpo__labels="better")
    reference = of.log_probs(made.reference)
    run(made)
    assert of.distance(made) > 2 * BOUND
    best = kl(optimum(reference, of.rewards, of.beta), reference).mean()
    assert of.drift(made) > 1.2 * best, "the leash holds only while beta and the odds agree"


@pytest.mark.parametrize("seed", SEEDS)
def test_sft_ends_at_the_distribution_of_the_best_of_n(seed):
    of = problem(seed)
    made = trainer(of, "sft", seed, ppo__samples_per_prompt=4, ppo__num_updates=60, ppo__minibatch_size=256)

    def distance() -> float:
        reference = of.log_probs(made.reference)
        best = np.stack([of_best(*row, 4) for row in zip(reference, of.rewards, strict=True)])
        return float(kl(best, of.log_probs(made.policy)).mean())

    assert distance() > 0.5
    run(made)
    assert distance() < BOUND


def test_every_update_is_told_with_what_it_cost():
    heard = run(trainer(problem(0), "dpo", ppo__num_updates=3, ppo__batch_size=64, ppo__minibatch_size=64))
    assert [item.update for item in heard] == [1, 2, 3] and [item.episodes for item in heard] == [64, 128, 192]
    assert heard[-1].tokens_trained == heard[-1].tokens, "each text once in the one epoch"
    assert heard[0].policy_loss == pytest.approx(math.log(2), abs=1e-4), "policy and reference agree still"
    assert 0 <= heard[-1].pairs_ordered <= 1 and heard[-1].explained_variance is None
    rates = [item.learning_rate for item in heard]
    assert rates[0] > rates[1] > rates[2] > 0
    chosen = run(trainer(problem(0), "sft", ppo__num_updates=2, ppo__batch_size=64, ppo__minibatch_size=32,
                         ppo__samples_per_prompt=8))[-1]  # fmt: skip
    assert chosen.tokens_trained < 0.5 * chosen.tokens and chosen.pairs_ordered is None


def test_pairs_reach_trl_as_the_tokens_that_were_sampled(monkeypatch):
    made = trainer(problem(0), "dpo", ppo__num_updates=1, ppo__batch_size=8, ppo__minibatch_size=8,
                   dpo__labels="better")  # fmt: skip
    texts = [Text([1, 2], [3], 0.0), Text([1, 2], [0, 3], 1.0), Text([1], [2, 2, 2], 5.0), Text([1], [3], 4.0)]
    monkeypatch.setattr(made, "written", lambda: iter([texts[:2], texts[2:]]))
    assert made.made() == [(texts[1], texts[0]), (texts[2], texts[3])]
    batch = made.batch(made.made())
    assert batch["input_ids"].tolist() == [[1, 2, 0, 3], [1, 2, 2, 2], [1, 2, 3, 0], [1, 3, 0, 0]]
    assert batch["completion_mask"].tolist() == [[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 0], [0, 1, 0, 0]]
    assert batch["attention_mask"].sum(1).tolist() == [4, 4, 3, 2]


def test_drawn_preferences_have_the_odds_of_their_scores(monkeypatch):
    made = trainer(problem(0), "dpo", ppo__batch_size=512)
    texts = [Text([1], [0], 1.0), Text([1], [1], 0.0)]
    monkeypatch.setattr(made, "written", lambda: iter([texts] * 4000))
    first = sum(pair[0] is texts[0] for pair in made.made())
    likely = 1 / (1 + math.exp(-1))
    assert first == pytest.approx(4000 * likely, abs=4 * math.sqrt(4000 * likely * (1 - likely)))


class Stop(Exception):
    """What a worker raises to break off."""


def test_it_stops_between_two_passes_and_leaves_a_model_that_can_be_used():
    calls = []

    def between() -> None:
        calls.append(1)
        if len(calls) > 60:
            raise Stop

    made = trainer(problem(0), "dpo", ppo__batch_size=64, ppo__minibatch_size=32)
    made.between = between
    with pytest.raises(Stop):
        run(made)
    assert not made.policy.model.training and all(weight.grad is None for weight in made.policy.parameters())
    assert made.state() == (None, {"kl_coef": 1.0, "tokens": made.tokens_done})


@pytest.mark.parametrize("method", ["dpo", "sft"])
def test_what_trl_has_no_business_with_stays_as_it_was(method):
    made = trainer(problem(0), method, ppo__num_updates=1, ppo__batch_size=64, ppo__minibatch_size=32)
    model = made.policy.model
    before = model.config.to_dict(), model.generation_config.to_dict()
    reference = [weight.clone() for weight in made.reference.parameters()]
    run(made)
    assert (model.config.to_dict(), model.generation_config.to_dict()) == before
    assert all(map(torch.equal, reference, made.reference.parameters()))
    assert not any(weight.requires_grad for weight in made.reference.parameters())


def test_a_gradient_that_is_not_finite_is_not_taken():
    made = trainer(problem(0), "dpo", ppo__batch_size=64, ppo__minibatch_size=32, ppo__learning_rate=1e-3)
    before = [weight.clone() for weight in made.policy.parameters()]
    made.policy.lm_head.register_full_backward_hook(lambda *_: (torch.full_like(_[1][0], math.nan),))
    with pytest.raises(TrainingDiverged, match="not finite"):
        run(made)
    assert all(map(torch.equal, before, made.policy.parameters()))


def test_beta_and_learning_rate_change_while_it_trains_and_of_others_it_is_said_that_they_do_nothing():
    made = trainer(problem(0), "dpo", ppo__num_updates=2, ppo__batch_size=64, ppo__minibatch_size=64,
                   ppo__schedule="constant")  # fmt: skip
    heard: list = []

    def after(metrics) -> None:
        heard.append(metrics)
        config = made.config
        ppo = config.ppo.model_copy(update={"learning_rate": config.ppo.learning_rate * 3, "clip_range": 0.3})
        kl_part = config.kl.model_copy(update={"coef": 2.0})
        made.change(config.model_copy(update={"ppo": ppo, "kl": kl_part}),
                    ["kl.coef", "ppo.learning_rate", "ppo.clip_range"])  # fmt: skip

    made.train(after)
    assert [item.kl_coef for item in heard] == [1.0, 2.0]
    assert heard[1].learning_rate == pytest.approx(3 * heard[0].learning_rate)
    assert any("ppo.clip_range" in text and "no effect" in text for text in made.warnings)


def test_what_a_method_cannot_work_with_is_refused_by_name():
    cases = [
        ({"method": "rloo", "ppo__baseline": "value"}, "ppo.baseline"),
        ({"method": "dpo", "ppo__samples_per_prompt": 1}, "ppo.samples_per_prompt"),
        ({"method": "dpo", "kl__coef": 0}, "kl.coef"),
        ({"method": "sft", "ppo__samples_per_prompt": 8, "ppo__minibatch_size": 4}, "ppo.minibatch_size"),
    ]
    for changes, field in cases:
        with pytest.raises(InvalidConfig, match=field):
            tiny.config(**changes)
    assert tiny.config(method="rloo").ppo.baseline == "leave_one_out"
    assert methods.unused("dpo", "ppo.clip_range") and not methods.unused("ppo", "ppo.clip_range")


def test_trl_never_has_the_tokenizer_of_a_model_to_decode_with():
    """Which is a stranger's program; TRL would run it without a limit."""
    alien = Tokens(object(), pad_id=3, eos_id=5)  # fails at whatever it is asked
    assert special_tokens(alien).batch_decode([[5, 3], [7]]) == ["<end> <pad>", ""]
