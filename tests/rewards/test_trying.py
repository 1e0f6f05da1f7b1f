"""What the model service says, weighed by hand."""

import pytest

from playground.config import LengthReward, SentimentReward
from playground.rewards import trying

FOUND = {
    "names": ["length", "sentiment"],
    "texts": {"length": [6.0, 2.0], "sentiment": [1.0, None]},
    "reference": {"length": [2.0, 4.0], "sentiment": [0.0, 0.0]},
    "samples": [{}, {}],
}


def test_values_are_put_on_the_samples_scale_weighted_and_told_above_their_average():
    """Length: mean 3, sd 1. Weight 2, cap 2: +4 and -2. Sentiment does not vary: sd 1. Sums of the samples: -2, 2."""
    found = trying.weigh([LengthReward(weight=2, normalise=True, cap=2), SentimentReward()], FOUND)
    assert found.z == {"length": [3.0, -1.0], "sentiment": [1.0, None]}
    assert found.totals == [5.0, -2.0]
    assert found.adds == {"length": [2.0, -1.0], "sentiment": [0.5, 0.0]}
    assert found.scores == [pytest.approx(2.5), pytest.approx(-1.0)]


def test_without_samples_there_are_plain_sums():
    found = trying.weigh([LengthReward(weight=2, normalise=True), SentimentReward()], {**FOUND, "samples": []})
    assert found.z == {} and found.scores == found.totals == [13.0, 4.0]
    assert found.adds == {"length": [12.0, 4.0], "sentiment": [1.0, 0.0]}


def test_a_typed_text_goes_on_with_a_space_where_a_word_follows_a_word():
    typed = [("The plot was", "dull."), ("was ", "dull"), ("was", " dull"), ("was", "!"), ("", "dull"), ("x", "")]
    assert [trying.going_on(*texts) for texts in typed] == [" dull.", "dull", " dull", "!", "dull", ""]
