"""How many answers a model has to one prompt: counted by hand."""

from __future__ import annotations

import pytest

from playground.insight import diversity
from playground.insight.before_after import pairs
from tests.support import sample

BEFORE = {0: ["a b c", "a b d", "e f"], 1: ["a b", "a b ", "c d"]}
AFTER = {0: ["x y z", "x y z", " x y z"], 1: ["a b", "c d", "e f"]}


def samples(sides=(("before", BEFORE), ("after", AFTER))):
    return [
        sample(prompt_id, stage, 0.0, seed=seed, completion=text)
        for stage, answers in sides
        for prompt_id, texts in answers.items()
        for seed, text in enumerate(texts)
    ]


def test_different_answers_and_word_pairs_are_counted_within_each_prompt():
    found = diversity.by_prompt(pairs(samples()))
    # a b, b c, a b, b d, e f: four of five word pairs; x y, y z three times: two of six
    assert found[0] == (diversity.Variety(3, 3, 0.8), diversity.Variety(1, 3, pytest.approx(1 / 3)))
    assert found[1] == (diversity.Variety(2, 3, pytest.approx(2 / 3)), diversity.Variety(3, 3, 1.0))
    before, after = diversity.mean(found)
    assert (before.different, after.different, before.of) == (2.5, 2.0, 3)
    assert after.distinct_2 == pytest.approx(2 / 3)
