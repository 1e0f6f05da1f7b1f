import math

import pytest
import torch

from playground.ppo.kl import AdaptiveKL, FixedKL, full_kl, k1, k2, k3

POLICY = torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64)
REFERENCE = torch.tensor([0.3, 0.3, 0.4], dtype=torch.float64)
EXACT = float((POLICY * (POLICY / REFERENCE).log()).sum())


def expectation(estimator) -> float:
    """Its mean over y ~ policy, by enumeration."""
    return float((POLICY * estimator((POLICY / REFERENCE).log())).sum())


def test_k1_and_k3_are_unbiased_and_full_is_exact():
    assert expectation(k1) == pytest.approx(EXACT, abs=1e-12)
    assert expectation(k3) == pytest.approx(EXACT, abs=1e-12)
    assert float(full_kl(POLICY.log(), REFERENCE.log())) == pytest.approx(EXACT, abs=1e-12)


def test_the_bias_of_k2_near_the_reference_has_the_sign_of_the_third_moment():
    """E[k2] - KL = E[d^3] / 6 - ... by the series of E[exp(-d)] = 1: it may be too high and too low."""
    biases = []
    for skewed in ([0.8, 0.1, 0.1], [0.1, 0.45, 0.45]):
        reference = torch.tensor(skewed, dtype=torch.float64)
        policy = torch.softmax(reference.log() + torch.tensor([0.2, 0.0, -0.1], dtype=torch.float64), 0)
        d = (policy / reference).log()
        biases.append(float((policy * (k2(d) - d)).sum()))
        assert biases[-1] == pytest.approx(float((policy * d**3).sum()) / 6, rel=0.1)
    assert min(biases) < 0 < max(biases)


def test_k2_is_biased_and_k2_and_k3_are_never_negative_while_k1_can_be():
    assert abs(expectation(k2) - EXACT) > 1e-3
    ratios = torch.linspace(-3, 3, 61)
    assert (k2(ratios) >= 0).all() and (k3(ratios) >= 0).all() and (k1(ratios) < 0).any()


def test_full_kl_of_a_token_that_the_policy_never_says_is_finite():
    assert float(full_kl(torch.tensor([0.0, -math.inf]), torch.tensor([0.5, 0.5]).log())) == pytest.approx(math.log(2))


def test_fixed_beta_stays():
    controller = FixedKL(0.3)
    controller.observe(100.0, 512)
    assert controller.coef == 0.3


def test_adaptive_beta_at_the_target_stays_and_at_twice_the_target_rises_by_the_clipped_error():
    controller = AdaptiveKL(coef=0.2, target=6.0, horizon=10_000)
    controller.observe(6.0, 512)
    assert controller.coef == pytest.approx(0.2)
    controller.observe(12.0, 512)
    assert controller.coef == pytest.approx(0.2 * (1 + 0.2 * 512 / 10_000))  # 0.2 x 1.01024


def test_adaptive_beta_is_clipped_on_both_sides_and_proportional_between():
    for kl, error in [(1000.0, 0.2), (-50.0, -0.2), (6.6, 0.1), (5.4, -0.1)]:
        controller = AdaptiveKL(coef=1.0, target=6.0, horizon=100)
        controller.observe(kl, 10)
        assert controller.coef == pytest.approx(1 + error * 10 / 100), kl


@pytest.mark.parametrize(("kl", "rises"), [(0.0, False), (50.0, True)])
def test_adaptive_beta_moves_by_a_fifth_at_most_stays_above_zero_and_can_come_back(kl, rises):
    """A batch that is longer than the horizon counts as one horizon."""
    controller = AdaptiveKL(coef=0.25, target=6.0, horizon=64)
    controller.observe(kl, 384)
    assert controller.coef == pytest.approx(0.25 * (1.2 if rises else 0.8))
    for _ in range(5000):
        controller.observe(kl, 384)
    assert 1e-5 < controller.coef <= 1000
    stuck = controller.coef
    for _ in range(80):
        controller.observe(0.0 if rises else 50.0, 384)
    assert controller.coef < stuck / 1e6 or controller.coef > stuck * 1e6
