"""The example on the model that it is written for."""

import pytest

from tests.examples.test_minimal_rlhf import minimal


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_pocket_model_gains_a_standard_deviation(seed):
    history = minimal.main(minimal.Settings(seed=seed))
    assert sum(update["score"] for update in history[-5:]) / 5 > 1
