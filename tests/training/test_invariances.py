"""What must not change anything, in every model family, with a pad token that is the end-of-sequence token and one that
is not; and what an update costs, counted. (Sampling by itself: test_sampling.py.)"""

from __future__ import annotations

import pytest
import torch
from transformers import AutoModelForCausalLM

from playground.training.loop.trainer import PPOTrainer
from playground.training.models.language_model import switch_dropout_off
from tests.training import tiny

EVERY_FAMILY = pytest.mark.parametrize("family", tiny.FAMILIES)
EVERY_PAD = pytest.mark.parametrize("pad_is_eos", [False, True], ids=["pad", "pad-is-eos"])


def weights(model) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in model.parameters()]


def same(before: list[torch.Tensor], after: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def prepared(trainer: PPOTrainer):
    rollout = trainer.collect()
    return (rollout, *trainer.advantages(rollout, trainer.score(rollout), 0.1))


# -- before the first step --------------------------------------------------------------------------------------------


@EVERY_FAMILY
@EVERY_PAD
def test_nothing_has_drifted_before_the_first_step_and_the_value_head_says_0(family, pad_is_eos):
    """Sampling with a cache and left padding, scoring and training in packed rows: three ways to the same numbers."""
    trainer = tiny.trainer(family, pad_is_eos)
    rollout = trainer.collect()
    assert rollout.episodes.ended.any() and not rollout.episodes.ended.all(), "the test needs both"
    assert rollout.log_ratio.abs().max() < 1e-5
    assert (rollout.episodes.values == 0).all()
    first = trainer.step(rollout, torch.arange(4), *prepared(trainer)[1:])
    assert first["ratio_mean"] == pytest.approx(1, abs=1e-5)
    assert first["ratio_max"] == pytest.approx(1, abs=1e-5)
    assert first["clip_fraction"] == 0
    assert first["update_kl"] == pytest.approx(0, abs=1e-9)


# -- what training leaves alone ---------------------------------------------------------------------------------------


@EVERY_FAMILY
@EVERY_PAD
def test_the_reference_stays_bit_identical_while_every_weight_of_the_policy_moves(family, pad_is_eos):
    trainer = tiny.trainer(family, pad_is_eos)
    reference = weights(trainer.reference)
    trainer.update()
    trainer.update()
    assert same(reference, weights(trainer.reference))
    assert not any(torch.equal(*pair) for pair in zip(trainer.policy.parameters(), reference, strict=True))


@EVERY_FAMILY
def test_cutting_ragged_episodes_into_micro_batches_leaves_the_gradient_as_it_is(family):
    """A mean per micro-batch, or per episode, would give another one."""

    def gradient(micro_batch_size: int) -> torch.Tensor:
        sizes = {"ppo__micro_batch_size": micro_batch_size, "ppo__minibatch_size": 8}
        trainer = tiny.trainer(family, **sizes, ppo__max_grad_norm=1e6)
        found, learned = [], trainer.trained().values()
        trainer.optimizer.step = lambda: found.append(torch.cat([weight.grad.flatten() for weight in learned]))
        rollout, advantages, returns = prepared(trainer)
        assert len(set(rollout.episodes.lengths.tolist())) > 1, "the test needs ragged lengths"
        trainer.step(rollout, torch.arange(8), advantages, returns)
        return found[0]

    whole = gradient(8)
    assert whole.norm() > 0.01
    for size in (1, 2, 4):
        assert (gradient(size) - whole).norm() < 1e-4 * whole.norm()


@EVERY_FAMILY
@EVERY_PAD
def test_the_end_of_sequence_token_gets_its_exact_gradient_and_padding_gets_none(family, pad_is_eos):
    """At ratio 1 the loss of a token pulls at its logits with A (p - onehot) / N, and at no other position."""
    trainer = tiny.trainer(family, pad_is_eos, ppo__minibatch_size=8, ppo__micro_batch_size=8, ppo__value_coef=0.0)
    rollout, advantages, returns = prepared(trainer)
    caught = []

    def catch(module, inputs, logits):
        logits.register_hook(lambda gradient: caught.append((logits.detach(), gradient)))

    trainer.optimizer.step = lambda: None
    handle = trainer.policy.lm_head.register_forward_hook(catch)
    trainer.step(rollout, torch.arange(8), advantages, returns)
    handle.remove()
    ((logits, gradient),) = caught
    episodes = rollout.episodes
    order = torch.argsort(rollout.packed.totals, stable=True)  # the order of the micro-batch
    chosen = episodes.completion_ids[order][episodes.mask[order]]
    advantage = advantages[order][episodes.mask[order]]
    assert len(logits) == int(episodes.mask.sum()), "one row for each real token, and none for padding"
    onehot = torch.nn.functional.one_hot(chosen, tiny.VOCABULARY)
    expected = advantage[:, None] * (logits.softmax(-1) - onehot) / len(chosen)
    assert torch.allclose(gradient, expected, atol=1e-6)
    assert (chosen == 2).any()
    assert (gradient[chosen == 2, 2].abs() > 1e-5).all()


# -- counting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epochs", "micro_batch"), [(1, 4), (4, 2)])
def test_an_update_runs_the_trunk_as_often_as_designed(epochs, micro_batch):
    """One pass per token to sample, one of the reference, one (and its backward) per epoch; nothing to recompute old
    log-probs, values or the policy's side of the KL. (A call costs so small a model more than padding does, so no
    micro-batch is cut further.)"""
    trainer = tiny.trainer(ppo__num_epochs=epochs, ppo__micro_batch_size=micro_batch)
    passes = {"sample": 0, "train": 0, "reference": 0}
    head_rows = []

    def count(module, arguments, keywords, output):
        passes["sample" if keywords["use_cache"] else "train"] += 1

    trainer.policy.trunk.register_forward_hook(count, with_kwargs=True)
    trainer.reference.trunk.register_forward_hook(lambda *_: passes.update(reference=passes["reference"] + 1))
    trainer.policy.lm_head.register_forward_hook(lambda module, inputs, output: head_rows.append(len(inputs[0])))
    trainer.update()
    longest = passes["sample"]
    assert 1 <= longest <= 8
    assert passes["reference"] == 8 // micro_batch
    assert passes["train"] == epochs * 8 // micro_batch
    tokens = trainer.tokens_done
    sampled_rows, others = sum(head_rows[:longest]), sum(head_rows[longest:])
    assert tokens <= sampled_rows <= 8 * longest
    assert others == (1 + epochs) * tokens  # the full KL and each epoch: only positions that predict a real token


# -- the same again ---------------------------------------------------------------------------------------------------


@EVERY_FAMILY
def test_dropout_in_the_configuration_changes_nothing_once_switched_off_even_in_training_mode(family):
    config = tiny.FAMILIES[family]()
    for name in ("attention_dropout", "hidden_dropout", "resid_pdrop", "embd_pdrop", "attn_pdrop"):
        if hasattr(config, name):
            setattr(config, name, 0.5)
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).train()
    ids = torch.arange(3, 13).unsqueeze(0)

    def logits() -> torch.Tensor:
        with torch.no_grad():
            return model(input_ids=ids).logits

    assert not torch.equal(logits(), logits()), "the test needs a model whose dropout shows"
    switch_dropout_off(model)
    model.train()
    assert torch.equal(logits(), logits())


@EVERY_FAMILY
def test_the_same_seed_gives_the_same_log_and_another_seed_another(family):
    def log(seed: int) -> list[dict]:
        trainer = tiny.trainer(family, seed=seed)
        torch.manual_seed(seed + 100)  # global random numbers have no effect
        torch.rand(seed + 1)
        lines = [trainer.update().model_dump() for _ in range(2)]
        return [{key: line[key] for key in line if not key.startswith(("seconds", "memory"))} for line in lines]

    first = log(5)
    torch.rand(17)
    assert log(5) == first
    assert log(6) != first
