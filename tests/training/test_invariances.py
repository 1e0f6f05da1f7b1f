"""What must not change anything, in every model family, with a pad token that is the end-of-sequence token and one that
is not; and what an update costs, counted. (Sampling by itself: test_sampling.py.)"""

import pytest
import torch

from tests.training import tiny

EVERY_FAMILY = pytest.mark.parametrize("family", tiny.FAMILIES)
EVERY_PAD = pytest.mark.parametrize("pad_is_eos", [False, True], ids=["pad", "pad-is-eos"])


def prepared(trainer):
    rollout = trainer.collect()
    return (rollout, *trainer.advantages(rollout, trainer.score(rollout), 0.1))


@EVERY_FAMILY
@EVERY_PAD
def test_policy_and_reference_agree_before_the_first_step_and_the_value_head_says_0(family, pad_is_eos):
    """Sampling with a cache and left padding, scoring and training in packed rows: three ways to the same numbers."""
    trainer = tiny.trainer(family, pad_is_eos)
    rollout = trainer.collect()
    assert {*rollout.episodes.ended.tolist()} == {True, False}, "the test needs both"
    assert rollout.log_ratio.abs().max() < 1e-5
    assert (rollout.episodes.values == 0).all()
    first = trainer.step(rollout, torch.arange(4), *prepared(trainer)[1:])
    assert first["ratio_mean"] == pytest.approx(1, abs=1e-5)
    assert first["ratio_max"] == pytest.approx(1, abs=1e-5)
    assert first["clip_fraction"] == 0
    assert first["update_kl"] == pytest.approx(0, abs=1e-9)


@EVERY_FAMILY
@EVERY_PAD
def test_the_reference_stays_bit_identical_while_every_weight_of_the_policy_moves(family, pad_is_eos):
    trainer = tiny.trainer(family, pad_is_eos)
    reference = tiny.weights(trainer.reference)
    trainer.update()
    trainer.update()
    assert all(map(torch.equal, reference, trainer.reference.parameters()))
    assert not any(map(torch.equal, reference, trainer.policy.parameters()))


@EVERY_FAMILY
def test_cutting_ragged_episodes_into_micro_batches_leaves_the_gradient_as_it_is(family):
    """A mean per micro-batch, or per episode, would give another one."""

    def gradient(micro_batch_size):
        sizes = {"ppo__micro_batch_size": micro_batch_size, "ppo__minibatch_size": 8}
        trainer = tiny.trainer(family, **sizes, ppo__max_grad_norm=1e6)
        found, learned = [], trainer.trained.values()
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
    """At ratio 1 the loss of a token pulls at its logits with A (p - onehot) / N, and at no other position; A is
    whitened over the batch, not over the minibatch."""
    trainer = tiny.trainer(family, pad_is_eos, ppo__micro_batch_size=4, ppo__value_coef=0.0)
    rollout, advantages, returns = prepared(trainer)
    caught = []

    def catch(module, inputs, logits):
        logits.register_hook(lambda gradient: caught.append((logits.detach(), gradient)))

    trainer.optimizer.step = lambda: None
    handle = trainer.policy.lm_head.register_forward_hook(catch)
    rows = torch.arange(4, 8)
    trainer.step(rollout, rows, advantages, returns)
    handle.remove()
    ((logits, gradient),) = caught
    episodes = rollout.episodes
    order = rows[torch.argsort(rollout.packed.totals[rows], stable=True)]  # the order of the micro-batch
    chosen = episodes.completion_ids[order][episodes.mask[order]]
    advantage = advantages[order][episodes.mask[order]]
    assert len(logits) == int(episodes.mask[rows].sum()), "one row for each real token, and none for padding"
    onehot = torch.nn.functional.one_hot(chosen, tiny.VOCABULARY)
    expected = advantage[:, None] * (logits.softmax(-1) - onehot) / len(chosen)
    assert torch.allclose(gradient, expected, atol=1e-6)
    assert (chosen == 2).any()
    assert (gradient[chosen == 2, 2].abs() > 1e-5).all()


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
    assert (passes["reference"], passes["train"]) == (8 // micro_batch, epochs * 8 // micro_batch)
    tokens = trainer.tokens_done
    sampled_rows, others = sum(head_rows[:longest]), sum(head_rows[longest:])
    assert tokens <= sampled_rows <= 8 * longest
    assert others == (1 + epochs) * tokens  # the full KL and each epoch: only positions that predict a real token
