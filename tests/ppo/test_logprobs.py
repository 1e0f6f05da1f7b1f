import math

import pytest
import torch

from playground.ppo import logprobs
from playground.ppo.logprobs import entropy, log_softmax_at, token_log_probs


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_token_log_probs_equal_the_dense_log_softmax_at_the_temperature(temperature):
    logits = torch.randn(3, 4, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    tokens = torch.randint(0, 7, (3, 4), generator=torch.Generator().manual_seed(1))
    dense = torch.log_softmax(logits / temperature, -1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    assert torch.allclose(token_log_probs(logits, tokens, temperature), dense, atol=1e-12)
    assert torch.allclose(log_softmax_at(logits, temperature), torch.log_softmax(logits / temperature, -1), atol=1e-12)


@pytest.mark.parametrize("temperature", [0.5, 1.0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_gradient_of_token_log_probs_is_that_of_the_dense_log_softmax_however_they_are_cut(
    temperature, dtype, monkeypatch
):
    monkeypatch.setattr(logprobs, "CACHED_NUMBERS", 15)  # two rows of seven at a time
    source = torch.Generator().manual_seed(0)
    logits = torch.randn(5, 7, generator=source).to(dtype).requires_grad_(True)
    weights, tokens = torch.randn(5, generator=source), torch.randint(0, 7, (5,), generator=source)
    found = token_log_probs(logits, tokens, temperature)
    (ours,) = torch.autograd.grad((found * weights).sum(), logits)
    dense = torch.log_softmax(logits.double() / temperature, -1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    (plain,) = torch.autograd.grad((dense * weights).sum(), logits)
    exact = dtype == torch.float64
    assert torch.allclose(found.double(), dense, atol=1e-12 if exact else 1e-6)
    assert torch.allclose(ours, plain, atol=1e-12, rtol=0 if exact else 2**-8)


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
