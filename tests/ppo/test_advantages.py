import pytest
import torch

from playground.ppo.advantages import generalised_advantages, group_advantages, token_rewards

F64 = torch.float64


def test_score_sits_on_the_last_real_token_wherever_that_is():
    log_ratio = torch.tensor([[0.1, 0.2, 0.3], [0.1, 0.2, 9.0], [0.4, 9.0, 9.0], [9.0, 9.0, 9.0]], dtype=F64)
    lengths = torch.tensor([3, 2, 1, 0])
    mask = torch.arange(3).unsqueeze(0) < lengths.unsqueeze(1)
    rewards = token_rewards(log_ratio, torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=F64), mask, kl_coef=0.5)
    by_hand = [[-0.05, -0.1, 0.85], [-0.05, 1.9, 0.0], [2.8, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert torch.allclose(rewards, torch.tensor(by_hand, dtype=F64))


def test_rewards_of_an_episode_add_up_to_score_minus_beta_times_kl():
    generator = torch.Generator().manual_seed(3)
    log_ratio = torch.randn(5, 7, dtype=F64, generator=generator)
    mask = torch.arange(7).unsqueeze(0) < torch.tensor([7, 1, 3, 6, 2]).unsqueeze(1)
    scores = torch.randn(5, dtype=F64, generator=generator)
    total = token_rewards(log_ratio, scores, mask, 0.3).sum(1)
    assert torch.allclose(total, scores - 0.3 * (log_ratio * mask).sum(1))


def brute_force(rewards, values, length, gamma, lam):
    """The definition: A_t = sum_k (gamma lam)^k delta_{t+k}, over real tokens."""
    deltas = [rewards[t] + (gamma * values[t + 1] if t + 1 < length else 0.0) - values[t] for t in range(length)]
    return [sum((gamma * lam) ** k * deltas[t + k] for k in range(length - t)) for t in range(length)]


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 0.95), (0.9, 0.5), (1.0, 1.0), (1.0, 0.0)])
def test_gae_equals_its_definition_on_ragged_episodes(gamma, lam):
    generator = torch.Generator().manual_seed(0)
    rewards, values = (torch.randn(4, 6, dtype=F64, generator=generator) for _ in range(2))
    lengths = [6, 1, 4, 0]
    mask = torch.arange(6).unsqueeze(0) < torch.tensor(lengths).unsqueeze(1)
    advantages, returns = generalised_advantages(rewards, values, mask, gamma, lam)
    for row, length in enumerate(lengths):
        expected = brute_force(rewards[row].tolist(), values[row].tolist(), length, gamma, lam)
        assert advantages[row, :length].tolist() == pytest.approx(expected)
        assert (advantages[row, length:] == 0).all()
        assert (returns[row, length:] == 0).all()
    assert torch.allclose(returns[mask], (advantages + values)[mask])


def test_more_padding_changes_nothing_even_if_it_is_not_a_number():
    rewards = torch.tensor([[1.0, -2.0]], dtype=F64)
    values = torch.tensor([[0.3, 0.7]], dtype=F64)
    mask = torch.ones(1, 2, dtype=torch.bool)
    junk = torch.full((1, 3), float("nan"), dtype=F64)
    short = generalised_advantages(rewards, values, mask, 0.99, 0.9)
    padded = (torch.cat(pair, 1) for pair in ((rewards, junk), (values, junk), (mask, torch.zeros_like(junk).bool())))
    long = generalised_advantages(*padded, 0.99, 0.9)
    for a, b in zip(short, long, strict=True):
        assert torch.equal(a, b[:, :2])
        assert (b[:, 2:] == 0).all()


def test_without_a_value_function_advantages_are_discounted_sums_of_rewards():
    rewards = torch.tensor([[1.0, 2.0, 4.0], [3.0, 9.0, 9.0]], dtype=F64)
    mask = torch.tensor([[True, True, True], [True, False, False]])
    advantages, returns = generalised_advantages(rewards, torch.zeros(2, 3, dtype=F64), mask, 0.5, 0.5)
    assert advantages.tolist() == [[1 + 2 / 4 + 4 / 16, 2 + 4 / 4, 4.0], [3.0, 0.0, 0.0]]
    assert torch.equal(returns, advantages)


def test_an_episode_is_measured_by_the_others_of_its_prompt():
    returns = torch.tensor([1.0, 2.0, 6.0, -1.0, -1.0, -1.0], dtype=F64)
    by_hand = [1 - 4.0, 2 - 3.5, 6 - 1.5, 0, 0, 0]
    assert group_advantages(returns, 3).tolist() == pytest.approx(by_hand)
    spread = (((1 - 3) ** 2 + (2 - 3) ** 2 + (6 - 3) ** 2) / 3) ** 0.5
    standardised = group_advantages(returns, 3, standardise=True).tolist()
    assert standardised == pytest.approx([-2 / spread, -1 / spread, 3 / spread, 0, 0, 0])


def test_leaving_one_out_leaves_the_expected_gradient_and_standardising_does_not():
    """Every pair of actions of a policy over three, weighed by its probability: the gradient of the expected reward."""
    logits = torch.tensor([0.3, -0.2, 0.5], dtype=F64, requires_grad=True)
    rewards = torch.tensor([0.0, 1.0, 10.0], dtype=F64)
    log_probs = logits.log_softmax(0)
    (exact,) = torch.autograd.grad((log_probs.exp() * rewards).sum(), logits, retain_graph=True)
    found = {}
    for standardise in (False, True):
        loss = torch.zeros((), dtype=F64)
        for first in range(3):
            for second in range(3):
                pair = torch.tensor([first, second])
                better = group_advantages(rewards[pair], 2, standardise=standardise)
                loss = loss + log_probs[pair].sum().exp().detach() * (better * log_probs[pair]).mean()
        (found[standardise],) = torch.autograd.grad(loss, logits, retain_graph=True)
    assert torch.allclose(found[False], exact)
    assert torch.nn.functional.cosine_similarity(found[True], exact, dim=0) < 0.99
