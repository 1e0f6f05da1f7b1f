import copy
import itertools
import math

import pytest
import torch

from playground.ppo.kl import SAMPLED_ESTIMATORS, AdaptiveKL, FixedKL, ZieglerKL, full_kl, k1, k2, k3, token_kl
from tests.support import data_beside

POLICY = torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64)
REFERENCE = torch.tensor([0.3, 0.3, 0.4], dtype=torch.float64)
EXACT = float((POLICY * (POLICY / REFERENCE).log()).sum())


def expectation(estimator):
    """Its mean over y ~ policy, by enumeration."""
    return float((POLICY * estimator((POLICY / REFERENCE).log())).sum())


def test_k1_and_k3_are_unbiased_k2_is_not_and_k2_and_k3_are_never_negative_while_k1_can_be():
    assert expectation(k1) == pytest.approx(EXACT, abs=1e-12)
    assert expectation(k3) == pytest.approx(EXACT, abs=1e-12)
    assert abs(expectation(k2) - EXACT) > 1e-3
    ratios = torch.linspace(-3, 3, 61)
    assert (k2(ratios) >= 0).all()
    assert (k3(ratios) >= 0).all()
    assert (k1(ratios) < 0).any()


def test_the_full_kl_is_exact_at_each_position_and_finite_for_a_token_that_the_policy_never_says():
    two = full_kl(torch.stack([POLICY, REFERENCE]).log(), torch.stack([REFERENCE, REFERENCE]).log())
    assert two.tolist() == pytest.approx([EXACT, 0.0], abs=1e-12)
    assert float(full_kl(torch.tensor([0.0, -math.inf]), torch.tensor([0.5, 0.5]).log())) == pytest.approx(math.log(2))


def test_the_kl_of_a_token_is_that_of_the_estimator_of_its_name():
    log_ratio = torch.tensor([0.5, -2.0, 0.0], dtype=torch.float64)
    exact = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
    assert torch.equal(token_kl("full", log_ratio, exact), exact)
    for name, estimator in SAMPLED_ESTIMATORS.items():
        assert torch.equal(token_kl(name, log_ratio, exact), estimator(log_ratio))
    assert torch.equal(token_kl("abs", log_ratio, exact), log_ratio.abs())


def test_fixed_beta_stays():
    controller = FixedKL(0.3)
    controller.observe(100.0, 100.0, 512)
    assert controller.coef == 0.3
    assert controller.state() == {"kl_coef": 0.3, "kl_target": None}


@pytest.mark.parametrize(("kl", "error", "tokens", "horizons"), data_beside(__file__, "losses.yaml")["ziegler"])
def test_zieglers_beta_is_clipped_and_proportional_between_and_a_long_batch_counts_as_one_horizon(
    kl, error, tokens, horizons
):
    controller = ZieglerKL(coef=0.25, target=6.0, horizon=100)
    controller.observe(kl, kl, tokens)
    assert controller.coef == pytest.approx(0.25 * (1 + error * horizons))


@pytest.mark.parametrize("start", [ZieglerKL(0.25, 6.0, 64), AdaptiveKL(0.5, 2.0)], ids=["ziegler", "adaptive"])
@pytest.mark.parametrize(("kl", "back"), [(0.0, 50.0), (50.0, 0.0)])
def test_a_beta_stays_within_bounds_and_can_come_back(start, kl, back):
    controller = copy.copy(start)
    for _ in range(5000):
        controller.observe(kl, kl, 384)
    assert 1e-5 < controller.coef <= 1000
    stuck = controller.coef
    for _ in range(200):
        controller.observe(back, back, 384)
    assert controller.coef < stuck / 1e6 or controller.coef > stuck * 1e6


def steps(*kls, coef=0.5, target=2.0):
    """By how much the logarithm of beta moves in each of some updates with these exact KLs; samples do not count."""
    controller = AdaptiveKL(coef, target)
    betas = [coef]
    for kl in kls:
        controller.observe(float("nan"), kl, 48)
        betas.append(controller.coef)
    return [math.log(after / before) for before, after in itertools.pairwise(betas)]


def test_a_beta_that_looks_ahead_by_hand():
    # kl = 0.4 * 1 + 0.6 * 1.5 = 1.3, slope = 0.5 * 0.3 = 0.15, foreseen 1.3 + 8 * 0.15 = 2.5
    assert steps(1.0, 1.5) == pytest.approx([0.0, 0.25 * math.log(2.5 / 2)])
    # kl = 0.4 * 4 + 0.6 * 3 = 3.4, slope = -0.3, foreseen 3.4 - 3 * 0.3 = 2.5: from far above over three updates
    assert steps(4.0, 3.0) == pytest.approx([0.25 * math.log(4 / 2), 0.25 * math.log(2.5 / 2)])
    # kl = 0.4 * 2.4 + 0.6 * 2 = 2.16, slope = -0.12, foreseen 2.16 - 8 * 0.12 = 1.2; one update has been seen
    assert steps(2.4, 2.0)[1] == pytest.approx(max(0.25 * math.log(1.2 / 2), -0.18 / 6))


def test_a_beta_looks_ahead_and_rises_by_half_in_an_update_at_most_and_falls_by_a_sixth():
    assert steps(*[0.2] * 7, 0.6, 1.0, 1.4)[-1] > 0
    assert steps(*[2.4] * 7, 2.3, 2.2, 2.1)[-1] < 0
    assert steps(1e6) == pytest.approx([0.4])
    for nothing in (0.0, -1e-7):
        assert steps(*[nothing] * 8) == pytest.approx([-0.18 * min(seen / 6, 1) for seen in range(8)])


@pytest.mark.parametrize(
    ("controller", "other"),
    [
        (AdaptiveKL(0.5, 2.0), AdaptiveKL(9.0, 7.0)),
        (ZieglerKL(0.5, 2.0, 200), ZieglerKL(9.0, 7.0, 200)),
        (FixedKL(0.5), FixedKL(9.0)),
    ],
)
def test_a_controller_goes_on_from_its_state_as_if_nothing_had_been(controller, other):
    for kl in (0.1, 0.8, 1.9):
        controller.observe(kl, kl, 48)
    other.restore(controller.state())
    for each in (controller, other):
        each.observe(2.5, 2.5, 48)
    assert other.state() == controller.state()
