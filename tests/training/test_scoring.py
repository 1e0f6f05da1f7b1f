"""The score by hand: scale, clip and the penalty for not ending, in this order."""

import json

import pytest

from playground.rewards.mixture import Mixture, Scale
from playground.training.loop.scoring import Scorer
from tests.support import data_beside
from tests.training import tiny


@pytest.mark.parametrize(("clip", "scores"), [(None, [-1.0, -1.5, 3.0, 2.5]), (2.0, [-1.0, -1.5, 2.0, 1.5])])
def test_a_completion_that_was_cut_loses_the_penalty_after_scaling_and_clipping(clip, scores):
    """Reward 0 or 8 letters "a", on a scale of mean 2 and standard deviation 2."""
    scorer = Scorer(tiny.config(sampling__missing_eos_penalty=0.5), tiny.count_letter(), Scale(2.0, 2.0, clip))
    scored = scorer(["p"] * 4, ["b", "b", "a" * 8, "a" * 8], [True, False, True, False])
    assert (scored.scores, scored.raw) == (scores, [0.0, 0.0, 8.0, 8.0])


def mixed(**changes):
    """Two rewards: letters "a" and letters "b"."""

    def count(letter):
        return lambda prompts, completions, **_: [float(text.count(letter)) for text in completions]

    mixture = Mixture({"a": (1.0, count("a"), True), "b": (-2.0, count("b"), True, 1.5)})
    return Scorer(tiny.config(**changes), mixture)


def test_contributions_add_up_to_the_score_and_are_0_on_average_on_the_reference():
    scorer, texts = mixed(), ["a", "ab", "aab", "bbb", ""]
    scorer.fit_scale(["p"] * 5, texts)
    on_reference = scorer(["p"] * 5, texts, [True] * 5)
    for values in on_reference.contributions.values():
        assert sum(values) == pytest.approx(0)
    later = scorer(["p"] * 2, ["aaaa", "bbbbbbbb"], [True] * 2)
    for row, score in enumerate(later.scores):
        assert score == pytest.approx(sum(values[row] for values in later.contributions.values()))
    assert later.contributions["b"][1] < 0
    assert later.terms == {"a": [4.0, 0.0], "b": [0.0, 8.0]}


def fitted(grades):
    """A scorer whose scale was fitted to these grades of the reference."""
    mixture = Mixture({"grade": (1.0, lambda prompts, completions, **_: list(grades))})
    scorer = Scorer(tiny.config(score__normalise="reference"), mixture)
    scorer.fit_scale(["p"] * len(grades), ["x"] * len(grades))
    return scorer


def test_all_scales_travel_as_plain_data_and_say_how_well_they_are_known():
    first = mixed(score__clip=5.0)
    first.fit_scale(["p"] * 3, ["a", "ab", "bb"])
    again = mixed(score__clip=5.0).restore(json.loads(json.dumps(first.facts())))
    asked = (["p"] * 3, ["aaa", "b", "abab"], [True] * 3)
    assert again(*asked) == first(*asked)
    scorer = fitted([0.0, 0.0, 0.0, 4.0])
    # mean 1, sd sqrt(3), fourth moment (3 * 1 + 81) / 4 = 21: errors sqrt(3 / 4) and sqrt((21 - 9) / 4) / (2 sqrt(3))
    assert scorer.scale_errors == pytest.approx({"mean_error": 0.75**0.5, "sd_error": 0.5})
    assert scorer.scale_in_words == (
        "1 sd is 1.73 points of the raw reward, from 4 texts of the reference: the sd is known to about \u00b129 %, "
        "the mean to \u00b10.5 sd."
    )


@pytest.mark.parametrize(("counts", "words"), data_beside(__file__, "tables.yaml")["scales"])
def test_a_scale_that_few_texts_make_is_warned_of(counts, words):
    warning = fitted([grade for grade, count in counts for _ in range(count)]).warning
    assert words in warning
    assert bool(words) == bool(warning)
