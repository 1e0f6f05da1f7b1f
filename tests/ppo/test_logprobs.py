import math

import pytest
import torch

from playground.ppo import logprobs
from playground.ppo.logprobs import entropy, log_softmax_at, token_log_probs


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


def test_log_probs_of_half_precision_logits_are_computed_in_float32():
    half = torch.zeros(1, 3, dtype=torch.bfloat16)
    assert token_log_probs(half, torch.tensor([0])).dtype == log_softmax_at(half).dtype == torch.float32


def test_entropy_by_hand():
    log_probs = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]]).log()
    by_hand = torch.tensor([math.log(2), 0.0, math.log(3)])
    assert torch.allclose(entropy(log_probs), by_hand)
    assert torch.allclose(entropy(log_probs.view(3, 1, 3)), by_hand.view(3, 1))
