"""Runs by different methods at the same distance: ways whose shape is known, and bills by hand."""

from __future__ import annotations

import math

import pytest

from playground.insight import roads
from playground.insight.roads import RoadLook
from playground.runs.folder.records import Event
from tests.insight.test_compute import FACTS
from tests.support import sample, small_config, update_metrics


def looks(*points: tuple[int, float, float]):
    """(update, KL, gain) of 16 prompts with levels of their own."""
    return [
        sample(prompt, "during" if update else "before", gain + prompt / 4, kl=kl, update=update)
        for update, kl, gain in points
        for prompt in range(16)
    ]


def best_of(**data):
    return [Event(seq=0, time=0.0, kind="best_of", data=data)]


def test_a_way_is_what_was_gained_at_each_distance():
    found = roads.way(looks((0, 0.0, 1.0), (5, 3.0, 2.5), (10, 2.0, 2.0)), [])
    assert [(look.kl, look.gain) for look in found] == [(0, 0), (2, 1), (3, 1.5)], "from near to far"
    halves = [look.half for look in found]
    assert halves[0] == 0 < halves[1], "nothing is gained before training; of 16 that gained the same not all would"
    assert roads.way([], []) == [] and roads.way(looks((5, 1.0, 1.0)), []) == []


def test_at_a_distance_it_is_read_off_the_way():
    way = [RoadLook(0, 0, 0), RoadLook(2, 1, 0.2), RoadLook(4, 3, 0.4)]
    assert roads.at(way, 1) == RoadLook(1, 0.5, pytest.approx(0.1))
    assert roads.at(way, 3) == RoadLook(3, 2, pytest.approx(0.3))
    assert roads.at(way, 4).gain == 3 and roads.at(way, 4.1) is None and roads.at([], 1) is None


def test_the_distance_to_compare_at_is_the_one_that_all_reached():
    assert roads.reach([[RoadLook(0, 0, 0), RoadLook(5, 1, 0)], [RoadLook(0, 0, 0), RoadLook(1.5, 1, 0)]]) == 1.5
    assert roads.reach([[RoadLook(0, 0, 0), RoadLook(5, 1, 0)], [RoadLook(0, 0, 0)]]) is None
    assert roads.reach([]) is None


def test_the_best_of_n_shows_what_the_best_of_fewer_would_be():
    samples = looks((0, 0.0, 0.0), (5, 1.84, 2.0))
    found = roads.way(samples, best_of(n=[1, 2, 16], score=[0.1, 0.7, 2.1], kl=[0, math.log(2) - 0.5, 1.84]))
    assert [look.kl for look in found] == [0, math.log(2) - 0.5, 1.84]
    assert [look.gain for look in found] == pytest.approx([0, 0.6, 2.0])
    for damaged in ({}, {"score": [1.0], "kl": "x"}, {"score": [1.0], "kl": [0, 1]}, {"score": ["a"], "kl": [0]}):
        assert [look.gain for look in roads.way(samples, best_of(**damaged))] == [0, 2], "its looks are left"


def test_a_bill_is_without_looking():
    spent = {"seconds_rollout": 0.5, "seconds_score": 0.25, "seconds_update": 1.0, "memory_gb": 0.5}
    metrics = [update_metrics(update, **spent) for update in (1, 2, 3)]
    events = [Event(seq=0, time=0.0, kind="model", data=FACTS)]
    ppo = roads.bill(small_config(ppo={"num_updates": 3, "num_epochs": 2}), metrics, events)
    assert ppo == (192, 1920, 3840, 5.25, (2 * 2 + 2 * 6) * 1000 * (1920 + 192 * 5), 0.5, 1)
    none = roads.bill(small_config(method="best_of_n", ppo={"samples_per_prompt": 8}), metrics, events)
    assert none == (0, 0, 0, 0.0, 0.0, 0.5, 8)
    vector = Event(seq=1, time=0.0, kind="steering_vector", data={"texts": 1024, "tokens": 9000, "seconds": 4.5})
    steered = roads.bill(small_config(method="steer"), metrics, [*events, vector])
    assert steered == (1024, 9000, 0, 4.5, None, 0.5, 1), "the texts of the vector, and not those of the dial"
    assert roads.bill(small_config(), [], events) is None


def test_dpo_passes_its_pairs_through_the_reference_as_it_learns_and_sft_only_what_was_chosen():
    metrics = [update_metrics(1, tokens=640, tokens_trained=1280)]
    events = [Event(seq=0, time=0.0, kind="model", data=FACTS)]
    through = 640 + 64 * 5
    dpo = roads.bill(small_config(method="dpo", ppo={"num_updates": 1, "num_epochs": 2}), metrics, events)
    assert dpo.operations == (2 + 2 * (6 + 2)) * 1000 * through
    chosen = [update_metrics(1, tokens=640, tokens_trained=160)]
    sft = roads.bill(small_config(method="sft", ppo={"samples_per_prompt": 8, "num_epochs": 2}), chosen, events)
    assert sft.operations == (2 + 6 / 4) * 1000 * through
