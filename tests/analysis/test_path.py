"""Score against KL, evaluation by evaluation: paths whose shape is known."""

import math

import pytest

from playground.analysis.path import PathPoint, at, path_of
from playground.runs.folder.records import Event
from tests.support import sample


def evaluations(*points):
    """(update, KL, gain) of 16 prompts with levels of their own."""
    return [
        sample(prompt, "during" if update else "before", gain + prompt / 4, kl=kl, update=update)
        for update, kl, gain in points
        for prompt in range(16)
    ]


def best_of(**data):
    return [Event(seq=0, time=0.0, kind="best_of", data=data)]


def gained(*points):
    return [PathPoint(0, kl, gain, None, gain, half) for kl, gain, half in points]


def test_a_path_has_means_over_prompts_with_their_interval_and_the_last_attempt_counts():
    samples = [
        sample(0, "during", 1.0, kl=2.0, update=5),
        sample(0, "during", 3.0, kl=2.0, update=5, seed=1),
        sample(1, "during", 4.0, kl=4.0, update=5),
        sample(2, "during", None, kl=9.0, update=5),
        sample(0, "before", 0.5, kl=0.0, update=0),
    ]
    first, second = path_of(samples)
    assert (first.update, first.kl, first.score, first.half) == (0, 0.0, 0.5, None)
    assert (second.update, second.kl, second.score) == (5, 3.0, 3.0)
    assert second.half == pytest.approx(12.706)  # prompts have 2 and 4: their mean is 3, its error 1, one degree
    assert second.gain == 1.5, "of the prompt that has a score at both"
    assert path_of([*samples, sample(1, "during", 6.0, kl=4.0, update=5)])[1].score == 4.0
    assert path_of([]) == []
    assert path_of(evaluations((5, 1.0, 1.0)))[0].gain is None


def test_the_gain_at_a_distance_is_read_off_the_path():
    path = gained((0, 0, 0), (4, 3, 0.4), (2, 1, 0.2))
    halfway, later = at(path, 1), at(path, 3)
    assert (halfway.gain, halfway.gain_half) == (0.5, pytest.approx(0.1))
    assert (later.gain, later.gain_half) == (2, pytest.approx(0.3))
    assert at(path, 4).gain == 3
    assert at(path, 4.1) is None
    assert at([], 1) is None


def test_the_path_of_the_best_of_n_shows_what_the_best_of_fewer_would_be():
    samples = evaluations((0, 0.0, 0.25), (5, 1.84, 2.25))
    path = path_of(samples, best_of(n=[1, 2, 16], score=[0.1, 0.7, 2.1], kl=[0, math.log(2) - 0.5, 1.84]))
    assert [point.kl for point in path] == [0, math.log(2) - 0.5, 1.84]
    assert [point.gain for point in path] == pytest.approx([0, 0.6, 2.0])
    assert path[1].score - path[0].score == pytest.approx(0.6)
    assert path[0].score == path_of(samples)[0].score
    for damaged in ({}, {"score": [1.0], "kl": "x"}, {"score": [1.0], "kl": [0, 1]}, {"score": ["a"], "kl": [0]}):
        assert [point.gain for point in path_of(samples, best_of(**damaged))] == [0, 2], "its evaluations are left"
