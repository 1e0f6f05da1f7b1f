import pytest
import torch

from playground.ppo.losses import clipped_tokens, policy_loss, value_loss

F64 = torch.float64


def test_at_ratio_1_the_loss_is_minus_the_advantage_and_its_gradient_too():
    log_ratio = torch.zeros(3, dtype=F64, requires_grad=True)
    advantages = torch.tensor([2.0, -1.0, 0.5], dtype=F64)
    loss = policy_loss(log_ratio, advantages, 0.2)
    loss.sum().backward()
    assert torch.equal(loss.detach(), -advantages)
    assert torch.equal(log_ratio.grad, -advantages)  # d/d(log pi) of -r A at r = 1


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "clipped"),
    [
        (1.5, 1.0, -1.2, True),  # moved too far the way A wants: clipped
        (0.5, 1.0, -0.5, False),  # moved the wrong way: the full gradient brings it back
        (0.5, -1.0, 0.8, True),
        (1.5, -1.0, 1.5, False),
        (1.1, 1.0, -1.1, False),
        (0.9, -1.0, 0.9, False),
        (0.5, 0.5, -0.25, False),
        (1.5, -0.5, 0.75, False),
    ],
)
def test_clipping_by_hand_and_the_gradient_is_0_exactly_where_it_is_clipped(ratio, advantage, loss, clipped):
    log_ratio = torch.tensor(ratio, dtype=F64).log().requires_grad_()
    advantages = torch.tensor(advantage, dtype=F64)
    value = policy_loss(log_ratio, advantages, 0.2)
    value.backward()
    assert float(value) == pytest.approx(loss)
    assert (float(log_ratio.grad) == 0) == clipped
    assert bool(clipped_tokens(log_ratio.detach(), advantages, 0.2)) == clipped


def test_value_loss_by_hand():
    values, old, returns = (torch.tensor([x], dtype=F64) for x in (2.0, 0.5, 0.0))
    assert float(value_loss(values, old, returns)) == 2.0  # (2 - 0)^2 / 2
    assert float(value_loss(values, old, returns, 0.2)) == 2.0  # clipped estimate 0.7 is closer: the worse one counts
    returns = torch.tensor([3.0], dtype=F64)
    assert float(value_loss(values, old, returns)) == 0.5
    assert float(value_loss(values, old, returns, 0.2)) == pytest.approx((0.7 - 3) ** 2 / 2)
    down, old, returns = (torch.tensor([x], dtype=F64) for x in (-2.0, 0.5, -3.0))  # the clip holds on both sides
    assert float(value_loss(down, old, returns, 0.2)) == pytest.approx((0.3 + 3) ** 2 / 2)
    near = torch.tensor([0.6], dtype=F64)
    assert float(value_loss(near, old, returns, 0.2)) == pytest.approx((0.6 + 3) ** 2 / 2)  # within it, both are equal


def test_at_ratio_1_the_gradient_of_the_logits_is_minus_the_advantage_times_that_of_the_log_probability():
    logits = torch.tensor([[0.3, -1.0, 0.5]], dtype=F64, requires_grad=True)
    log_prob = logits.log_softmax(-1)[0, 1]
    policy_loss(log_prob - log_prob.detach(), torch.tensor(2.5, dtype=F64), 0.2).backward()
    by_hand = -2.5 * (torch.tensor([0.0, 1.0, 0.0], dtype=F64) - logits.detach()[0].softmax(-1))
    assert torch.allclose(logits.grad[0], by_hand)


def test_the_value_loss_has_no_gradient_once_the_clipped_estimate_is_the_worse_one():
    """V moved from 0 to 1 towards a return of 2; clipped at 0.2 it is still the further one, and pulls no more."""
    value = torch.tensor(1.0, dtype=F64, requires_grad=True)
    loss = value_loss(value, torch.tensor(0.0, dtype=F64), torch.tensor(2.0, dtype=F64), 0.2)
    loss.backward()
    assert float(loss.detach()) == pytest.approx((0.2 - 2) ** 2 / 2)
    assert float(value.grad) == 0
