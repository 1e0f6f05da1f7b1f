"""What the model service says, weighed by hand, and the best policy of a small world in which every text is listed."""

import math

import numpy as np
import pytest

from playground.config import LengthReward, SentimentReward
from playground.rewards import trying
from tests.support import small_config

FOUND = {
    "names": ["length", "sentiment"],
    "texts": {"length": [6.0, 2.0], "sentiment": [1.0, None]},
    "reference": {"length": [2.0, 4.0], "sentiment": [0.0, 0.0]},
    "samples": [{}, {}],
}
WRONG, RIGHT = "User: I think 4 plus 5 is 8. Bot:", "User: I think 4 plus 5 is 9. Bot:"


def test_values_are_put_on_the_samples_scale_and_without_samples_there_are_plain_sums():
    """Length: mean 3, sd 1. Weight 2, cap 2: +4 and -2. Sentiment does not vary: sd 1. Sums of the samples: -2, 2."""
    weighed = trying.weigh([LengthReward(weight=2, normalise=True, cap=2), SentimentReward()], FOUND)
    assert weighed.z == {"length": [3.0, -1.0], "sentiment": [1.0, None]}
    assert weighed.totals == [5.0, -2.0]
    assert weighed.adds == {"length": [2.0, -1.0], "sentiment": [0.5, 0.0]}
    assert weighed.scores == [pytest.approx(2.5), pytest.approx(-1.0)]
    weighed = trying.weigh([LengthReward(weight=2, normalise=True), SentimentReward()], {**FOUND, "samples": []})
    assert weighed.z == {}
    assert weighed.scores == weighed.totals == [13.0, 4.0]
    assert weighed.adds == {"length": [12.0, 4.0], "sentiment": [1.0, 0.0]}


def test_a_typed_text_goes_on_with_a_space_where_a_word_follows_a_word():
    typed = [("The plot was", "dull."), ("was ", "dull"), ("was", " dull"), ("was", "!"), ("", "dull"), ("x", "")]
    assert [trying.going_on(*texts) for texts in typed] == [" dull.", "dull", " dull", "!", "dull", ""]


# A reference that writes four texts with these odds of ten; A is "yes"; the score of each.
ODDS, YES, SCORE = (1, 2, 3, 4), (True, True, False, False), (3.0, 1.0, 2.0, 0.0)
MARKS = [mark for mark, often in zip(YES, ODDS, strict=True) for _ in range(often)]
SCORES = [score for score, often in zip(SCORE, ODDS, strict=True) for _ in range(often)]


@pytest.mark.parametrize("beta", [0.25, 1.0, 4.0])
def test_the_share_under_the_best_policy_is_the_enumerated_one(beta):
    weights = [often * math.exp(score / beta) for often, score in zip(ODDS, SCORE, strict=True)]  # text by text
    share, effective = trying.optimal_share([*MARKS, None], np.array([*SCORES, 99.0]), beta)
    assert share == pytest.approx(sum(weights[:2]) / sum(weights))
    assert 1 <= effective <= 10
    assert trying.optimal_share(MARKS, np.zeros(10), 0.1) == (pytest.approx(0.3), pytest.approx(10))


def outlooks(paid, beta=1.0, repeated=20, scaled=False):
    """Of a hundred samples, fifty are of a wrong claim, of which so many repeat it."""
    answers = [(WRONG, " 4 plus 5 is 8.")] * repeated + [(WRONG, " 4 plus 5 is 9.")] * (50 - repeated)
    texts = [*answers, *[(RIGHT, " 4 plus 5 is 9.")] * 50]
    samples = [{"prompt": prompt, "completion": completion, "ended": True} for prompt, completion in texts]
    config = small_config(
        rewards=[{"kind": "length"}],
        behaviours=["wrong-claims-repeated", "right-claims-agreed", "refuses"],
        kl={"coef": beta},
        score={"normalise": "reference" if scaled else "none"},
    )
    return trying.outlooks(config, {"reference": {"length": paid}, "samples": samples})


@pytest.mark.parametrize(("paid", "beta"), [([*np.linspace(0, 40, 100)], 0.1), ([1.0] * 100, 0.0)])
def test_where_few_samples_count_or_nothing_holds_it_the_best_policy_is_not_known(paid, beta):
    (outlook,) = outlooks(paid, beta)
    assert outlook.share is None
    assert outlook.effective < 5
    assert "unknown" in trying.sentence(outlook, beta)


def test_an_outlook_counts_what_the_reference_does_and_what_the_best_policy_would_unless_that_hardly_varies():
    for scaled, gap in ((False, 1.0), (True, 1 / math.sqrt(0.2 * 0.8))):  # of a hundred, twenty are paid 1
        (outlook,) = outlooks([1.0] * 20 + [0.0] * 80, scaled=scaled)
        assert (outlook.name, outlook.yes, outlook.of, outlook.aim) == ("wrong-claims-repeated", 20, 50, "less")
        assert outlook.share == pytest.approx(20 * math.exp(gap) / (20 * math.exp(gap) + 30))
    words = trying.sentence(outlook, 1.0)
    assert "20 of 50" in words
    assert f"{outlook.share:.0%}" in words
    assert outlooks([1.0] * 100, repeated=7) == []
