import torch

from playground.ppo.masked import explained_variance, masked_mean, masked_variance, spread_of_sums, whiten

VALUES = torch.tensor([[1.0, 2.0, 100.0], [3.0, float("nan"), -50.0]], dtype=torch.float64)
MASK = torch.tensor([[True, True, False], [True, False, False]])  # 1, 2, 3


def test_mean_and_variance_see_real_tokens_only():
    assert masked_mean(VALUES, MASK) == 2.0
    assert torch.isclose(masked_variance(VALUES, MASK), torch.tensor(2 / 3, dtype=torch.float64))


def test_the_spread_of_the_sums_of_rows_sees_real_tokens_only():
    assert abs(spread_of_sums(VALUES, MASK)) < 1e-9  # 1 + 2 and 3
    values = torch.tensor([[1.0, 1.0, 9.0], [4.0, 2.0, 9.0], [1.0, 9.0, 9.0]], dtype=torch.float64)
    mask = torch.tensor([[True, True, False], [True, True, False], [True, False, False]])
    sums = torch.tensor([2.0, 6.0, 1.0], dtype=torch.float64)
    assert torch.isclose(spread_of_sums(values, mask), sums.std(correction=0))


def test_whitened_values_have_mean_0_and_variance_1_on_the_mask_and_0_elsewhere():
    white = whiten(VALUES, MASK)
    assert torch.allclose(white[MASK], torch.tensor([-(1.5**0.5), 0.0, 1.5**0.5], dtype=torch.float64), atol=1e-6)
    assert (white[~MASK] == 0).all()


def test_whitening_without_shift_keeps_the_mean():
    white = whiten(VALUES, MASK, shift_mean=False)
    assert torch.isclose(white[MASK].mean(), torch.tensor(2.0, dtype=torch.float64))
    assert torch.isclose(white[MASK].var(unbiased=False), torch.tensor(1.0, dtype=torch.float64), atol=1e-6)


def test_explained_variance_of_perfect_constant_and_worse_predictions():
    actual = torch.tensor([[1.0, 2.0, 3.0, 99.0]], dtype=torch.float64)
    mask = torch.tensor([[True, True, True, False]])
    assert explained_variance(actual, actual, mask) == 1
    assert explained_variance(torch.full_like(actual, 7.0), actual, mask) == 0
    assert explained_variance(-actual, actual, mask) == -3  # residual 2a has four times the variance
    assert torch.isnan(explained_variance(actual, torch.ones_like(actual), mask))
