import math

import pytest
import torch

from playground.ppo import logprobs
from playground.ppo.logprobs import entropy, log_softmax_at, token_log_probs
from playground.ppo.losses import clipped_tokens, policy_loss, value_loss
from tests.support import data_beside


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_token_log_probs_and_their_gradient_are_those_of_the_dense_log_softmax_however_they_are_cut(
    temperature, dtype, monkeypatch
):
    monkeypatch.setattr(logprobs, "CACHED_NUMBERS", 15)  # two rows of seven at a time
    source = torch.Generator().manual_seed(0)
    logits = torch.randn(5, 7, generator=source).to(dtype).requires_grad_(True)
    weights, tokens = torch.randn(5, generator=source), torch.randint(0, 7, (5,), generator=source)
    ours = token_log_probs(logits, tokens, temperature)
    (our_gradient,) = torch.autograd.grad((ours * weights).sum(), logits)
    whole = torch.log_softmax(logits.double() / temperature, -1)
    dense = whole.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    (gradient,) = torch.autograd.grad((dense * weights).sum(), logits, retain_graph=True)
    exact = dtype == torch.float64
    tolerance = 1e-12 if exact else 1e-6
    assert torch.allclose(ours.double(), dense, atol=tolerance)
    assert torch.allclose(log_softmax_at(logits, temperature).double(), whole, atol=tolerance)
    assert torch.allclose(our_gradient, gradient, atol=1e-12, rtol=0 if exact else 2**-8)


def test_log_probs_of_no_tokens_are_none():
    assert token_log_probs(torch.zeros(0, 7), torch.zeros(0, dtype=torch.long)).shape == (0,)


def test_entropy_by_hand():
    log_probs = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]]).log()
    by_hand = torch.tensor([math.log(2), 0.0, math.log(3)])
    assert torch.allclose(entropy(log_probs), by_hand)
    assert torch.allclose(entropy(log_probs.view(3, 1, 3)), by_hand.view(3, 1))


def number(value):
    return torch.tensor(value, dtype=torch.float64)


BY_HAND = data_beside(__file__, "losses.yaml")


@pytest.mark.parametrize(("ratio", "advantage", "loss", "clipped"), BY_HAND["policy"])
def test_clipping_by_hand_and_the_gradient_is_0_exactly_where_it_is_clipped(ratio, advantage, loss, clipped):
    log_ratio, advantages = number(ratio).log().requires_grad_(), number(advantage)
    value = policy_loss(log_ratio, advantages, 0.2)
    value.backward()
    assert float(value.detach()) == pytest.approx(loss)
    assert float(log_ratio.grad) == pytest.approx(0.0 if clipped else -ratio * advantage)  # d/d(log r) of -r A
    assert bool(clipped_tokens(log_ratio.detach(), advantages, 0.2)) == clipped


@pytest.mark.parametrize(("value", "old", "return_", "clip_range", "loss"), BY_HAND["value"])
def test_value_loss_by_hand(value, old, return_, clip_range, loss):
    assert float(value_loss(number(value), number(old), number(return_), clip_range)) == pytest.approx(loss)


def test_at_ratio_1_the_gradient_of_the_logits_is_minus_the_advantage_times_that_of_the_log_probability():
    logits = torch.tensor([[0.3, -1.0, 0.5]], dtype=torch.float64, requires_grad=True)
    log_prob = logits.log_softmax(-1)[0, 1]
    policy_loss(log_prob - log_prob.detach(), number(2.5), 0.2).backward()
    by_hand = -2.5 * (torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64) - logits.detach()[0].softmax(-1))
    assert torch.allclose(logits.grad[0], by_hand)


def test_the_value_loss_has_no_gradient_once_the_clipped_estimate_is_the_worse_one():
    """V moved from 0 to 1 towards a return of 2; clipped at 0.2 it is still the further one, and pulls no more."""
    value = number(1.0).requires_grad_()
    loss = value_loss(value, number(0.0), number(2.0), 0.2)
    loss.backward()
    assert float(loss.detach()) == pytest.approx((0.2 - 2) ** 2 / 2)
    assert float(value.grad) == 0
