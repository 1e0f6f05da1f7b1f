import pytest
import torch

from playground.ppo.advantages import generalised_advantages, group_advantages, token_rewards
from playground.ppo.masked import explained_variance, masked_mean, masked_variance, spread_of_sums, whiten

VALUES = torch.tensor([[1.0, 2.0, 100.0], [3.0, float("nan"), -50.0]], dtype=torch.float64)
MASK = torch.tensor([[True, True, False], [True, False, False]])  # 1, 2, 3


def test_mean_variance_and_the_spread_of_the_sums_of_rows_see_real_tokens_only():
    assert masked_mean(VALUES, MASK) == 2.0
    assert torch.isclose(masked_variance(VALUES, MASK), torch.tensor(2 / 3, dtype=torch.float64))
    assert abs(spread_of_sums(VALUES, MASK)) < 1e-9  # 1 + 2 and 3
    values = torch.tensor([[1.0, 1.0, 9.0], [4.0, 2.0, 9.0], [1.0, 9.0, 9.0]], dtype=torch.float64)
    mask = torch.tensor([[True, True, False], [True, True, False], [True, False, False]])
    sums = torch.tensor([2.0, 6.0, 1.0], dtype=torch.float64)
    assert torch.isclose(spread_of_sums(values, mask), sums.std(correction=0))


def test_whitened_values_have_mean_0_and_variance_1_on_the_mask_and_0_elsewhere():
    white = whiten(VALUES, MASK)
    assert torch.allclose(white[MASK], torch.tensor([-(1.5**0.5), 0.0, 1.5**0.5], dtype=torch.float64), atol=1e-6)
    assert (white[~MASK] == 0).all()


def test_explained_variance_of_perfect_constant_and_worse_predictions():
    actual = torch.tensor([[1.0, 2.0, 3.0, 99.0]], dtype=torch.float64)
    mask = torch.tensor([[True, True, True, False]])
    assert explained_variance(actual, actual, mask) == 1
    assert explained_variance(torch.full_like(actual, 7.0), actual, mask) == 0
    assert explained_variance(-actual, actual, mask) == -3  # residual 2a has four times the variance
    assert torch.isnan(explained_variance(actual, torch.ones_like(actual), mask))


F64 = torch.float64


def masked(*lengths, width):
    return torch.arange(width).unsqueeze(0) < torch.tensor(lengths).unsqueeze(1)


def test_score_sits_on_the_last_real_token_wherever_that_is():
    log_ratio = torch.tensor([[0.1, 0.2, 0.3], [0.1, 0.2, 9.0], [0.4, 9.0, 9.0], [9.0, 9.0, 9.0]], dtype=F64)
    scores, mask = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=F64), masked(3, 2, 1, 0, width=3)
    by_hand = [[-0.05, -0.1, 0.85], [-0.05, 1.9, 0.0], [2.8, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert torch.allclose(token_rewards(log_ratio, scores, mask, kl_coef=0.5), torch.tensor(by_hand, dtype=F64))


def brute_force(rewards, values, length, gamma, lam):
    """The definition: A_t = sum_k (gamma lam)^k delta_{t+k}, over real tokens."""
    deltas = [rewards[t] + (gamma * values[t + 1] if t + 1 < length else 0.0) - values[t] for t in range(length)]
    return [sum((gamma * lam) ** k * deltas[t + k] for k in range(length - t)) for t in range(length)]


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 0.95), (0.9, 0.5), (1.0, 1.0), (1.0, 0.0)])
def test_gae_equals_its_definition_on_ragged_episodes_even_if_padding_is_not_a_number(gamma, lam):
    generator = torch.Generator().manual_seed(0)
    rewards, values = (torch.randn(4, 6, dtype=F64, generator=generator) for _ in range(2))
    lengths = [6, 1, 4, 0]
    mask = masked(*lengths, width=6)
    rewards[~mask] = values[~mask] = float("nan")
    advantages, returns = generalised_advantages(rewards, values, mask, gamma, lam)
    for row, length in enumerate(lengths):
        expected = brute_force(rewards[row].tolist(), values[row].tolist(), length, gamma, lam)
        assert advantages[row, :length].tolist() == pytest.approx(expected)
        assert (advantages[row, length:] == 0).all()
        assert (returns[row, length:] == 0).all()
    assert torch.allclose(returns[mask], (advantages + values)[mask])


def test_an_episode_is_measured_by_the_others_of_its_prompt():
    returns = torch.tensor([1.0, 2.0, 6.0, -1.0, -1.0, -1.0], dtype=F64)
    assert group_advantages(returns, 3).tolist() == pytest.approx([1 - 4.0, 2 - 3.5, 6 - 1.5, 0, 0, 0])
    spread = (((1 - 3) ** 2 + (2 - 3) ** 2 + (6 - 3) ** 2) / 3) ** 0.5
    standardised = group_advantages(returns, 3, standardise=True).tolist()
    assert standardised == pytest.approx([-2 / spread, -1 / spread, 3 / spread, 0, 0, 0])


@pytest.mark.parametrize("standardise", [False, True])
def test_leaving_one_out_leaves_the_expected_gradient_and_standardising_does_not(standardise):
    """Every pair of actions of a policy over three, weighed by its probability: the gradient of the expected reward."""
    logits = torch.tensor([0.3, -0.2, 0.5], dtype=F64, requires_grad=True)
    rewards = torch.tensor([0.0, 1.0, 10.0], dtype=F64)
    log_probs = logits.log_softmax(0)
    (exact,) = torch.autograd.grad((log_probs.exp() * rewards).sum(), logits, retain_graph=True)
    loss = torch.zeros((), dtype=F64)
    for pair in torch.cartesian_prod(torch.arange(3), torch.arange(3)):
        better = group_advantages(rewards[pair], 2, standardise=standardise)
        loss = loss + log_probs[pair].sum().exp().detach() * (better * log_probs[pair]).mean()
    (gradient,) = torch.autograd.grad(loss, logits)
    assert torch.allclose(gradient, exact) is not standardise
    assert (torch.nn.functional.cosine_similarity(gradient, exact, dim=0) < 0.99) == standardise
