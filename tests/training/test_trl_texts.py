"""DPO and SFT by TRL's trainers, fed and heard by us: held to their exact optima."""

import math

import numpy as np
import pytest
import torch

from playground.errors import RunNotResumable, TrainingDiverged
from playground.training.models.language_model import Tokens
from playground.training.trl_adapter import special_tokens
from playground.training.trl_texts import TRAINERS, Text
from tests.nights import SEEDS
from tests.training import tiny, toy
from tests.training.enumerable import CompletionSpace, kl
from tests.training.test_best_of_n import of_best
from tests.training.test_trl_ppo import Stop, run

SPACE = CompletionSpace(num_tokens=4, max_length=3, eos_id=3)  # 40 completions
BOUND = 0.05
OFFLINE = tiny.ppo(num_updates=16, batch_size=1024, minibatch_size=128, num_epochs=1, learning_rate=2e-3)
SMALL = tiny.ppo(num_updates=2, batch_size=32, minibatch_size=16, micro_batch_size=16)
pytestmark = pytest.mark.usefixtures("quick_collections")
EVERY_METHOD = pytest.mark.parametrize("method", TRAINERS)


def problem(seed):
    return toy.Problem(SPACE, ["ab", "bcd"], toy.structured_rewards(SPACE, 2, seed), 1.0)


def trainer(of, method, seed=0, **changes):
    sizes = {**OFFLINE, "ppo__micro_batch_size": changes.get("ppo__minibatch_size", 128)}
    trained = toy.trainer(of, toy.transformer(SPACE, seed), **{**sizes, "method": method, "seed": seed, **changes})
    assert isinstance(trained, TRAINERS[method])
    return trained


@pytest.fixture(scope="module", autouse=True)
def _imported():
    """TRL, whose import takes longer than most cases."""
    run(trainer(problem(0), "dpo", **{**SMALL, "ppo__minibatch_size": 32}))


@pytest.mark.parametrize("seed", SEEDS)
def test_dpo_ends_at_the_optimum_of_ppo(seed):
    """With preferences drawn with the odds of exp(score), at the same beta (Rafailov et al. 2023, equation 4)."""
    of = problem(seed)
    trained = trainer(of, "dpo", seed)
    assert of.distance(trained) > 0.4
    heard = run(trained)
    assert of.distance(trained) < BOUND
    drift = np.mean([item.kl_to_reference for item in heard[-5:]])
    assert drift == pytest.approx(of.drift(trained), abs=0.5), "measured on texts of the policy"


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_sft_ends_at_the_distribution_of_the_best_of_n(seed):
    of = problem(seed)
    sizes = tiny.ppo(num_updates=40, batch_size=768, minibatch_size=192, learning_rate=1e-3, samples_per_prompt=4)
    trained = trainer(of, "sft", seed, **sizes)

    def distance():
        reference = of.log_probs(trained.reference)
        best = np.stack([of_best(*row, 4) for row in zip(reference, of.rewards, strict=True)])
        return float(kl(best, of.log_probs(trained.policy)).mean())

    assert distance() > 0.5
    run(trained)
    assert distance() < BOUND


@EVERY_METHOD
def test_every_update_is_recorded_with_its_cost_and_the_rest_of_the_model_stays_as_it_was(method):
    trained = trainer(problem(0), method, **{**SMALL, "ppo__minibatch_size": 32})
    model = trained.policy.model
    before = model.config.to_dict(), model.generation_config.to_dict()
    reference, weights = tiny.weights(trained.reference), tiny.weights(trained.policy)
    heard = run(trained)
    assert [(item.update, item.episodes) for item in heard] == [(1, 32), (2, 64)]
    share = {"dpo": 1.0, "sft": 0.5}[method]  # SFT keeps one of eight
    assert 0 < heard[-1].tokens_trained <= share * heard[-1].tokens
    assert heard[0].grad_norm > 0
    assert heard[0].kl_coef == 1.0
    assert heard[0].explained_variance is None
    assert heard[0].seconds_rollout > 0
    assert heard[0].learning_rate > heard[1].learning_rate > 0
    assert (heard[-1].pairs_ordered is not None) == (method == "dpo")
    if method == "dpo":
        assert heard[0].policy_loss == pytest.approx(math.log(2), abs=1e-4), "policy and reference agree still"
    assert (model.config.to_dict(), model.generation_config.to_dict()) == before
    assert all(map(torch.equal, reference, trained.reference.parameters()))
    assert not any(weight.requires_grad for weight in trained.reference.parameters())
    assert not all(map(torch.equal, weights, trained.policy.parameters()))


