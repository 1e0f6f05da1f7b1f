"""Figures of an update beside PPO's: groups with one score, and the time of the looks."""

from __future__ import annotations

import itertools
import math
import time

import pytest

from playground.analysis.diagnosis import alert
from playground.analysis.diagnosis.run_records import Records
from playground.training.loop.measures import same_score_groups
from playground.training.process.session import Session
from tests.nights import cases
from tests.training import small_run

SMALL = {
    "model": {"source": "pocket-1m"},
    "score": {"normalise": "none"},
    "ppo": {"num_updates": 5, "batch_size": 16, "minibatch_size": 16, "micro_batch_size": 16, "samples_per_prompt": 4},
    "prompts": {"limit": 16},
    "sampling": {"max_new_tokens": 8},
    "evaluation": {"num_prompts": 4, "every": 2},
    "checkpoint": {"every": 0},
}
NEVER = {"kind": "pattern", "pattern": "zebra"}
RICH = {"kind": "sentiment"}


def test_a_group_counts_where_all_of_its_scores_are_the_same():
    assert same_score_groups([1, 1, 1, 0, 0, 0, 2.5, 2.5, 2.5, 0, 1, 2], 3) == 0.75
    assert same_score_groups([1, 1, 1 + 1e-9, 1], 2) == 1.0
    assert same_score_groups([1, 1, 1.001, 1], 2) == 0.5
    assert same_score_groups([1, 1, math.nan, 1], 2) is None
    assert same_score_groups([], 2) is None


def trained(folder, reward, **changes):
    return small_run.trained(folder, {**SMALL, "rewards": [reward], **changes})


ENGINES = [("grpo", "playground"), ("rloo", "playground"), ("grpo", "trl"), ("rloo", "trl")]


@pytest.mark.parametrize(("method", "engine"), cases(ENGINES, always=[("rloo", "playground"), ("grpo", "trl")]))
def test_a_reward_that_is_never_earned_lights_its_lamp_and_one_that_tells_texts_apart_does_not(
    tmp_path, method, engine
):
    def seen(name, reward):
        run = trained(tmp_path / name, reward, method=method, engine=engine).run
        return run.metrics(), alert("groups-alike", Records(run.config(), run.metrics(), run.samples(), run.events()))

    metrics, lamp = seen("never", NEVER)
    assert [item.groups_same_score for item in metrics] == [1.0] * 5
    assert (lamp.state, lamp.updates) == ("red", [1, 2, 3, 4, 5])
    metrics, lamp = seen("rich", RICH)
    assert all(item.groups_same_score <= 0.5 for item in metrics)
    assert lamp.state == "quiet"


def test_without_groups_there_is_no_such_figure_and_the_looks_are_timed_before_the_update_that_follows(
    tmp_path, monkeypatch
):
    look = Session._read_texts
    monkeypatch.setattr(Session, "_read_texts", lambda self, stage: (time.sleep(0.3), look(self, stage))[1])
    evaluation = {**SMALL["evaluation"], "text": "pocket", "num_texts": 4}
    metrics = trained(tmp_path, RICH, evaluation=evaluation).run.metrics()
    assert {item.groups_same_score for item in metrics} == {None}
    looks = [item.seconds_evaluation for item in metrics]
    assert [seconds >= 0.3 for seconds in looks] == [True, False, True, False, True], "before training, after 2 and 4"
    assert [seconds for seconds in looks if seconds < 0.3] == [0.0, 0.0]
    for before, item in itertools.pairwise(metrics):
        parts = item.seconds_rollout + item.seconds_score + item.seconds_update + item.seconds_evaluation
        assert 0 < parts <= item.seconds - before.seconds
