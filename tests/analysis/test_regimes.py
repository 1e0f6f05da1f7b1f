"""The two marks on the slider of beta, held to scores of which the best policy is known."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from playground.analysis import regimes
from playground.analysis.regimes import Measured


def bell(sd=1.0, count=4001, nats=20.0):
    """Scores at the quantiles of a bell of that spread."""
    scores = [NormalDist(0, sd).inv_cdf((place + 0.5) / count) for place in range(count)]
    return Measured(scores, float(np.std(scores)), nats)


@pytest.mark.parametrize("sd", [0.5, 1.0, 40.0])
def test_the_marks_of_a_bell_are_the_rules_of_thumb_in_units_of_its_spread(sd):
    marks = regimes.regimes(bell(sd), answers=64)
    assert marks.gain == pytest.approx(2 * sd / 8, rel=0.01)
    assert marks.tight == pytest.approx(sd**2 / marks.gain, rel=0.02)  # the gain is Var / beta
    assert marks.loose == pytest.approx(sd / math.sqrt(2 * 20), rel=0.02)  # the KL is Var / (2 beta^2)


def test_a_score_of_two_values_is_not_taken_for_a_bell():
    """Half the texts score 1, half -1: the best policy gains tanh(1 / beta), and is never farther than log 2."""
    two = Measured([-1.0, 1.0] * 32, 1.0, 3.0)
    marks = regimes.regimes(two, answers=64)
    assert marks.loose is None
    assert marks.tight == pytest.approx(1 / math.atanh(0.25), rel=0.01)
    near = regimes.regimes(two._replace(nats=0.3), answers=64).loose
    up = (1 + math.tanh(1 / near)) / 2
    assert up * math.log(2 * up) + (1 - up) * math.log(2 * (1 - up)) == pytest.approx(0.3, rel=0.01)