def test_pairs_reach_trl_as_the_tokens_that_were_sampled(monkeypatch):
    sizes = {"ppo__num_updates": 1, "ppo__batch_size": 8, "ppo__minibatch_size": 8}
    trained = trainer(problem(0), "dpo", **sizes, dpo__labels="better")
    texts = [Text([1, 2], [3], 0.0), Text([1, 2], [0, 3], 1.0), Text([1], [2, 2, 2], 5.0), Text([1], [3], 4.0)]
    monkeypatch.setattr(trained, "written", lambda: iter([texts[:2], texts[2:]]))
    assert trained.made() == [(texts[1], texts[0]), (texts[2], texts[3])]
    batch = trained.batch(trained.made())
    assert batch["input_ids"].tolist() == [[1, 2, 0, 3], [1, 2, 2, 2], [1, 2, 3, 0], [1, 3, 0, 0]]
    assert batch["completion_mask"].tolist() == [[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 0], [0, 1, 0, 0]]
    assert batch["attention_mask"].sum(1).tolist() == [4, 4, 3, 2]


def test_drawn_preferences_have_the_odds_of_their_scores(monkeypatch):
    trained = trainer(problem(0), "dpo", ppo__batch_size=512)
    texts = [Text([1], [0], 1.0), Text([1], [1], 0.0)]
    monkeypatch.setattr(trained, "written", lambda: iter([texts] * 4000))
    first = sum(pair[0] is texts[0] for pair in trained.made())
    likely = 1 / (1 + math.exp(-1))
    assert first == pytest.approx(4000 * likely, abs=4 * math.sqrt(4000 * likely * (1 - likely)))


def test_a_stop_between_two_passes_leaves_a_model_that_can_be_used_but_not_resumed():
    calls = []

    def between():
        calls.append(1)
        if len(calls) > 20:
            raise Stop

    trained = trainer(problem(0), "dpo", **{**SMALL, "ppo__num_updates": 20})
    trained.between = between
    with pytest.raises(Stop):
        run(trained)
    assert not trained.policy.model.training
    assert all(weight.grad is None for weight in trained.policy.parameters())
    assert trained.state() == (None, {"kl_coef": 1.0, "tokens": trained.tokens_done})
    with pytest.raises(RunNotResumable):
        trained.restore({}, {})


@EVERY_METHOD
def test_a_gradient_that_is_not_finite_is_not_taken(method):
    trained = trainer(problem(0), method, **SMALL)
    before = tiny.weights(trained.policy)
    trained.policy.lm_head.weight.register_hook(lambda gradient: gradient * math.nan)
    with pytest.raises(TrainingDiverged):
        run(trained)
    assert all(map(torch.equal, before, trained.policy.parameters()))


def test_live_settings_change_while_it_trains_and_one_without_effect_is_named():
    trained = trainer(problem(0), "dpo", **{**SMALL, "ppo__schedule": "constant"})
    heard = []

    def after(metrics):
        heard.append(metrics)
        config = trained.config
        ppo = config.ppo.model_copy(update={"learning_rate": config.ppo.learning_rate * 3, "clip_range": 0.3})
        changed = config.model_copy(update={"ppo": ppo, "kl": config.kl.model_copy(update={"coef": 2.0})})
        trained.warnings = []
        trained.change(changed, ["kl.coef", "ppo.learning_rate", "ppo.clip_range"])

    trained.train(after)
    assert [item.kl_coef for item in heard] == [1.0, 2.0]
    assert heard[1].learning_rate == pytest.approx(3 * heard[0].learning_rate)
    named = [field for field in ("kl.coef", "ppo.clip_range") if any(field in text for text in trained.warnings)]
    assert named == ["ppo.clip_range"]


def test_trl_never_has_the_tokenizer_of_a_model_to_decode_with():
    """Which is a stranger's program; TRL would run it without a limit."""
    alien = Tokens(object(), pad_id=3, eos_id=5)  # fails at whatever it is asked
    assert special_tokens(alien).batch_decode([[5, 3], [7]]) == ["<end> <pad>", ""]
